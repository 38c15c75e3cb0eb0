import type { Call } from '../../call.ts';
import type { SteadyClock } from '../../clock/steady-clock.ts';
import { startTimer } from '../../clock/timer.ts';
import type { Answer } from '../../contract/limits.ts';
import type { LeaseRequest, LeaseResponse } from '../../quota-store.ts';
import { Redactor } from '../../redactor.ts';
import type { Ledger, Outlook } from '../ledger/ledger.ts';
import { Lease, LeasePacing, localLease } from './lease.ts';
import { type ExchangeOutcome, StoreConnection, type StoreConnectionStart, StoreNotices } from './store-connection.ts';

/** A store that takes longer counts as lost. */
const TIMEOUT_MS = 600;
/** How often to look whether slots lie idle; after so long without use they are given back, */
const IDLE_MS = 150;
/** and after so long where requests are out, whose callers may come again. */
const IDLE_WITH_REQUESTS_MS = 1000;
/** More requests than these are not in flight at a window's end. */
const MOST_LATE = 256;

export interface LeaseClientStart extends Omit<StoreConnectionStart, 'redactor' | 'onClosed'> {
  ledger: Ledger;
  clock: SteadyClock;
  warn: (message: string) => void;
  /** How many calls wait for a slot. */
  queueSize: () => number;
  /** There may be other slots now. */
  onChange: () => void;
}

/** What became of a request. */
export interface ObservedAnswer {
  answer: Answer;
  sentAtMs: number;
  /** Until when the gate is closed now, if it is. */
  closedUntilMs: number | undefined;
}

/**
 * Leases slots of the quota that several processes share: one request to the store at a time, none while slots are left. Where the store
 * fails, this process takes an even part of what is left for itself, until the window ends; only then it requests again, so that no slot
 * is taken twice.
 */
export class LeaseClient {
  readonly #start: LeaseClientStart;
  readonly #member = Math.random().toString(36).slice(2, 12);
  readonly #connection: StoreConnection;
  readonly #notices: StoreNotices;
  readonly #pacing = new LeasePacing();
  #lease = Lease.none();
  // The store cannot be used.
  #isLocal = false;
  // The request to the store that has no response yet, and when to give it up.
  #pending: { requestedAtMs: number; givesUpAtMs: number } | undefined;
  // When to request again, and what the wait until then is for.
  #requestAtMs = Number.NEGATIVE_INFINITY;
  #reason: Outlook['reason'] = 'quota';
  // Another process waits for the answer to its probe.
  #isProbedByOther = false;
  // The lease is for a probe.
  #isProbe = false;
  // When the probe left whose answer is reported at once; undefined while none is out.
  #probeSentAtMs: number | undefined;
  // The next request to the store reports it.
  #isProbeAnswered = false;
  // Requests to the service that have no answer yet.
  #unanswered = 0;
  // When the last lease of a known window expires, and that of a probe after it. An answer is late where its request left before such an
  // instant and it comes after.
  #expiriesMs: readonly number[] = [];
  // What late answers said since the last lease.
  #lateAnswers: LeaseRequest['lateAnswers'] = [];
  #closedUntilMs = Number.NEGATIVE_INFINITY;
  // As many processes as the store saw last.
  #members: number | undefined;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  #isIdleTimerSet = false;

  /** @throws what the store does when it is joined at once */
  constructor(start: LeaseClientStart) {
    const redactor = new Redactor();
    this.#start = start;
    this.#notices = new StoreNotices(start.warn, redactor);
    this.#connection = new StoreConnection({ ...start, redactor, onClosed: (closedForMs) => this.#closeFor(closedForMs) });
  }

  /** Whether no slot can be leased before the key is known. */
  get needsKey(): boolean {
    return this.#connection.needsKey;
  }

  takeKey(key: string): void {
    this.#connection.takeKey(key);
  }

