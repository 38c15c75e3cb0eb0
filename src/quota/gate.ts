import type { Call } from '../call.ts';
import { startTimer } from '../clock/timer.ts';
import type { Answer } from '../contract/limits.ts';
import type { PetStoreError } from '../errors.ts';
import { Ledger, type LedgerSettings, type Outlook, type Sending } from './ledger.ts';
import { Line, type Waiter } from './line.ts';
import { refusalInOutage, refusalToWait } from './refusal.ts';
import { Releaser } from './releaser.ts';
import { Ticket, type TicketOwner } from './ticket.ts';

/**
 * Where every attempt on one address and key gets its slot: at once where quota is free, else in line until the ledger says so.
 * One timer exists only while somebody waits.
 */
export class Gate implements TicketOwner {
  readonly #ledger: Ledger;
  readonly #line = new Line<Ticket>();
  readonly #releaser: Releaser;
  #inFlight = 0;
  #stopTimer: (() => void) | undefined;
  #lastFailure: PetStoreError | Answer | undefined;
  #isClosed = false;

  constructor(settings: LedgerSettings) {
    this.#ledger = new Ledger(settings);
    this.#releaser = new Releaser(this.#ledger.minute.count.limit, (most) => this.#release(most));
  }

  get ledger(): Ledger {
    return this.#ledger;
  }

  /** Whether nobody waits and nothing is in flight. */
  get isIdle(): boolean {
    return this.#inFlight === 0 && this.#line.size === 0;
  }

  /** When a request was sent last, in milliseconds on our clock. */
  get lastSentAtMs(): number {
    return this.#ledger.lastSentAtMs;
  }

  /** A second client came with settings of its own: the stricter ones count for both. */
  tighten(settings: LedgerSettings, warn: (message: string) => void): void {
    const differing = this.#ledger.tighten(settings);
    if (differing.length > 0)
      warn(`another client uses this address and key with another ${differing.join(' and ')}: the stricter counts for both`);
  }

