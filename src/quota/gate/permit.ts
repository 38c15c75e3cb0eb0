import type { Call } from '../../call.ts';
import type { SteadyClock } from '../../clock/steady-clock.ts';
import { isSuccess } from '../../contract/http.ts';
import type { Answer } from '../../contract/limits.ts';
import type { PetStoreError } from '../../errors.ts';
import type { LeaseClient, Slot } from '../lease/lease-client.ts';
import type { Ledger, Outlook } from '../ledger/ledger.ts';
import type { Sending } from '../ledger/outstanding.ts';
import type { Share } from '../ledger/share.ts';
import type { ClientLimits } from './client-limits.ts';
import { RetryBudget } from './retry-budget.ts';

/** One instant is converted to the machine's clock anew for each report; the results differ by less than this. */
const SAME_INSTANT_MS = 100;

/** The right to send one request now. Its holder reports how the request went, and when its body is read. */
export class Permit {
  /** The call that sends the request, perhaps in place of the one that got the permit. */
  call: Call;
  readonly limits: ClientLimits;
  /** The slot of the quota that processes share, if they do. */
  slot: Slot | undefined;
  readonly #permits: Permits;
  readonly #sending: Sending;
  // The share that the request counts towards, if its client has one.
  readonly #share: Share | undefined;
  // Whether the status is a 2xx and the body is still to come.
  #isPromising = false;

  constructor(permits: Permits, { call, limits, nowMs }: { call: Call; limits: ClientLimits; nowMs: number }) {
    this.call = call;
    this.limits = limits;
    this.#permits = permits;
    this.#share = limits.use(call.priority, nowMs);
    this.#sending = permits.ledger.send(nowMs);
  }

  /** False if the gate has closed since the permit was given: then the permit must be cancelled. */
  get isValid(): boolean {
    return this.#permits.closedUntil(this.#permits.clock.now()) === undefined;
  }

