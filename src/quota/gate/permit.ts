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

interface PermitsStart {
  ledger: Ledger;
  clock: SteadyClock;
  /** Called when the number of free permits may have changed. */
  onChange: () => void;
}

/** The right to send one request now. Its holder reports how the request went, and when its body is read. */
export class Permit {
  /** The call that sends the request, perhaps in place of the one that got the permit. */
  call: Call;
  readonly sending: Sending;
  readonly limits: ClientLimits;
  /** The share that the request counts towards, if its client has one. */
  readonly share: Share | undefined;
  /** The slot of the quota that processes share, if they do. */
  slot: Slot | undefined;
  readonly #permits: Permits;
  // Whether the status is a 2xx and the body is still to come.
  #isPromising = false;

  constructor(permits: Permits, { call, sending, limits, share }: Pick<Permit, 'call' | 'sending' | 'limits' | 'share'>) {
    this.#permits = permits;
    this.call = call;
    this.sending = sending;
    this.limits = limits;
    this.share = share;
  }

  /** False if the gate has closed since the permit was given: then the permit must be cancelled. */
  get isValid(): boolean {
    return this.#permits.areValid;
  }

  /**
   * Takes the headers of the answer. If the gate is closed now, returns when it opens, in epoch milliseconds on the local clock.
   * @param report called after the ledger has taken the headers, before any other event about them
   */
  observe(answer: Answer, report: () => void = () => {}): number | undefined {
    this.#isPromising = isSuccess(answer.status);
    return this.#permits.observe(this, answer, report);
  }

  /** No answer came: because of a failure, or (undefined) because the call was aborted or the caller's own code failed. */
  lose(failure: PetStoreError | undefined): void {
    this.#permits.lose(this, failure);
  }

  /**
   * The body was not read: it was cut off or reset, or did not come in time. The abort of a call is not a failure of the service.
   * @param failure undefined if the caller's own code failed
   */
  fail(failure: PetStoreError | undefined): void {
    if (this.call.signal.aborted) return;
    this.#isPromising = false;
    if (failure) this.#permits.fail(this, failure);
  }

  /** Nothing was sent. */
  cancel(): void {
    this.#permits.cancel(this);
  }

  /** The request is over: its body was read or dropped. A 2xx whose body was aborted unread does not prove that the service is up. */
  release(): void {
    if (this.#isPromising && (!this.call.signal.aborted || this.call.delivered > 0)) this.#permits.prove(this);
    this.#permits.release(this);
  }
}

/** The calls that wait for a permit. */
interface Demand {
  waiting: number;
  /** Those that the limits of their clients let take one. */
  ready: number;
}

/** Gives permits, and reports the outcome of each request to the ledger, the lease, the retry budget and the listeners. */
export class Permits {
  /** Limits the retries of all calls. */
  readonly retries: RetryBudget;
  /** If it is set, a request also needs a slot of the quota that processes share. */
  leaseClient: LeaseClient | undefined;
  readonly #ledger: Ledger;
  readonly #clock: SteadyClock;
  readonly #onChange: () => void;
  // The permits of requests whose bodies are not read yet; undefined on an idle key.
  #inFlight: Set<Permit> | undefined;
  // Until when the gate is closed, as was reported last: 0 if it is open, infinite during an outage.
  #reportedUntilMs = 0;
  #lastFailure: PetStoreError | Answer | undefined;
  #isPlanDoubted = false;

  constructor({ ledger, clock, onChange }: PermitsStart) {
    this.#ledger = ledger;
    this.#clock = clock;
    this.#onChange = onChange;
    this.retries = new RetryBudget(ledger);
  }

  /** Requests whose bodies are not read yet. */
  get inFlight(): number {
    return this.#inFlight?.size ?? 0;
  }

  /** The service's last failure. */
  get lastFailure(): PetStoreError | Answer | undefined {
    return this.#lastFailure;
  }

  /** All clients were closed before this one: its plan counts now, and the store is joined again. */
  restart(): void {
    this.#isPlanDoubted = false;
    this.leaseClient?.join();
  }

