import type { Answer, RateLimitHeaders } from '../contract/limits.ts';
import { PLANS, type PlanLimits } from '../contract/plans.ts';
import type { WaitReason } from '../events.ts';
import { Bucket } from './bucket.ts';
import { Closing } from './closing.ts';
import { Outage } from './outage.ts';
import { ServerClock } from './server-clock.ts';
import { QuotaWindow } from './window.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A Reset further away than this cannot be the minute's. */
const LONGEST_MINUTE_MS = 120_000;
/** A Reset this close may teach the minute's limit where no plan is given. */
const TEACHING_MINUTE_MS = 62_000;
/** A probe without an answer lets the next one go after this time, so that a stalled request holds nobody up. */
const PROBE_PATIENCE_MS = 1000;
/** With little quota left few requests may be out: each could meet a surprise. */
const FEWEST_IN_FLIGHT = 8;
const KEPT_FROM_FLIGHT = 32;
/** So many good answers make up for one surprise; more on a bucket, where head-room is kept once and not lost with every window. */
const ANSWERS_PER_HEAD_ROOM = 20;
const ANSWERS_PER_BUCKET_HEAD_ROOM = 200;

/** How many requests may be sent now; where none, when to look again and why. `at` is infinite where only an answer can tell. */
export interface Outlook {
  free: number;
  at: number;
  reason: WaitReason;
}

/** One request that was sent, until it is heard or lost. */
export interface Sending {
  readonly atMs: number;
  /** Whether the budget was known when it was sent: a 429 is then a surprise. */
  readonly wasPlanned: boolean;
}

/** What is known of one window; undefined where neither plan nor headers tell. */
export interface WindowQuota {
  /** Requests that the window allows. */
  limit: number | undefined;
  /** Requests that may still be sent in it. */
  remaining: number | undefined;
  /** When it resets, on the server's clock. */
  resetAt: Date | undefined;
}

/** What is known of the quota of a client's key. */
export interface Quota {
  minute: WindowQuota;
  day: WindowQuota;
  /** Until when the service closed the key; undefined while it is open. */
  closedUntil: Date | undefined;
}

export interface LedgerSettings {
  plan: PlanLimits | 'unlimited' | undefined;
  concurrency: number;
  share: number;
}

/**
 * What is known of one key's quota: the plan, what was sent, what the answers said. It tells how many requests may be sent at an
 * instant so that the service refuses none. Pure arithmetic: no timers, the time is a parameter.
 */
export class Ledger {
  readonly #clock = new ServerClock();
  readonly #outage = new Outage();
  readonly #closing: Closing;
  readonly minute: QuotaWindow;
  readonly day: QuotaWindow;
  readonly #bucket: Bucket;
  #settings: LedgerSettings;
  // Sent and neither heard nor lost: what the newest answer may not contain yet.
  #unanswered = 0;
  // Lost without an answer: they may have been counted. Forgotten when a later request is answered.
  #lost = 0;
  #lostAtMs = 0;
  #lastSentAtMs = Number.NEGATIVE_INFINITY;
  // Requests sent since then tell how much is left; before such an answer the budget is unknown and one probe goes at a time.
  #unknownSinceMs: number | undefined = Number.NEGATIVE_INFINITY;
  // Left to other users of the key, once they showed themselves.
  #headRoom = 0;
  #goodAnswers = 0;

  constructor(settings: LedgerSettings, random: () => number = Math.random) {
    this.#settings = settings;
    const { requestsPerMinute, requestsPerDay } = limitsOf(settings.plan ?? PLANS.free);
    this.minute = new QuotaWindow(requestsPerMinute, MINUTE_MS, settings.share);
    this.day = new QuotaWindow(requestsPerDay, DAY_MS, settings.share);
    this.#bucket = new Bucket();
    this.#closing = new Closing(random);
  }

  get lastSentAtMs(): number {
    return this.#lastSentAtMs;
  }

  /** Until when the key is closed by the service; undefined while it is open. */
  closedUntilMs(nowMs: number): number | undefined {
    return this.#closing.untilMs > nowMs ? this.#closing.untilMs : undefined;
  }