  /**
   * Takes the headers of the answer. If the gate is closed now, returns when it opens, in epoch milliseconds on the local clock.
   * @param report called after the ledger has taken the headers, before any other event about them
   */
  observe(answer: Answer, report: () => void = () => {}): number | undefined {
    const permits = this.#permits;
    const nowMs = permits.clock.now();
    this.#isPromising = isSuccess(answer.status);
    permits.ledger.observe(this.#sending, answer, nowMs);
    this.#share?.answer(this.#sending.atMs, nowMs);
    this.#uncount();
    if (answer.status >= 500) permits.lastFailure = answer;
    permits.leaseClient?.observe(answer, this.#sending.atMs, nowMs);
    report();
    permits.doubtPlan(this.call);
    permits.retries.observe(this.call, answer);
    permits.change(this.call, nowMs);
    return permits.closedUntil(nowMs)?.getTime();
  }

  /** No answer came: because of a failure, or (undefined) because the call was aborted or the caller's own code failed. */
  lose(failure: PetStoreError | undefined): void {
    const nowMs = this.#permits.clock.now();
    if (failure) this.#permits.lastFailure = failure;
    this.#lose(failure !== undefined, nowMs);
    this.#permits.change(this.call, nowMs);
  }

  #lose(isFailure: boolean, nowMs: number): void {
    this.#permits.ledger.lose(this.#sending, { isFailure, isUnsent: this.call.isUnsent }, nowMs);
    this.#uncount();
    this.#permits.leaseClient?.lose(this.#sending.atMs, nowMs);
  }

  /** Takes a request that the ledger does not count for the day from that of the client's share and of the store. */
  #uncount(): void {
    if (!this.#sending.isUncounted) return;
    this.#share?.uncount();
    this.slot?.client.uncount(this.slot);
  }

  /** The incoming request of the call has ended (workerd): without an answer, the request counts as lost. */
  drop(nowMs: number): void {
    this.#permits.remove(this);
    if (this.#sending.answeredAtMs === undefined) this.#lose(false, nowMs);
  }

  /**
   * The body was not read: it was cut off or reset, or did not come in time. The abort of a call is not a failure of the service.
   * @param failure undefined if the caller's own code failed
   */
  fail(failure: PetStoreError | undefined): void {
    if (this.call.signal.aborted) return;
    this.#isPromising = false;
    if (!failure) return;
    const nowMs = this.#permits.clock.now();
    this.#permits.lastFailure = failure;
    this.#permits.ledger.fail(this.#sending, nowMs);
    this.#permits.change(this.call, nowMs);
  }

  /** Nothing was sent. */
  cancel(): void {
    this.#permits.ledger.unsend(this.#sending, this.#permits.clock.now());
    this.#share?.remove();
    this.slot?.client.cancel(this.slot);
    this.#permits.release(this);
  }

  /** The request is over: its body was read or dropped. A 2xx whose body was aborted unread does not prove that the service is up. */
  release(): void {
    if (this.#isPromising && (!this.call.signal.aborted || this.call.delivered > 0)) this.#prove();
    this.#permits.release(this);
  }

  #prove(): void {
    const isNews = this.#permits.ledger.prove(this.#sending);
    this.#permits.retries.prove(this.call);
    if (isNews) this.#permits.change(this.call, this.#permits.clock.now());
  }
}

/** Gives the permits of a key, and reports to listeners what becomes known of it. */
export class Permits {
  readonly ledger: Ledger;
  readonly clock: SteadyClock;
  /** Limits the retries of all calls. */
  readonly retries: RetryBudget;
  /** If it is set, a request also needs a slot of the quota that processes share. */
  leaseClient: LeaseClient | undefined;
  /** The service's last failure. */
  lastFailure: PetStoreError | Answer | undefined;
  readonly #onChange: () => void;
  // The permits of requests whose bodies are not read yet; undefined on an idle key.
  #inFlight: Set<Permit> | undefined;
  // Until when the gate is closed, as was reported last: 0 if it is open, infinite during an outage.
  #reportedUntilMs = 0;
  #isPlanDoubted = false;

  /** @param onChange called when the number of free permits may have changed */
  constructor(ledger: Ledger, { clock, onChange }: { clock: SteadyClock; onChange: () => void }) {
    this.ledger = ledger;
    this.clock = clock;
    this.#onChange = onChange;
    this.retries = new RetryBudget(ledger);
  }

  /** Requests whose bodies are not read yet. */
  get inFlight(): number {
    return this.#inFlight?.size ?? 0;
  }

  /** All clients were closed before this one: its plan counts now, and the store is joined again. */
  restart(): void {
    this.#isPlanDoubted = false;
    this.leaseClient?.join();
  }

  /** Until when the service has closed the key; undefined while permits may be used. */
  closedUntil(nowMs: number): Date | undefined {
    const untilMs = this.ledger.closedUntilMs(nowMs);
    return untilMs === undefined ? undefined : this.clock.toDate(untilMs);
  }

  /**
   * How many permits may be given now to the `waiting` calls; if none, when to look again and why.
   * @param ready those of them that the limits of their clients let take one
   */
  look(nowMs: number, { waiting, ready }: { waiting: number; ready: number }): Outlook {
    const outlook = this.ledger.look(nowMs, this.inFlight, waiting);
    return this.leaseClient && ready > 0 ? this.leaseClient.narrow(outlook, ready, nowMs) : outlook;
  }

  give(call: Call, limits: ClientLimits, nowMs: number): Permit {
    const permit = new Permit(this, { call, limits, nowMs });
    this.#inFlight ??= new Set();
    this.#inFlight.add(permit);
    permit.slot = this.leaseClient?.use(call, nowMs);
    return permit;
  }

  /** Drops the permits of calls whose incoming request has ended (workerd). */
  dropGone(nowMs: number): void {
    for (const permit of this.#inFlight ?? []) if (permit.call.isGone) permit.drop(nowMs);
  }

  /** Warns once if the plan is larger than what the service says. */
  doubtPlan(call: Call): void {
    const { overstatement } = this.ledger.windows;
    if (!overstatement || this.#isPlanDoubted) return;
    this.#isPlanDoubted = true;
    const { window, planned, observed } = overstatement;
    call.warn(`plan says ${planned} requests a ${window}, the service says ${observed}: the smaller counts`);
  }

  release(permit: Permit): void {
    this.remove(permit);
    this.#onChange();
  }

  remove(permit: Permit): void {
    if (this.#inFlight?.delete(permit)) permit.limits.leave();
    if (this.inFlight === 0) this.#inFlight = undefined;
  }

  /** A request of this call showed something that others may wait for. */
  change(call: Call, nowMs: number): void {
    this.report(call, nowMs);
    this.#onChange();
  }

  /** Reports that the gate closed, closes for longer, or opened again: each change once, by a call that it concerns. */
  report(call: Call | undefined, nowMs: number): void {
    const until = this.closedUntil(nowMs);
    const untilMs = until?.getTime() ?? (this.ledger.outageSinceMs === undefined ? 0 : Number.POSITIVE_INFINITY);
    if (!call || untilMs === this.#reportedUntilMs || Math.abs(untilMs - this.#reportedUntilMs) < SAME_INSTANT_MS) return;
    this.#reportedUntilMs = untilMs;
    call.emit('gate', (event) => ({ ...event, state: untilMs > 0 ? 'closed' : 'open', ...(until ? { until } : {}) }));
  }
}
