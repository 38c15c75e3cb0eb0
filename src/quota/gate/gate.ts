import type { Call, OutagePace } from '../../call.ts';
import { startTimer } from '../../clock/timer.ts';
import type { PetStoreError } from '../../errors.ts';
import type { Borrower } from '../lease/borrower.ts';
import type { BorrowerOwner } from '../lease/borrower-start.ts';
import { Ledger, type Outlook, waitMs } from '../ledger/ledger.ts';
import type { Sending } from '../ledger/outstanding.ts';
import type { Quota } from '../ledger/quota.ts';
import type { QuotaSettings } from '../ledger/settings.ts';
import { GateNews } from './gate-news.ts';
import { InFlight } from './in-flight.ts';
import { Line } from './line.ts';
import { Patience } from './patience.ts';
import { Releaser } from './releaser.ts';
import { RetryLimit } from './retry-limit.ts';
import { SteadyClock } from './steady-clock.ts';
import { type Heard, Ticket, type TicketOwner } from './ticket.ts';
import { Waiter, type WaiterOwner } from './waiter.ts';

const SWEEP_EVERY_MS = 1000;
const LOOK_AGAIN_MS = 1000;

/**
 * Where every attempt on one address and key gets its slot: at once where quota is free, else in line until the ledger says so.
 * One timer exists only while somebody waits. After every event nobody waits, or a timer is set, or an answer is out.
 */
export class Gate implements TicketOwner, WaiterOwner<Ticket> {
  /** Who limits the retries of all its calls. */
  readonly retries: RetryLimit;
  readonly #clock = new SteadyClock();
  readonly #ledger: Ledger;
  readonly #line = new Line<Ticket>();
  readonly #releaser: Releaser;
  readonly #inFlight = new InFlight();
  readonly #patience: Patience<Ticket>;
  readonly #news = new GateNews();
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  #stopTimer: (() => void) | undefined;
  // Where the quota is shared with other processes.
  #borrower: Borrower | undefined;

