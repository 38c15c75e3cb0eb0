import { isServiceFailure, isSuccess } from '../../contract/http.ts';
import { type Answer, LONGEST_WINDOW_MS } from '../../contract/limits.ts';
import { MINUTE_MS, SECOND_MS } from '../../contract/plans.ts';
import type { WaitReason } from '../../events.ts';
import type { Outcome } from './candidates/candidate.ts';
import { Caution } from './caution.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { Cooldown } from './cooldown.ts';
import { Outstanding, type Sending } from './outstanding.ts';
import type { Quota, WindowQuota } from './quota.ts';
import type { QuotaWindow } from './quota-window.ts';
import { aheadOf, ServerClock } from './server-clock.ts';
import type { Share } from './share.ts';
import { LONGEST_MINUTE_MS, type QuotaSettings, Windows } from './windows.ts';

/** How many requests may be sent now; if none, when to look again and why. `at` is infinite if only an answer can tell. */
export interface Outlook {
  free: number;
  at: number;
  /** When to look again at the latest, even if only an answer can tell. */
  lookAt?: number;
  reason: Exclude<WaitReason, 'order' | 'backoff'>;
  /** There is quota left, but the client has used its share. */
  isOfShare?: boolean;
  /** What is left is not known: a probe finds out. */
  isUnknown?: boolean;
}

/** How long to wait until the instant of an outlook, in milliseconds; 0 if only an answer can tell. */
export function waitMs({ at }: Outlook, nowMs: number): number {
  return Number.isFinite(at) ? Math.max(0, Math.ceil(at - nowMs)) : 0;
}

/** As many requests are in flight as may be. */
export const FULL: Outlook = { free: 0, at: Number.POSITIVE_INFINITY, reason: 'in-flight' };

/** Shared by all ledgers until their first failure: before one, no method changes a circuit breaker. */
const NO_OUTAGE = new CircuitBreaker();

/** After this many good answers in a row without Remaining, a service that used to report it counts as one that does not. */
const ANSWERS_WITHOUT_REMAINING = 5;

/**
 * Evidence in, permission out. Evidence is the plan, what was sent (`send`), and what became of it (`observe`, `lose`, `fail`, `prove`).
 * Permission is how many requests may be sent now so that the service refuses none (`look`). The gate asks at every event. All of this
 * folder is pure arithmetic: no timers, the time is a parameter.
 */
export class Ledger {
  /** The minute and the day, as large as the plan allows. */
  readonly windows: Windows;
  readonly #serverClock = new ServerClock();
  // `NO_OUTAGE` until a request fails.
  #outage = NO_OUTAGE;
  readonly #outstanding = new Outstanding();
  readonly #cooldown: Cooldown;
  readonly #caution: Caution;
  // Since when the remaining quota is unknown. Until a request sent after this instant is answered, one probe is sent at a time.
  #unknownSinceMs: number | undefined = Number.NEGATIVE_INFINITY;
  // Whether it is unknown because the service closed the key: no good answer has come since it opened again.
  #isReopening = false;
  // The latest probe, while it has no answer.
  #probe: Sending | undefined;
  // How many good answers in a row have not reported Remaining.
  #unreported = ANSWERS_WITHOUT_REMAINING;

  constructor(settings: QuotaSettings, random: () => number = Math.random) {
    this.windows = new Windows(settings);
    this.#cooldown = new Cooldown(random);
    this.#caution = new Caution(this.windows, this.#outstanding);
  }

  get lastSentAtMs(): number {
    return this.#outstanding.lastSentAtMs;
  }

  /** Requests whose answers, which could change the outlook, are still to come. */
  get unanswered(): number {
    return this.#outstanding.unanswered;
  }

  /** Since when the service is down; undefined while it is not. */
  get outageSinceMs(): number | undefined {
    return this.#outage.sinceMs;
  }

  /** Whether the service is down, or so many requests in a row failed that it may be. */
  get isOutageSuspected(): boolean {
    return this.#outage.isSuspected;
  }

  /** Until when the key is closed by the service; undefined while it is open. */
  closedUntilMs(nowMs: number): number | undefined {
    return this.#cooldown.untilMs > nowMs ? this.#cooldown.untilMs : undefined;
  }

  /** What the plan alone still allows now, after what was sent: no header can raise it. */
  ceiling(nowMs: number): number {
    return Math.min(this.windows.minute.ceiling(nowMs), this.windows.day.ceiling(nowMs));
  }

  /** When the ceiling lets a request pass again, in a second at the earliest, so that no timer spins. */
  ceilingLookAtMs(nowMs: number): number {
    return Math.max(nowMs + SECOND_MS, this.windows.minute.ceilingAt(nowMs), this.windows.day.ceilingAt(nowMs));
  }