  /** Whether the key is open, so that permits may be used. */
  get areValid(): boolean {
    return this.closedUntil(this.#clock.now()) === undefined;
  }

  closedUntil(nowMs: number): Date | undefined {
    const untilMs = this.#ledger.closedUntilMs(nowMs);
    return untilMs === undefined ? undefined : this.#clock.toDate(untilMs);
  }

  /** How many permits may be given now to the calls that wait, of which `ready` may take one; if none, when to look again and why. */
  look(nowMs: number, { waiting, ready }: Demand): Outlook {
    const outlook = this.#ledger.look(nowMs, this.inFlight, waiting);
    return this.leaseClient && ready > 0 ? this.leaseClient.narrow(outlook, ready, nowMs) : outlook;
  }

  give(call: Call, limits: ClientLimits, nowMs: number): Permit {
    const share = limits.use(call.priority, nowMs);
    const permit = new Permit(this, { call, sending: this.#ledger.send(nowMs), limits, share });
    this.#inFlight ??= new Set();
    this.#inFlight.add(permit);
    permit.slot = this.leaseClient?.use(call, nowMs);
    return permit;
  }

  /** Counts as lost the requests of calls whose incoming request has ended (workerd). */
  dropGone(nowMs: number): void {
    const gone = [...(this.#inFlight ?? [])].filter(({ call }) => call.isGone);
    for (const permit of gone) this.#remove(permit);
    for (const permit of gone) if (permit.sending.answeredAtMs === undefined) this.#lose(permit, false, nowMs);
  }

  observe(permit: Permit, answer: Answer, report: () => void): number | undefined {
    const nowMs = this.#clock.now();
    const { call, sending } = permit;
    this.#ledger.observe(sending, answer, nowMs);
    permit.share?.answer(sending.atMs, nowMs);
    this.#uncount(permit);
    if (answer.status >= 500) this.#lastFailure = answer;
    this.leaseClient?.observe(answer, sending.atMs, nowMs);
    report();
    this.#doubtPlan(call);
    this.retries.observe(call, answer);
    this.report(call, nowMs);
    this.#onChange();
    return this.closedUntil(nowMs)?.getTime();
  }

  /** Warns once if the plan is larger than what the service says. */
  #doubtPlan(call: Call): void {
    const { overstatement } = this.#ledger.windows;
    if (!overstatement || this.#isPlanDoubted) return;
    this.#isPlanDoubted = true;
    const { window, planned, observed } = overstatement;
    call.warn(`plan says ${planned} requests a ${window}, the service says ${observed}: the smaller counts`);
  }

  lose(permit: Permit, failure: PetStoreError | undefined): void {
    const nowMs = this.#clock.now();
    if (failure) this.#lastFailure = failure;
    this.#lose(permit, failure !== undefined, nowMs);
    this.report(permit.call, nowMs);
    this.#onChange();
  }

  #lose(permit: Permit, isFailure: boolean, nowMs: number): void {
    const { call, sending } = permit;
    this.#ledger.lose(sending, { isFailure, isUnsent: call.isUnsent }, nowMs);
    this.#uncount(permit);
    this.leaseClient?.lose(sending.atMs, nowMs);
  }

  /** Takes a request that the ledger does not count for the day from that of the client's share and of the store. */
  #uncount({ sending, share, slot }: Permit): void {
    if (!sending.isUncounted) return;
    share?.uncount();
    slot?.client.uncount(slot);
  }

  /** The body of an answer failed after its headers. */
  fail({ call, sending }: Permit, failure: PetStoreError): void {
    const nowMs = this.#clock.now();
    this.#lastFailure = failure;
    this.#ledger.break(sending, nowMs);
    this.report(call, nowMs);
    this.#onChange();
  }

  /** The body of an answer shows that the service is up. */
  prove({ call, sending }: Permit): void {
    const isNews = this.#ledger.prove(sending);
    this.retries.prove(call);
    if (!isNews) return;
    this.report(call, this.#clock.now());
    this.#onChange();
  }

  cancel(permit: Permit): void {
    this.#ledger.unsend(permit.sending, this.#clock.now());
    permit.share?.remove();
    this.leaseClient?.cancel(permit.slot);
    this.release(permit);
  }

  release(permit: Permit): void {
    this.#remove(permit);
    this.#onChange();
  }

  #remove(permit: Permit): void {
    if (this.#inFlight?.delete(permit)) permit.limits.leave();
    if (this.inFlight === 0) this.#inFlight = undefined;
  }

  /** Reports that the gate closed, closes for longer, or opened again: each change once, by a call that it concerns. */
  report(call: Call | undefined, nowMs: number): void {
    const until = this.closedUntil(nowMs);
    const untilMs = until?.getTime() ?? (this.#ledger.outageSinceMs === undefined ? 0 : Number.POSITIVE_INFINITY);
    if (!call || untilMs === this.#reportedUntilMs || Math.abs(untilMs - this.#reportedUntilMs) < SAME_INSTANT_MS) return;
    this.#reportedUntilMs = untilMs;
    call.emit('gate', (event) => ({ ...event, state: untilMs > 0 ? 'closed' : 'open', ...(until ? { until } : {}) }));
  }
}
