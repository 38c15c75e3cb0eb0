import type { Call } from '../../call.ts';
import { isPromise } from '../../clock/is-promise.ts';
import type { SteadyClock } from '../../clock/steady-clock.ts';
import { startTimer } from '../../clock/timer.ts';
import type { Answer } from '../../contract/limits.ts';
import type { LeaseRequest, LeaseResponse, ObservedWindow } from '../../quota-store.ts';
import type { Ledger, Outlook } from '../ledger/ledger.ts';
import { ASKED, Lease, localLease, MOST_POLLS, outlookOf, pauseMs } from './lease.ts';
import { type ExchangeOutcome, StoreConnection, type StoreConnectionStart } from './store-connection.ts';

/** A store that takes longer counts as lost. */
const TIMEOUT_MS = 600;
/** How often to look for idle slots, and how long slots may be idle before they are given back. */
const IDLE_MS = 150;
/** How long slots may be idle while requests are in flight, whose callers may send more. */
const IDLE_WITH_REQUESTS_MS = 1000;
/** The most late answers in a report: no more requests than this are in flight at a window's end. */
const MOST_LATE = 256;

export interface LeaseClientStart extends Omit<StoreConnectionStart, 'onClosed'> {
  ledger: Ledger;
  clock: SteadyClock;
  /** How many calls wait for a slot. */
  queueSize: () => number;
  /** Called when the number of free slots may have changed. */
  onChange: () => void;
}

/** The slot of one request, and who leased it. */
export interface Slot {
  client: LeaseClient;
  lease: Lease;
}

/**
 * Leases slots of the quota that several processes share: one request to the store at a time, none while slots are left. If the store
 * fails, this process uses an even part of what is left, and requests again only after the window's end, so that no slot is used twice.
 */
export class LeaseClient {
  readonly #start: LeaseClientStart;
  readonly #member = Math.random().toString(36).slice(2, 12);
  readonly connection: StoreConnection;
  #lease = Lease.none();
  // Why the store cannot be used; undefined while it can. And what of this was reported last.
  #loss: string | undefined;
  #reportedLoss: string | undefined;
  // The request to the store that has no response yet.
  #pending: Promise<ExchangeOutcome> | undefined;
  // When to request again, or to give up the pending request.
  #requestAtMs = Number.NEGATIVE_INFINITY;
  // What calls wait for while no slots are held.
  #awaited = ASKED;
  // Requests in a row to which the store answered that another process's probe is in flight.
  #polls = 0;
  // Whether the lease is for a probe.
  #isProbe = false;
  // When this process sent the probe whose answer the store waits for; undefined while no such probe is in flight.
  #probeSentAtMs: number | undefined;
  // Whether the next request to the store reports that the probe was answered.
  #isProbeAnswered = false;
  // When the last lease of a known window expires, and when the lease of a probe after it does. An answer is late if its request was sent
  // before one of these instants and the answer comes after it.
  #expiriesMs: readonly number[] = [];
  // The late answers since the last lease.
  #lateAnswers: LeaseRequest['lateAnswers'] = [];
  // Until when the key is closed, as far as the store knows; 0 if it may not know.
  #closedUntilMs = 0;
  // Requests that failed and do not count for the day, which the next request to the store reports.
  #uncounted = 0;
  // The number of processes, by the last lease.
  #members: number | undefined;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  #isIdleTimerSet = false;
  // Whether the store is to be left once no slots are held.
  #isLeaving = false;

  /** @throws ConfigurationError if the store is joined at once and cannot be used */
  constructor(start: LeaseClientStart) {
    this.#start = start;
    const onClosed = (closedForMs: number) => {
      this.#closeUntil(start.clock.now() + closedForMs);
      start.onChange();
    };
    this.connection = new StoreConnection({ ...start, onClosed });
  }

  /** A client uses the gate. */
  join(): void {
    this.#isLeaving = false;
    this.connection.join();
  }

  /** No client uses the gate: leaves the store once the slots are given back. */
  leave(): void {
    this.#isLeaving = true;
    this.#giveBackIdleSlots();
  }