  /** What is known about both windows, or about a share of them, as `petstore.quota` shows it. */
  snapshot(nowMs: number, share?: Share): Pick<Quota, 'minute' | 'day'> {
    const { minute, day } = this.windowsAt(nowMs);
    return { minute: snapshotOf(minute, nowMs, share), day: snapshotOf(day, nowMs, share) };
  }

  /** The windows as they are now. */
  windowsAt(nowMs: number): Windows {
    if (this.windows.turn(nowMs, this.unanswered) || nowMs >= this.#caution.staleAtMs) this.#unknownSinceMs ??= nowMs;
    return this.windows;
  }

  /** What may be sent now, with `inFlight` requests whose bodies are not read yet, and `waiting` calls that want to be sent. */
  look(nowMs: number, inFlight: number, waiting = 1): Outlook {
    if (this.#cooldown.untilMs > nowMs) return { free: 0, at: this.#cooldown.untilMs, reason: 'rate-limit' };
    this.windowsAt(nowMs);
    const isFull = inFlight >= this.windows.concurrency;
    if (this.#outage.sinceMs !== undefined) return isFull ? FULL : this.#lookInOutage(nowMs);
    const free = this.#free(nowMs);
    if (free <= 0) return { free: 0, at: this.#freeAt(nowMs), reason: 'quota', isOfShare: this.#isOnlyShareUsedUp(nowMs) };
    if (isFull) return FULL;
    if (this.#unknownSinceMs !== undefined) return this.#lookForProbe(nowMs, this.#unknownSinceMs);
    // One request at a time finds out whether it is an outage.
    if (this.#outage.isSuspected) return { ...this.#lookForOne(inFlight > 0, nowMs), reason: 'outage' };
    const slots = Math.floor(this.#caution.mostInFlight({ inFlight, waiting }, nowMs)) - inFlight;
    if (slots <= 0) return FULL;
    const sure = Math.min(free, this.windows.minute.sure(nowMs));
    if (sure > 0) return { free: Math.min(sure, slots), at: nowMs, reason: 'quota' };
    // The candidates disagree: one probe at a time.
    return this.#lookForOne(this.unanswered > 0, nowMs);
  }

  /** Whether the client has a share, and no header says that the key's own quota is used up. */
  #isOnlyShareUsedUp(nowMs: number): boolean {
    const { areCutToShare, minute, day } = this.windows;
    return areCutToShare && minute.observed(nowMs)?.remaining !== 0 && day.observed(nowMs)?.remaining !== 0;
  }

  #free(nowMs: number): number {
    const { minute, day } = this.windows;
    return Math.min(minute.free(nowMs, this.#isReopening) - this.#kept(nowMs), day.free(nowMs, this.#isReopening));
  }

  #freeAt(nowMs: number): number {
    const { minute, day } = this.windows;
    const minuteAtMs = minute.freeAt(1 + this.#kept(nowMs), nowMs, this.#isReopening);
    const unkeptAtMs = Math.max(minute.freeAt(1, nowMs, this.#isReopening), this.#caution.keptUntilMs(nowMs));
    return Math.max(Math.min(minuteAtMs, unkeptAtMs), day.freeAt(1, nowMs, this.#isReopening));
  }

  /** Requests that are left to others; none for a probe. */
  #kept(nowMs: number): number {
    return this.#unknownSinceMs === undefined ? this.#caution.kept(nowMs) : 0;
  }

  /** One probe is sent at a time, and counts like any request; the next one only after its answer. */
  #lookInOutage(nowMs: number): Outlook {
    const isProbed = this.#probe !== undefined && this.#outage.isProbe(this.#probe.atMs);
    const at = isProbed
      ? Number.POSITIVE_INFINITY
      : Math.max(this.#outage.probeAtMs, this.windows.minute.freeAt(1, nowMs), this.windows.day.freeAt(1, nowMs));
    return { free: at > nowMs ? 0 : 1, at, reason: 'outage' };
  }

  #lookForProbe(nowMs: number, unknownSinceMs: number): Outlook {
    // After the key was closed, others before the probe's answer may be refused too. The probe may be older than the latest closure.
    if (this.#isReopening && this.#probe !== undefined) return FULL;
    return this.#lookForOne(!this.#isReopening && this.#outstanding.isSince(unknownSinceMs), nowMs);
  }

  /** Allows one request: while another one is out, once that should have been answered; a little later if the last ones failed. */
  #lookForOne(isOut: boolean, nowMs: number): Outlook {
    const { probeAtMs } = this.#outage;
    const readyAtMs = isOut ? this.#outstanding.lastSentAtMs + this.#outstanding.patienceMs : nowMs;
    const at = Math.max(probeAtMs, readyAtMs);
    return { free: at > nowMs ? 0 : 1, at, reason: probeAtMs > readyAtMs ? 'outage' : 'quota', isUnknown: true };
  }

  send(nowMs: number): Sending {
    this.windows.minute.add(nowMs);
    this.windows.day.add(nowMs);
    const sending = this.#outstanding.send(nowMs, this.#unknownSinceMs === undefined);
    if (this.#unknownSinceMs !== undefined || this.#outage.sinceMs !== undefined) this.#probe = sending;
    return sending;
  }

  /** The request was not sent after all. */
  unsend(sending: Sending, nowMs: number): void {
    this.windows.minute.remove(nowMs);
    this.windows.day.remove(nowMs);
    this.#outstanding.unsend(sending);
    this.#endProbe(sending);
  }

  /**
   * No answer came: because of the service or the network (`isFailure`), or because of an abort or the caller's own code. If `isUnsent`, the
   * connection failed before the request was sent.
   */
  lose(sending: Sending, { isFailure, isUnsent }: { isFailure: boolean; isUnsent: boolean }, nowMs: number): void {
    this.#outstanding.lose();
    // The request may have arrived as late as now.
    this.#settle(sending, true, nowMs);
    if (!isFailure) return;
    if (isUnsent || this.#outage.isProbe(sending.atMs)) this.#uncount(sending, nowMs);
    this.fail(sending, nowMs);
  }

  /** No answer came although the service or the network is to blame, it was a 5xx, or its body failed. */
  fail({ atMs }: Sending, nowMs: number): void {
    if (this.#outage === NO_OUTAGE) this.#outage = new CircuitBreaker();
    this.#outage.fail(atMs, nowMs);
  }

  /** Takes a failed request from the count of the day: otherwise the probes of some hours without a network would use it up. */
  #uncount(sending: Sending, nowMs: number): void {
    sending.isUncounted = true;
    this.windows.day.remove(nowMs);
  }

  /** The body of an answer came. Returns whether the next probe may now go at another time. */
  prove({ answeredAtMs }: Sending): boolean {
    const { probeAtMs } = this.#outage;
    if (answeredAtMs !== undefined) this.#outage.succeed(answeredAtMs);
    return this.#outage.probeAtMs !== probeAtMs;
  }

  /** A request was answered or is lost. */
  #settle(sending: Sending, hasFailed: boolean, nowMs: number): void {
    const outcome = { hasFailed };
    this.windows.minute.answer(sending.atMs, nowMs, outcome);
    this.windows.day.answer(sending.atMs, nowMs, outcome);
    this.#endProbe(sending);
  }

  #endProbe(sending: Sending): void {
    if (this.#probe === sending) this.#probe = undefined;
  }

  observe(sending: Sending, answer: Answer, nowMs: number): void {
    sending.answeredAtMs = nowMs;
    const { atMs: sentAtMs } = sending;
    const { status, remaining, retryAfterMs } = answer;
    this.#outstanding.observe(sentAtMs, nowMs);
    this.#settle(sending, status >= 400, nowMs);
    this.#observeHealth(sending, answer, nowMs);
    const { unanswered } = this;
    const outcome = { status, remaining, retryAfterMs, unanswered, concurrent: this.#outstanding.concurrentWith(sending), sentAtMs, nowMs };
    const subject = this.#observeWindow(answer, outcome);
    this.#alignCounter(nowMs);
    // The refusals of requests that were sent together have one cause.
    const isRefusedAgain = status === 429 && sentAtMs < this.#cooldown.untilMs;
    if (subject !== this.windows.minute && !isRefusedAgain) this.windows.minute.observeUnreported({ ...outcome, remaining: undefined });
    if (status === 429) this.#observeRefusal(sending, answer, subject, nowMs);
    else if (status === 503 && retryAfterMs !== undefined) this.#close(answer, nowMs);
    else if (!isServiceFailure(status)) this.#observeGood(sending, answer, subject);
  }

  /** Returns the window that the answer describes. */
  #observeWindow(answer: Answer, outcome: Outcome): QuotaWindow | undefined {
    const { nowMs } = outcome;
    const clock = this.#serverClock;
    if (clock.observeDate(answer, outcome)) this.#forget(nowMs);
    const subject = this.windows.describedBy(answer, aheadOf(answer, answer.dateMs ?? clock.atMost(nowMs)));
    if (!subject) return undefined;
    if (clock.observeReset(answer, subject.lengthMs, outcome)) this.#forget(nowMs);
    const reset = clock.resetOf(answer, subject.lengthMs, outcome);
    this.windows.observeLimit(subject, answer);
    subject.observe({ ...outcome, serverMs: clock.timeOf(answer, nowMs), reset });
    return subject;
  }

  /** A weighted counter turns with the minutes of the server's clock, so that it is possible before any Reset, but not on a first answer. */
  #alignCounter(nowMs: number): void {
    const serverMs = this.#serverClock.atLeast(nowMs);
    if (Number.isFinite(serverMs) && this.#outstanding.settled > 1)
      this.windows.minute.alignCounter(nowMs + MINUTE_MS - (serverMs % MINUTE_MS), nowMs);
  }

  #forget(nowMs: number): void {
    this.windows.minute.forgetReset(nowMs);
    this.windows.day.forgetReset(nowMs);
    this.#unknownSinceMs ??= nowMs;
  }

  /** A 2xx alone does not prove that the service is up: its body is reported later. */
  #observeHealth(sending: Sending, answer: Answer, nowMs: number): void {
    if (isServiceFailure(answer.status)) {
      if (answer.remaining === undefined && this.#outage.isProbe(sending.atMs)) this.#uncount(sending, nowMs);
      this.fail(sending, nowMs);
    } else if (isSuccess(answer.status)) this.#outage.hope(sending.atMs, nowMs);
    else this.#outage.succeed(nowMs);
  }

  #observeRefusal(sending: Sending, answer: Answer, subject: QuotaWindow | undefined, nowMs: number): void {
    const isUsedUp = subject !== undefined && answer.remaining === 0;
    this.#caution.refuse(sending.wasQuotaKnown, isUsedUp);
    this.#cooldown.strike(sending.atMs);
    this.#close(answer, nowMs, subject === this.windows.minute && (answer.remaining ?? 0) > 0);
    const isDay = (answer.retryAfterMs ?? 0) > LONGEST_MINUTE_MS;
    const refused = isUsedUp ? subject : isDay ? this.windows.day : this.windows.minute;
    if (answer.retryAfterMs !== undefined && this.#cooldown.isFirst) refused.invite(this.#cooldown.untilMs);
    if (!isUsedUp && (subject !== refused || answer.remaining === undefined)) refused.learnLimit({ ...answer, ...sending }, nowMs);
  }

  #close(answer: Answer, nowMs: number, isOfDay = false): void {
    const endsInMs = aheadOf(answer, answer.dateMs ?? this.#serverClock.atLeast(nowMs));
    const isBelievable = answer.remaining === 0 && endsInMs !== undefined && endsInMs <= LONGEST_WINDOW_MS;
    this.#cooldown.close(answer.retryAfterMs ?? (isBelievable ? endsInMs : undefined), nowMs, isOfDay);
    this.#reopen();
  }

  /** Closes the key because another process reported a closure. */
  closeUntil(instantMs: number): void {
    this.#cooldown.closeUntil(instantMs);
    this.#reopen();
  }

  #reopen(): void {
    this.#unknownSinceMs = this.#cooldown.untilMs;
    this.#isReopening = true;
  }

  /** If sent since the remaining quota is unknown, its answer makes it known; where headers used to report Remaining, only one that does. */
  #observeGood(sending: Sending, { remaining }: Answer, subject: QuotaWindow | undefined): void {
    this.#cooldown.forgive(sending.atMs);
    const isReported = remaining !== undefined && subject === this.windows.minute;
    this.#caution.succeed(isReported);
    this.#unreported = isReported ? 0 : this.#unreported + 1;
    if (this.#unknownSinceMs === undefined || sending.atMs < this.#unknownSinceMs) return;
    if (this.#isReopening) this.windows.day.reopen(sending.atMs);
    this.#isReopening = false;
    if (isReported || this.#unreported >= ANSWERS_WITHOUT_REMAINING) this.#unknownSinceMs = undefined;
  }
}

function snapshotOf(window: QuotaWindow, nowMs: number, share: Share | undefined): WindowQuota {
  const { resetAtMs } = window;
  const limit = share?.limitIn(window) ?? window.limit;
  const left = Math.max(0, Math.min(window.free(nowMs), share?.freeIn(window, nowMs) ?? limit));
  return {
    limit: Number.isFinite(limit) ? limit : undefined,
    remaining: Number.isFinite(left) ? left : undefined,
    resetAt: resetAtMs === undefined ? undefined : new Date(resetAtMs),
  };
}