  constructor(settings: QuotaSettings) {
    this.#ledger = new Ledger(settings);
    this.retries = new RetryLimit(this.#ledger);
    this.#patience = new Patience({ ledger: this.#ledger, line: this.#line, clock: this.#clock });
    this.#releaser = new Releaser(this.#ledger.ceiling(this.#clock.now()), (most) => this.#release(most));
  }

  /** Whether the service lets this key send at all. */
  isOpen(): boolean {
    return this.#ledger.closedUntilMs(this.#clock.now()) === undefined;
  }

  /** What is known of the key's quota now. */
  get quota(): Quota {
    const nowMs = this.#clock.now();
    const closedUntilMs = this.#ledger.closedUntilMs(nowMs);
    return {
      ...this.#ledger.snapshot(nowMs),
      closedUntil: closedUntilMs === undefined ? undefined : this.#clock.toDate(closedUntilMs),
    };
  }

  /** For how long nobody has used this gate, in milliseconds; 0 while somebody waits or a request is in flight. */
  get idleMs(): number {
    return this.#inFlight.size > 0 || this.#line.size > 0 ? 0 : this.#clock.now() - this.#ledger.lastSentAtMs;
  }

  /** A second client came with settings of its own: the stricter ones count for both. */
  tighten(settings: QuotaSettings, warn: (message: string) => void): void {
    const differing = this.#ledger.tighten(settings);
    if (differing.length > 0)
      warn(`another client uses this address and key with another ${differing.join(' and ')}: the stricter counts for both`);
  }

  /** From now on a request also needs a slot of the quota that processes share. */
  share(borrow: (owner: BorrowerOwner) => Borrower): void {
    this.#borrower ??= borrow({
      observed: () => this.#ledger.observed(this.#clock.now()),
      now: () => this.#clock.now(),
      waiting: () => this.#line.size,
      changed: () => this.#pump(),
      closed: (untilMs) => this.#ledger.closeUntil(untilMs),
    });
  }

  /** The borrower that has to be told the key before anything enters; undefined where none has. */
  get keyTaker(): Pick<Borrower, 'takeKey'> | undefined {
    return this.#borrower?.needsKey ? this.#borrower : undefined;
  }

  #look(nowMs: number, wanted: number): Outlook {
    const outlook = this.#ledger.look(nowMs, this.#inFlight.size);
    return this.#borrower ? this.#borrower.narrow(outlook, wanted, nowMs) : outlook;
  }

  /** Gives a ticket: at once where one is free, else when the call's turn comes. Rejects when the wait is longer than the call allows. */
  enter(call: Call): Ticket | Promise<Ticket> {
    if (call.signal.aborted) return Promise.reject(call.signal.reason);
    call.pace ??= () => this.#paceOf(call);
    const nowMs = this.#clock.now();
    const outlook = this.#look(nowMs, this.#line.size + 1);
    if (outlook.free > 0 && this.#line.size === 0) return this.#admit(call, nowMs);
    const refusal = this.#patience.refusal(call, outlook, nowMs);
    return refusal ? Promise.reject(refusal) : this.#wait(call, outlook, nowMs);
  }

  #admit(call: Call, nowMs: number): Ticket {
    const sending = this.#ledger.send(nowMs);
    this.#inFlight.add(call, sending);
    this.#borrower?.use(call, nowMs);
    return new Ticket(this, call, sending);
  }

  #paceOf(call: Call): OutagePace | undefined {
    const nowMs = this.#clock.now();
    return this.#patience.paceOf(call, this.#ledger.look(nowMs, this.#inFlight.size), nowMs);
  }

  /** It stands in line before it is told to wait, since a listener may end it, or make another call. */
  #wait(call: Call, outlook: Outlook, nowMs: number): Promise<Ticket> {
    const callSinceMs = this.#clock.begin(call.startedAtMs, nowMs);
    const waiter = new Waiter<Ticket>(call, { owner: this, sinceMs: nowMs, callSinceMs });
    this.#line.join(waiter);
    call.tell('wait', (event) => ({ ...event, reason: outlook.reason, ms: waitMs(outlook, nowMs) }));
    this.#pump();
    return waiter.slot;
  }

  abandon(waiter: Waiter<Ticket>): void {
    this.#line.leave(waiter);
    waiter.refuse(waiter.call.signal.reason, this.#clock.now());
    if (this.#line.size === 0) this.#pump();
  }

  raise(waiter: Waiter<Ticket>): void {
    this.#line.raise(waiter);
  }

  /** A waiter looks for itself, since the gate's timer may have ended with the request that started it. */
  look(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#sweptAtMs >= SWEEP_EVERY_MS) this.#sweep(nowMs);
    this.#pump();
  }

  /** Drops what belongs to requests that ended under their calls. */
  #sweep(nowMs: number): void {
    this.#sweptAtMs = nowMs;
    this.#line.takeWhere(({ call }) => call.isGone);
    for (const sending of this.#inFlight.dropGone()) this.#lose(sending, false, nowMs);
  }

  /** Lets go who may go, and looks again when the ledger says. */
  #pump(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#line.size === 0) return;
    const nowMs = this.#clock.now();
    const outlook = this.#look(nowMs, this.#line.size);
    this.#patience.refuseTheRest(outlook, nowMs);
    if (this.#line.size === 0) return;
    if (outlook.free > 0) return this.#schedule(Math.min(outlook.free, this.#line.size), nowMs);
    this.#wakeAt(Math.min(outlook.lookAt ?? outlook.at, this.#patience.endsAtMs()), nowMs);
    // Last, since a listener may make a call, which looks again and sets a timer in place of this one.
    this.#news.tellLine(this.#line, { reason: outlook.reason, ms: waitMs(outlook, nowMs), nowMs });
  }

  #wakeAt(instantMs: number, nowMs: number): void {
    // A listener of the line may have ended who waits, or let another one wait, for whom there is a timer then.
    if (!Number.isFinite(instantMs) || this.#line.size === 0 || this.#stopTimer) return;
    this.#stopTimer = startTimer(instantMs - nowMs, () => {
      this.#clock.reach(instantMs);
      this.#pump();
    });
  }

  #schedule(most: number, nowMs: number): void {
    if (this.#releaser.isBusy) return;
    this.#releaser.refill(this.#ledger.ceiling(nowMs));
    // Whoever holds calls back looks again: here the two counts disagree, and nothing else would.
    if (!this.#releaser.schedule(most, () => this.#pump())) this.#wakeAt(nowMs + LOOK_AGAIN_MS, nowMs);
  }

  /** Runs inside the limiter; the ledger is asked again, since a 429 may have closed the gate on the way. */
  #release(most: number): void {
    const nowMs = this.#clock.now();
    const { free } = this.#look(nowMs, this.#line.size);
    for (let left = Math.min(free, most); left > 0; left--) {
      const waiter = this.#line.shift();
      if (!waiter) return;
      waiter.admit(this.#admit(waiter.call, nowMs), nowMs);
    }
  }

  heard(call: Call, sending: Sending, { answer, tell }: Heard): number | undefined {
    const nowMs = this.#clock.now();
    this.#inFlight.answered(call);
    this.#ledger.hear(sending, answer, nowMs);
    if (answer.status >= 500) this.#patience.noteFailure(answer);
    const untilMs = this.#ledger.closedUntilMs(nowMs);
    this.#borrower?.hear({ answer, sentAtMs: sending.atMs, closedUntilMs: untilMs }, nowMs);
    tell();
    this.retries.heard(call, answer);
    this.#tell(call, nowMs);
    this.#pump();
    return untilMs === undefined ? undefined : this.#clock.toDate(untilMs).getTime();
  }

  lost(call: Call, sending: Sending, failure: PetStoreError | undefined): void {
    this.#inFlight.answered(call);
    const nowMs = this.#clock.now();
    if (failure) this.#patience.noteFailure(failure);
    this.#lose(sending, failure !== undefined, nowMs);
    this.#tell(call, nowMs);
    this.#pump();
  }

  #lose(sending: Sending, isFailure: boolean, nowMs: number): void {
    this.#ledger.lose(sending, isFailure, nowMs);
    this.#borrower?.lost(nowMs);
  }

  broken(call: Call, sending: Sending, failure: PetStoreError): void {
    const nowMs = this.#clock.now();
    this.#patience.noteFailure(failure);
    this.#ledger.break(sending, nowMs);
    this.#tell(call, nowMs);
    this.#pump();
  }

  proven(call: Call, sending: Sending): void {
    const isNews = this.#ledger.prove(sending);
    this.retries.proven(call);
    if (!isNews) return;
    this.#tell(call, this.#clock.now());
    this.#pump();
  }

  unused(call: Call, sending: Sending): void {
    this.#ledger.unsend(sending, this.#clock.now());
    this.#borrower?.unused();
    this.left(call);
  }

  left(call: Call): void {
    this.#inFlight.remove(call);
    this.#pump();
  }

  #tell(call: Call, nowMs: number): void {
    const untilMs = this.#ledger.closedUntilMs(nowMs);
    const isClosed = untilMs !== undefined || this.#ledger.outageSinceMs !== undefined;
    this.#news.tell(call, { isClosed, until: untilMs === undefined ? undefined : this.#clock.toDate(untilMs) });
  }
}