  /**
   * Limits what the ledger allows to the slots that this process holds; if it holds none, it requests some.
   * @param wanted the calls that could use one; at least 1
   */
  narrow(outlook: Outlook, wanted: number, nowMs: number): Outlook {
    if (outlook.free <= 0 && !this.#isClosureNews(nowMs)) return outlook;
    // The report of a closure gives back the slots that are left.
    const isDue = outlook.free <= 0 || this.#lease.free(nowMs) === 0;
    if (isDue && nowMs >= this.#requestAtMs) this.#request(wanted, nowMs);
    const lookAt = Math.max(nowMs + 1, this.#requestAtMs);
    // If the store cannot be told yet that the key is closed, it is told later.
    if (outlook.free <= 0) return { ...outlook, lookAt: Math.min(outlook.at, lookAt) };
    const free = this.#lease.free(nowMs);
    if (free > 0) return { ...outlook, free: Math.min(outlook.free, free) };
    const { at, reason } = this.#awaited;
    return { free: 0, at: Math.max(lookAt, at), lookAt, reason };
  }

  /** Takes a slot for a request that is about to be sent. */
  use(call: Call, nowMs: number): Slot {
    this.#usedAtMs = nowMs;
    if (this.#isProbe) this.#probeSentAtMs = nowMs;
    const slot = { client: this, lease: this.#lease };
    slot.lease.use();
    // A listener may make a call, which needs another slot.
    this.#reportLoss(call);
    return slot;
  }

  /** Reports once that the store failed, and once that it is back. */
  #reportLoss(call: Call): void {
    const reason = this.#loss;
    if (reason === this.#reportedLoss) return;
    this.#reportedLoss = reason;
    const isLost = reason !== undefined;
    if (isLost) call.warn(`the quota store cannot be used, so this process keeps to its part of the quota until it can: ${reason}`);
    call.emit('quotaStore', (event) => (isLost ? { ...event, state: 'local', reason } : { ...event, state: 'shared' }));
  }

  /** Whether this process uses its own part of what is left. */
  get #isLocal(): boolean {
    return this.#loss !== undefined && !this.#pending;
  }

  /** A request was not sent after all. Its slot is free again if it is one of the current lease. */
  cancel({ lease }: Slot): void {
    if (lease !== this.#lease) return;
    lease.giveBack();
    this.#watchIdleSlots();
  }

  /** A request that failed does not count for the day of the store that granted its slot. */
  uncount({ lease }: Slot): void {
    if (lease.isShared) this.#uncounted++;
  }

  /** No answer came. A probe is then not reported as answered: after a timeout the store lets another process send one. */
  lose(sentAtMs: number, nowMs: number): void {
    this.#endProbe(sentAtMs);
    this.#reportIfIdle(nowMs);
  }

  /** Whether the request that was sent then was the probe, which is no longer in flight. */
  #endProbe(sentAtMs: number): boolean {
    if (sentAtMs !== this.#probeSentAtMs) return false;
    this.#probeSentAtMs = undefined;
    this.#isProbe = false;
    return true;
  }

  observe({ remaining, resetAtMs }: Answer, sentAtMs: number, nowMs: number): void {
    const isLate = this.#expiriesMs.some((endMs) => sentAtMs < endMs && nowMs >= endMs);
    if (remaining !== undefined && resetAtMs !== undefined && isLate) this.#lateAnswers.push({ remaining, resetAtMs });
    // The first headers that describe the minute say how much of it is left to divide.
    if (this.#isLocal && this.#lease.resetAtMs === 0 && this.#minuteUnderWay(nowMs)) this.#takeLocalLease(nowMs);
    const isProbe = this.#endProbe(sentAtMs);
    // Reported at once, so that the other processes wait too.
    if (this.#isClosureNews(nowMs)) this.#report(nowMs);
    else if (isProbe) this.#reportProbe(nowMs);
    else this.#reportIfIdle(nowMs);
  }

  /** Whether the service closed the key for longer than the store knows. */
  #isClosureNews(nowMs: number): boolean {
    return !this.connection.needsKey && (this.#start.ledger.closedUntilMs(nowMs) ?? 0) > this.#closedUntilMs;
  }

  #closeUntil(untilMs: number): void {
    if (untilMs <= this.#closedUntilMs) return;
    this.#closedUntilMs = untilMs;
    this.#start.ledger.closeUntil(untilMs);
  }

  #reportProbe(nowMs: number): void {
    const queueSize = this.#start.queueSize();
    this.#isProbeAnswered = true;
    if (queueSize > 0 && !this.#pending && !this.#isLocal) this.#request(queueSize, nowMs);
    else this.#report(nowMs);
  }

  #reportIfIdle(nowMs: number): void {
    if (this.#start.store.isCheap && this.#start.queueSize() === 0 && this.#start.ledger.unanswered === 0) this.#report(nowMs);
  }

  /** Reports to the store and gives back the slots that are left. After a failure only a closed key is reported again, by the next request. */
  #report(nowMs: number): void {
    if (this.#isLocal) return;
    void Promise.resolve(this.connection.exchange(this.#requestFor(0, nowMs))).then((outcome) => {
      if ('failure' in outcome) this.#closedUntilMs = 0;
    });
  }

  #request(wanted: number, nowMs: number): void {
    if (this.#pending) {
      this.#pending = undefined;
      return this.#fail(`it gave no answer within ${TIMEOUT_MS} ms`, nowMs);
    }
    // A gate that was left because it had been unused for long may still have a client.
    this.join();
    this.#awaited = ASKED;
    const slots = this.#start.store.isCheap ? wanted : this.#lease.nextSize(wanted, nowMs);
    const outcome = this.connection.exchange(this.#requestFor(slots, nowMs));
    if (isPromise(outcome)) this.#await(outcome, nowMs);
    else this.#settle(outcome, nowMs);
  }

  #await(outcome: Promise<ExchangeOutcome>, requestedAtMs: number): void {
    this.#pending = outcome;
    this.#requestAtMs = requestedAtMs + TIMEOUT_MS;
    void outcome.then((settled) => {
      // The response came too late.
      if (this.#pending !== outcome) return;
      this.#pending = undefined;
      this.#settle(settled, requestedAtMs);
      this.#start.onChange();
    });
  }

  #requestFor(wanted: number, nowMs: number): LeaseRequest {
    const { ledger } = this.#start;
    this.#closedUntilMs = ledger.closedUntilMs(nowMs) ?? this.#closedUntilMs;
    const request = {
      member: this.#member,
      wanted,
      returned: this.#lease.end(nowMs),
      returnedResetAtMs: this.#lease.resetAtMs,
      uncounted: this.#uncounted,
      unanswered: ledger.unanswered,
      lateAnswers: this.#lateAnswers.slice(-MOST_LATE),
      ...ledger.windows.observed(nowMs),
      isProbeAnswered: this.#isProbeAnswered,
      closedForMs: Math.max(0, Math.ceil(this.#closedUntilMs - nowMs)),
    };
    this.#uncounted = 0;
    this.#isProbeAnswered = false;
    return request;
  }

  #settle(outcome: ExchangeOutcome, requestedAtMs: number): void {
    const nowMs = this.#start.clock.now();
    if ('failure' in outcome) return this.#fail(outcome.failure, nowMs);
    const { response } = outcome;
    if (response.reason === 'lost') return this.#fail('it was restarted empty', nowMs);
    this.#polls = response.granted === 0 && response.reason === 'probe' ? this.#polls + 1 : 0;
    if (this.#polls > MOST_POLLS * (response.members || 1)) return this.#fail("it still waits for another process's probe", nowMs);
    this.#loss = undefined;
    this.#awaited = outlookOf(response, nowMs);
    if (response.granted > 0) return this.#hold(response, requestedAtMs);
    this.#requestAtMs = nowMs + pauseMs(response, this.#minuteUnderWay(nowMs), this.#polls);
    if (response.reason === 'closed') this.#closeUntil(requestedAtMs + response.waitMs);
  }

  #hold(response: LeaseResponse, requestedAtMs: number): void {
    this.#lease = new Lease(response, requestedAtMs);
    const { expiresAtMs } = this.#lease;
    this.#expiriesMs = response.resetAtMs === 0 ? [...this.#expiriesMs.slice(0, 1), expiresAtMs] : [expiresAtMs];
    this.#lateAnswers = [];
    this.#usedAtMs = requestedAtMs;
    this.#requestAtMs = Number.NEGATIVE_INFINITY;
    this.#isProbe = response.reason === 'probe';
    // At a probe, a window begins, and other processes have not requested yet.
    if (!this.#isProbe) this.#members = Math.max(response.members, 1);
    this.#watchIdleSlots();
  }

  #fail(reason: string, nowMs: number): void {
    this.#loss ??= reason;
    this.#closedUntilMs = 0;
    this.#awaited = { at: nowMs, reason: 'quota' };
    this.#takeLocalLease(nowMs);
  }

  #takeLocalLease(nowMs: number): void {
    const { ledger, store } = this.#start;
    const { plan } = ledger.windows.observed(nowMs);
    const processes = store.processes ?? this.#members;
    this.#lease = localLease({ plan, minute: this.#minuteUnderWay(nowMs), processes, unanswered: ledger.unanswered }, nowMs);
    this.#requestAtMs = this.#lease.expiresAtMs;
  }

  /** The minute as headers described it; undefined if it is over, or they did not. */
  #minuteUnderWay(nowMs: number): ObservedWindow | undefined {
    const { minute } = this.#start.ledger.windows.observed(nowMs);
    return minute && minute.endsInMs > 0 ? minute : undefined;
  }

  /** There is one timer, and none while there are no slots to watch. */
  #watchIdleSlots(): void {
    if (this.#isIdleTimerSet) return;
    this.#isIdleTimerSet = true;
    startTimer(IDLE_MS, () => {
      this.#isIdleTimerSet = false;
      this.#giveBackIdleSlots();
    });
  }

  /** Gives idle slots back to the store, and leaves it if no client uses the gate. Looks again later while slots are in use. */
  #giveBackIdleSlots(): void {
    const nowMs = this.#start.clock.now();
    if (!this.#isLocal && this.#lease.free(nowMs) > 0) {
      const idleMs = this.#start.ledger.unanswered > 0 ? IDLE_WITH_REQUESTS_MS : IDLE_MS;
      if (this.#start.queueSize() > 0 || nowMs - this.#usedAtMs < idleMs) return this.#watchIdleSlots();
      this.#report(nowMs);
    }
    if (this.#isLeaving) void this.connection.leave();
  }
}