  get outageSinceMs(): number | undefined {
    return this.#outage.sinceMs;
  }

  /** What the plan alone still allows now: the second count, which no header can raise. */
  ceiling(nowMs: number): number {
    const { count } = this.minute;
    const minute = this.#bucket.isRecognised ? Math.floor(count.tokens(nowMs)) : count.free(nowMs);
    return Math.min(minute, this.day.count.free(nowMs));
  }

  /** Takes the stricter of two settings, for a second client on the same key. Gives the names of those that differ. */
  tighten({ plan, concurrency, share }: LedgerSettings): string[] {
    const known = this.#settings;
    const limits = limitsOf(plan);
    // A client that leaves the plan to the headers contradicts nobody.
    const samePlan = plan === undefined || known.plan === undefined || haveSameLimits(limits, limitsOf(known.plan));
    const differs = [samePlan ? '' : 'plan', concurrency === known.concurrency ? '' : 'concurrency', share === known.share ? '' : 'share'];
    this.#settings = {
      plan: known.plan ?? plan,
      concurrency: Math.min(concurrency, known.concurrency),
      share: Math.min(share, known.share),
    };
    if (known.plan === undefined && plan !== undefined) {
      this.minute.plan(limits.requestsPerMinute);
      this.day.plan(limits.requestsPerDay);
    }
    this.minute.tighten(limits.requestsPerMinute, share);
    this.day.tighten(limits.requestsPerDay, share);
    return differs.filter((name) => name !== '');
  }

  /** What is known of both windows, for people. */
  snapshot(nowMs: number): Quota {
    this.#turnWindows(nowMs);
    const out = this.#unanswered + this.#lost;
    const closedUntilMs = this.closedUntilMs(nowMs);
    return {
      minute: this.minute.snapshot(nowMs, out),
      day: this.day.snapshot(nowMs, out),
      closedUntil: closedUntilMs === undefined ? undefined : new Date(closedUntilMs),
    };
  }

  /** Whether an answer is out that could change the outlook. */
  get isWaitingForAnswer(): boolean {
    return this.#unanswered > 0;
  }

  /** Tells what may be sent now, with `inFlight` requests whose bodies are not read yet. */
  look(nowMs: number, inFlight: number): Outlook {
    if (this.#closing.untilMs > nowMs) return { free: 0, at: this.#closing.untilMs, reason: 'rate-limit' };
    this.#turnWindows(nowMs);
    if (this.#outage.sinceMs !== undefined) return this.#lookInOutage(nowMs, this.#outage.sinceMs);
    const budget = this.#budget(nowMs);
    if (budget.free <= 0) return budget;
    if (this.#unknownSinceMs !== undefined) return this.#lookForProbe(nowMs);
    const slots = this.#mostInFlight(nowMs) - inFlight;
    if (slots <= 0) return { free: 0, at: Number.POSITIVE_INFINITY, reason: 'in-flight' };
    return { ...budget, free: Math.min(budget.free, slots) };
  }

  send(nowMs: number): Sending {
    this.minute.count.add(nowMs);
    this.day.count.add(nowMs);
    if (this.#bucket.isRecognised) this.#bucket.take(nowMs);
    this.#unanswered++;
    this.#lastSentAtMs = nowMs;
    return { atMs: nowMs, wasPlanned: this.#unknownSinceMs === undefined };
  }

  /** The request was not sent after all. */
  unsend(nowMs: number): void {
    this.minute.count.remove(nowMs);
    this.day.count.remove(nowMs);
    if (this.#bucket.isRecognised) this.#bucket.giveBack(nowMs);
    this.#unanswered--;
    this.#lastSentAtMs = Number.NEGATIVE_INFINITY;
  }

  /** No answer came; `isFailure` where the service or the network is to blame, and not an abort. */
  lose(sending: Sending, isFailure: boolean, nowMs: number): void {
    this.#unanswered--;
    this.#lost++;
    this.#lostAtMs = nowMs;
    if (isFailure) this.#outage.fail(sending.atMs, nowMs);
  }

  /** Learns from the headers of an answer. */
  hear(sending: Sending, answer: Answer): void {
    const nowMs = answer.receivedAtMs;
    this.#unanswered--;
    if (sending.atMs > this.#lostAtMs) this.#lost = 0;
    if (answer.dateMs !== undefined) this.#clock.observe(answer.dateMs, sending.atMs, nowMs);
    this.#hearHealth(sending, answer);
    this.#hearLimits(answer);
    if (answer.status === 429) this.#hearRefusal(sending, answer);
    else if (answer.status === 503 && answer.retryAfterMs !== undefined) this.#close(answer);
    else this.#hearProbe(sending, answer);
  }

  #hearHealth(sending: Sending, { status, receivedAtMs }: Answer): void {
    if (status >= 500 && status !== 501 && status !== 505) this.#outage.fail(sending.atMs, receivedAtMs);
    else this.#outage.succeed();
    const enough = this.#bucket.isRecognised ? ANSWERS_PER_BUCKET_HEAD_ROOM : ANSWERS_PER_HEAD_ROOM;
    if (status !== 429 && ++this.#goodAnswers % enough === 0) this.#headRoom = Math.max(0, this.#headRoom - 1);
  }

  #hearLimits(answer: Answer): void {
    const { rateLimit, receivedAtMs: nowMs } = answer;
    const spoken = rateLimit && this.#windowOf(rateLimit, nowMs);
    for (const window of [this.minute, this.day]) if (window !== spoken) window.countUnspoken();
    if (!spoken || !rateLimit) return;
    this.#learnPlan(spoken, rateLimit, nowMs);
    spoken.hear(rateLimit, this.#unanswered, this.#clock.toLocal(rateLimit.resetAtMs, nowMs));
    if (spoken === this.minute) this.#bucket.hear(answer, this.#unanswered, this.minute.count);
  }

  #hearRefusal(sending: Sending, answer: Answer): void {
    if (sending.wasPlanned) this.#headRoom++;
    if (this.#bucket.isRecognised) this.#bucket.drain(answer.receivedAtMs);
    this.#closing.strike(sending.atMs);
    this.#close(answer);
  }

  #close(answer: Answer): void {
    const { rateLimit, receivedAtMs: nowMs } = answer;
    const resetAtMs = rateLimit?.remaining === 0 ? this.#clock.toLocal(rateLimit.resetAtMs, nowMs) : undefined;
    this.#closing.close(answer.retryAfterMs, resetAtMs, nowMs);
    this.#unknownSinceMs = this.#closing.untilMs;
  }

  /** A good answer to a request sent since the budget was unknown makes it known. */
  #hearProbe(sending: Sending, { status }: Answer): void {
    if (status >= 500) return;
    this.#closing.forgive(sending.atMs);
    if (this.#unknownSinceMs !== undefined && sending.atMs >= this.#unknownSinceMs) this.#unknownSinceMs = undefined;
  }

  /** A Reset that is far away is the day's; so is a Limit that is the plan's for the day and not for the minute. */
  #windowOf({ limit, resetAtMs }: RateLimitHeaders, nowMs: number): QuotaWindow {
    const aheadMs = this.#clock.toLocal(resetAtMs, nowMs) - nowMs;
    if (aheadMs > LONGEST_MINUTE_MS) return this.day;
    if (this.#settings.plan === undefined && aheadMs <= TEACHING_MINUTE_MS) return this.minute;
    return limit === this.day.planned && limit !== this.minute.planned ? this.day : this.minute;
  }

  /** Without a plan the headers teach it; with one they never loosen it. */
  #learnPlan(spoken: QuotaWindow, { limit, resetAtMs }: RateLimitHeaders, nowMs: number): void {
    if (this.#settings.plan !== undefined || limit === 0 || limit === spoken.planned) return;
    if (spoken === this.day) return this.day.plan(limit);
    if (this.#clock.toLocal(resetAtMs, nowMs) - nowMs > TEACHING_MINUTE_MS) return;
    this.minute.plan(limit);
    this.day.plan(Object.values(PLANS).find((plan) => plan.requestsPerMinute === limit)?.requestsPerDay);
  }

  /** A Reset that has passed makes the budget unknown: what is left in the new window has to be heard. */
  #turnWindows(nowMs: number): void {
    for (const window of [this.minute, this.day]) {
      if (window.resetAtMs === undefined) continue;
      const turnMs = this.#clock.toLocal(window.resetAtMs, nowMs);
      if (nowMs < turnMs) continue;
      window.turn(turnMs);
      if (!(window === this.minute && this.#bucket.isRecognised)) this.#unknownSinceMs ??= nowMs;
    }
  }

  /** One request asks at a time; only its answer lets the next one go. */
  #lookInOutage(nowMs: number, sinceMs: number): Outlook {
    const isOut = this.#unanswered > 0 && this.#lastSentAtMs >= sinceMs;
    const at = isOut ? Number.POSITIVE_INFINITY : Math.max(nowMs, this.#outage.probeAtMs);
    return { free: at > nowMs ? 0 : 1, at, reason: 'outage' };
  }

  #lookForProbe(nowMs: number): Outlook {
    const { probeAtMs } = this.#outage;
    const isOut = this.#unanswered > 0 && this.#lastSentAtMs >= (this.#unknownSinceMs ?? 0);
    const at = Math.max(probeAtMs, isOut ? this.#lastSentAtMs + PROBE_PATIENCE_MS : nowMs);
    return { free: at > nowMs ? 0 : 1, at, reason: 'quota' };
  }

  /** What plan and headers leave, with everything that is still out counted as spent. */
  #budget(nowMs: number): Outlook {
    const out = this.#unanswered + this.#lost;
    const parts = [this.#minuteBudget(nowMs, out), this.#windowBudget(this.day, nowMs, out)];
    const free = Math.min(...parts.map((part) => part.free));
    const at = Math.max(nowMs, ...parts.filter((part) => part.free <= 0).map((part) => part.at));
    return { free, at, reason: 'quota' };
  }

  #minuteBudget(nowMs: number, out: number): Pick<Outlook, 'free' | 'at'> {
    const bucket = this.#bucket;
    if (!bucket.isRecognised) return this.#windowBudget(this.minute, nowMs, out + this.#headRoom);
    return { free: bucket.free(nowMs, this.#headRoom), at: bucket.freeAt(nowMs, this.#headRoom) };
  }

  #windowBudget(window: QuotaWindow, nowMs: number, out: number): Pick<Outlook, 'free' | 'at'> {
    const ceiling = window.count.free(nowMs);
    const told = window.remaining === undefined ? Number.POSITIVE_INFINITY : window.remaining - out;
    if (told <= 0 && window.resetAtMs !== undefined) return { free: told, at: this.#clock.toLocal(window.resetAtMs, nowMs) };
    return { free: Math.min(ceiling, told), at: ceiling <= 0 ? this.#ceilingAt(window, nowMs) : nowMs };
  }

  /** A ceiling opens with the window's turn, or as old requests leave it, whichever comes first. */
  #ceilingAt(window: QuotaWindow, nowMs: number): number {
    const rolling = window.count.freeAt(nowMs);
    return window.resetAtMs === undefined ? rolling : Math.min(rolling, this.#clock.toLocal(window.resetAtMs, nowMs));
  }

  #mostInFlight(nowMs: number): number {
    const left = this.#bucket.isRecognised
      ? this.#bucket.level(nowMs)
      : Math.min(this.minute.remaining ?? Infinity, this.day.remaining ?? Infinity);
    return Math.min(this.#settings.concurrency, Math.max(FEWEST_IN_FLIGHT, Math.floor((left - KEPT_FROM_FLIGHT) / 4)));
  }
}

function limitsOf(plan: LedgerSettings['plan']): Partial<PlanLimits> {
  return plan === undefined || plan === 'unlimited' ? {} : plan;
}

function haveSameLimits(one: Partial<PlanLimits>, other: Partial<PlanLimits>): boolean {
  return one.requestsPerMinute === other.requestsPerMinute && one.requestsPerDay === other.requestsPerDay;
}