  /** Gives a ticket: at once where one is free, else when the call's turn comes. Rejects when the wait is longer than the call allows. */
  enter(call: Call): Ticket | Promise<Ticket> {
    const nowMs = Date.now();
    const outlook = this.#ledger.look(nowMs, this.#inFlight);
    if (outlook.free > 0 && this.#line.size === 0) return this.#admit(call, nowMs);
    if (this.#isTooLong(outlook, call.options.maxWaitMs, nowMs)) return Promise.reject(refusalToWait(call, outlook, nowMs));
    return this.#wait(call, outlook, nowMs);
  }

  #admit(call: Call, nowMs: number): Ticket {
    this.#inFlight++;
    return new Ticket(this, call, this.#ledger.send(nowMs));
  }

  #wait(call: Call, outlook: Outlook, sinceMs: number): Promise<Ticket> {
    call.tell('wait', (event) => ({
      ...event,
      reason: outlook.reason,
      ms: Math.max(0, Math.min(outlook.at - sinceMs, Number.MAX_SAFE_INTEGER)),
    }));
    return new Promise((resolve, reject) => {
      if (call.signal.aborted) return reject(call.signal.reason);
      const settle = () => {
        call.signal.removeEventListener('abort', onAbort);
        call.onRaise = undefined;
        call.waitedMs += Date.now() - sinceMs;
      };
      const waiter: Waiter<Ticket> = {
        call,
        sinceMs,
        resolve: (ticket) => {
          settle();
          resolve(ticket);
        },
        reject: (reason) => {
          settle();
          reject(reason);
        },
      };
      const onAbort = () => this.#abandon(waiter);
      call.signal.addEventListener('abort', onAbort, { once: true });
      call.onRaise = () => this.#line.raise(waiter);
      this.#line.join(waiter);
      this.#pump();
    });
  }

  #abandon(waiter: Waiter<Ticket>): void {
    this.#line.leave(waiter);
    waiter.reject(waiter.call.signal.reason);
    if (this.#line.size === 0) this.#pump();
  }

  /** Lets go who may go, and looks again when the ledger says. */
  #pump(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#line.size === 0) return;
    const nowMs = Date.now();
    const outlook = this.#ledger.look(nowMs, this.#inFlight);
    this.#refuseWhoWouldWaitTooLong(outlook, nowMs);
    if (this.#line.size === 0) return;
    if (outlook.free > 0) return this.#schedule(Math.min(outlook.free, this.#line.size), nowMs);
    const nextMs = Math.min(outlook.at, this.#patienceEndsAt());
    if (Number.isFinite(nextMs)) this.#stopTimer = startTimer(nextMs - nowMs, () => this.#pump());
  }

  #schedule(most: number, nowMs: number): void {
    if (this.#releaser.isBusy) return;
    this.#releaser.refill(this.#ledger.ceiling(nowMs));
    this.#releaser.schedule(most, () => this.#pump());
  }

  /** Runs inside the limiter; the ledger is asked again, since a 429 may have closed the gate on the way. */
  #release(most: number): void {
    const nowMs = Date.now();
    const { free } = this.#ledger.look(nowMs, this.#inFlight);
    for (let left = Math.min(free, most); left > 0; left--) {
      const waiter = this.#line.shift();
      if (!waiter) return;
      waiter.resolve(this.#admit(waiter.call, nowMs));
    }
  }

  #refuseWhoWouldWaitTooLong(outlook: Outlook, nowMs: number): void {
    if (this.#ledger.outageSinceMs !== undefined) return this.#refuseWhoWaitedTooLong(this.#ledger.outageSinceMs, outlook, nowMs);
    if (!this.#isTooLong(outlook, this.#line.leastWaitMs, nowMs)) return;
    for (const waiter of [...this.#line]) {
      if (!this.#isTooLong(outlook, waiter.call.options.maxWaitMs, nowMs)) continue;
      this.#line.leave(waiter);
      waiter.reject(refusalToWait(waiter.call, outlook, nowMs));
    }
  }

  #refuseWhoWaitedTooLong(outageSinceMs: number, outlook: Outlook, nowMs: number): void {
    for (const waiter of [...this.#line]) {
      if (nowMs < patienceEndsAt(waiter, outageSinceMs)) continue;
      this.#line.leave(waiter);
      waiter.reject(refusalInOutage(waiter.call, this.#lastFailure, outlook.at));
    }
  }

  /** When the first waiter has waited too long behind an outage. */
  #patienceEndsAt(): number {
    const since = this.#ledger.outageSinceMs;
    if (since === undefined) return Number.POSITIVE_INFINITY;
    let first = Number.POSITIVE_INFINITY;
    for (const waiter of this.#line) first = Math.min(first, patienceEndsAt(waiter, since));
    return first;
  }

  /** Only what no answer that is still out can change is told as too long. */
  #isTooLong({ free, at, reason }: Outlook, maxWaitMs: number, nowMs: number): boolean {
    if (free > 0 || !Number.isFinite(at) || at - nowMs <= maxWaitMs || reason === 'outage') return false;
    return reason === 'rate-limit' || !this.#ledger.isWaitingForAnswer;
  }

  /** The headers of an answer are in. Gives when the gate opens again, if it is closed now. */
  heard(call: Call, sending: Sending, answer: Answer): number | undefined {
    this.#ledger.hear(sending, answer);
    if (answer.status >= 500) this.#lastFailure = answer;
    const untilMs = this.#ledger.closedUntilMs(answer.receivedAtMs);
    this.#tellGate(call, untilMs);
    this.#pump();
    return untilMs;
  }

  lost(sending: Sending, failure: PetStoreError | undefined): void {
    if (failure) this.#lastFailure = failure;
    this.#ledger.lose(sending, failure !== undefined, Date.now());
    this.#pump();
  }

  unused(): void {
    this.#ledger.unsend(Date.now());
    this.left();
  }

  left(): void {
    this.#inFlight--;
    this.#pump();
  }

  #tellGate(call: Call, untilMs: number | undefined): void {
    const isClosed = untilMs !== undefined || this.#ledger.outageSinceMs !== undefined;
    if (isClosed === this.#isClosed && untilMs === undefined) return;
    this.#isClosed = isClosed;
    call.tell('gate', (event) => ({
      ...event,
      state: isClosed ? 'closed' : 'open',
      ...(untilMs === undefined ? {} : { until: new Date(untilMs) }),
    }));
  }
}

function patienceEndsAt({ sinceMs, call }: Waiter<Ticket>, outageSinceMs: number): number {
  return Math.max(sinceMs, outageSinceMs) + call.options.maxWaitMs;
}