  /** What the ledger allows, as far as this process holds slots for it; where it holds none it requests some. */
  narrow(outlook: Outlook, wanted: number, nowMs: number): Outlook {
    if (outlook.free <= 0) return outlook;
    if (this.#lease.free(nowMs) === 0 && wanted > 0 && nowMs >= this.#requestAtMs) this.#request(wanted, nowMs);
    const free = this.#lease.free(nowMs);
    if (free > 0) return { ...outlook, free: Math.min(outlook.free, free) };
    const lookAt = Math.max(nowMs + 1, this.#requestAtMs);
    const isAnswerOut = this.#isProbedByOther || this.#pending !== undefined;
    return { free: 0, at: isAnswerOut ? Number.POSITIVE_INFINITY : lookAt, lookAt, reason: this.#reason };
  }

  /** A request leaves. */
  use(call: Call, nowMs: number): void {
    this.#notices.report(call);
    this.#unanswered++;
    this.#usedAtMs = nowMs;
    if (this.#isProbe) this.#probeSentAtMs = nowMs;
    this.#lease.use();
  }

  /** It did not leave after all. */
  cancel(): void {
    this.#unanswered--;
    this.#lease.giveBack();
    this.#watchIdleSlots();
  }

  /** No answer came. Of a probe nothing is reported then: the store lets another process send one after a while. */
  lose(sentAtMs: number, nowMs: number): void {
    this.#unanswered--;
    this.#endProbe(sentAtMs);
    this.#reportIfIdle(nowMs);
  }

  /** Tells whether the request that left then was the probe. */
  #endProbe(sentAtMs: number): boolean {
    if (sentAtMs !== this.#probeSentAtMs) return false;
    this.#probeSentAtMs = undefined;
    this.#isProbe = false;
    return true;
  }

  observe({ answer, sentAtMs, closedUntilMs }: ObservedAnswer, nowMs: number): void {
    this.#unanswered--;
    const { remaining, resetAtMs } = answer;
    const isLate = this.#expiriesMs.some((endMs) => sentAtMs < endMs && nowMs >= endMs);
    if (remaining !== undefined && resetAtMs !== undefined && isLate) this.#lateAnswers.push({ remaining, resetAtMs });
    if (this.#isLocal && this.#lease.resetAtMs === 0) this.#takeLocalLease(nowMs);
    const isProbe = this.#endProbe(sentAtMs);
    if (closedUntilMs !== undefined && closedUntilMs > this.#closedUntilMs) {
      // Reported at once, for the other processes.
      this.#closedUntilMs = closedUntilMs;
      this.#report(nowMs);
    } else if (isProbe) this.#reportProbe(nowMs);
    else this.#reportIfIdle(nowMs);
  }

  /** Another process met a closed gate. */
  #closeFor(closedForMs: number): void {
    this.#closeUntil(this.#start.clock.now() + closedForMs);
    this.#start.onChange();
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
    if (this.#start.store.isCheap && this.#start.queueSize() === 0 && this.#unanswered === 0) this.#report(nowMs);
  }

  /** Tells the store without asking for more; what is held is given back. Where that fails, the next request will too. */
  #report(nowMs: number): void {
    if (this.#isLocal) return;
    const request = this.#requestFor(0, nowMs);
    this.#lease = Lease.none();
    void this.#connection.exchange(request);
  }

  #request(wanted: number, nowMs: number): void {
    if (this.#pending) {
      if (nowMs >= this.#pending.givesUpAtMs) this.#giveUp(nowMs);
      return;
    }
    this.#isLocal = false;
    this.#isProbedByOther = false;
    this.#reason = 'quota';
    const slots = this.#start.store.isCheap ? wanted : this.#pacing.sizeFor(wanted, nowMs);
    const outcome = this.#connection.exchange(this.#requestFor(slots, nowMs));
    if (outcome instanceof Promise) this.#await(outcome, nowMs);
    else this.#settle(outcome, nowMs);
  }

  #await(outcome: Promise<ExchangeOutcome>, requestedAtMs: number): void {
    const pending = { requestedAtMs, givesUpAtMs: requestedAtMs + TIMEOUT_MS };
    this.#pending = pending;
    this.#requestAtMs = pending.givesUpAtMs;
    void outcome.then((settled) => {
      // It came too late.
      if (this.#pending !== pending) return;
      this.#pending = undefined;
      this.#settle(settled, requestedAtMs);
      this.#start.onChange();
    });
  }

  #giveUp(nowMs: number): void {
    this.#pending = undefined;
    this.#fail(`it gave no answer within ${TIMEOUT_MS} ms`, nowMs);
  }

  #requestFor(wanted: number, nowMs: number): LeaseRequest {
    const isProbeAnswered = this.#isProbeAnswered;
    this.#isProbeAnswered = false;
    return {
      member: this.#member,
      wanted,
      returned: this.#lease.end(nowMs),
      returnedResetAtMs: this.#lease.resetAtMs,
      unanswered: this.#unanswered,
      lateAnswers: this.#lateAnswers.slice(-MOST_LATE),
      ...this.#start.ledger.observed(this.#start.clock.now()),
      isProbeAnswered,
      closedForMs: Math.max(0, Math.ceil(this.#closedUntilMs - nowMs)),
    };
  }

  #settle(outcome: ExchangeOutcome, requestedAtMs: number): void {
    const nowMs = this.#start.clock.now();
    if ('failure' in outcome) return this.#fail(outcome.failure, nowMs);
    const { response } = outcome;
    if (response.reason === 'lost') return this.#fail('it was restarted empty', nowMs);
    this.#members = Math.max(response.members, 1);
    this.#notices.recover();
    if (response.granted > 0) return this.#hold(response, requestedAtMs);
    this.#isProbedByOther = response.reason === 'probe';
    this.#requestAtMs = this.#pacing.nextAtMs(response, this.#start.ledger.observed(nowMs).minute, nowMs);
    if (response.reason !== 'closed') return;
    this.#reason = 'rate-limit';
    this.#closeUntil(requestedAtMs + response.waitMs);
  }

  #hold(response: LeaseResponse, requestedAtMs: number): void {
    this.#lease = new Lease(response, requestedAtMs);
    this.#pacing.grant(response.granted, requestedAtMs);
    const { expiresAtMs } = this.#lease;
    this.#expiriesMs = response.resetAtMs === 0 ? [...this.#expiriesMs.slice(0, 1), expiresAtMs] : [expiresAtMs];
    this.#lateAnswers = [];
    this.#usedAtMs = requestedAtMs;
    this.#requestAtMs = Number.NEGATIVE_INFINITY;
    this.#isProbe = response.reason === 'probe';
    this.#watchIdleSlots();
  }

  #fail(failure: unknown, nowMs: number): void {
    this.#isLocal = true;
    this.#takeLocalLease(nowMs);
    this.#notices.fail(failure);
  }

  #takeLocalLease(nowMs: number): void {
    const { plan, minute: observed } = this.#start.ledger.observed(this.#start.clock.now());
    const minute = observed && observed.endsInMs > 0 ? observed : undefined;
    const processes = this.#start.store.processes ?? this.#members;
    this.#lease = localLease({ plan, minute, processes }, nowMs);
    this.#requestAtMs = this.#lease.expiresAtMs;
  }

  /** Gives slots back that lie idle. One timer, and none while there are no slots to watch. */
  #watchIdleSlots(): void {
    if (this.#isIdleTimerSet) return;
    this.#isIdleTimerSet = true;
    startTimer(IDLE_MS, () => {
      this.#isIdleTimerSet = false;
      const nowMs = this.#start.clock.now();
      if (this.#isLocal || this.#lease.free(nowMs) === 0) return;
      const idleMs = this.#unanswered > 0 ? IDLE_WITH_REQUESTS_MS : IDLE_MS;
      if (this.#start.queueSize() > 0 || nowMs - this.#usedAtMs < idleMs) this.#watchIdleSlots();
      else this.#report(nowMs);
    });
  }
}
