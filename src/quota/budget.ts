import type { Answer, RateLimitHeaders } from '../contract/limits.ts';
import { PLANS } from '../contract/plans.ts';
import { Bucket } from './bucket.ts';
import { HeadRoom } from './head-room.ts';
import type { Quota } from './quota.ts';
import type { ServerClock } from './server-clock.ts';
import { limitsOf, type QuotaSettings } from './settings.ts';
import { isBeyondWindows, mayTeachMinute, spokenWindow } from './spoken-window.ts';
import { QuotaWindow } from './window.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** With little quota left few requests may be out: each could meet a surprise. */
const FEWEST_IN_FLIGHT = 8;
const KEPT_FROM_FLIGHT = 32;

/** What plan and headers leave of one key's quota, in the minute and in the day. Pure: the time is a parameter. */
export class Budget {
  readonly #serverClock: ServerClock;
  readonly #minute: QuotaWindow;
  readonly #day: QuotaWindow;
  readonly #bucket = new Bucket();
  readonly #headRoom = new HeadRoom();
  // Without a plan the headers teach it.
  #isPlanGiven: boolean;

  constructor({ plan, share }: QuotaSettings, serverClock: ServerClock) {
    const { requestsPerMinute, requestsPerDay } = limitsOf(plan ?? PLANS.free);
    this.#serverClock = serverClock;
    this.#minute = new QuotaWindow({ limit: requestsPerMinute, share, lengthMs: MINUTE_MS, serverClock });
    this.#day = new QuotaWindow({ limit: requestsPerDay, share, lengthMs: DAY_MS, serverClock });
    this.#isPlanGiven = plan !== undefined;
  }

  /** Takes the stricter of two plans and shares. */
  tighten({ plan, share }: QuotaSettings): void {
    const { requestsPerMinute, requestsPerDay } = limitsOf(plan);
    if (!this.#isPlanGiven && plan !== undefined) {
      this.#minute.resize(requestsPerMinute);
      this.#day.resize(requestsPerDay);
      this.#isPlanGiven = true;
    }
    this.#minute.tighten(requestsPerMinute, share);
    this.#day.tighten(requestsPerDay, share);
  }

  /** What the plan alone still allows now: the second count, which no header can raise. */
  ceiling(nowMs: number): number {
    const { count } = this.#minute;
    const ofMinute = this.#bucket.isRecognised ? Math.floor(count.tokens(nowMs)) : count.free(nowMs);
    return Math.min(ofMinute, this.#day.count.free(nowMs));
  }

  /** How many may be sent now, with `uncounted` requests spent that no answer has told of yet. */
  free(nowMs: number, uncounted: number): number {
    return Math.min(this.#freeInMinute(nowMs, uncounted), this.#day.free(nowMs, uncounted));
  }

  /** When one may be sent; `nowMs` where it may go now. */
  freeAt(nowMs: number, uncounted: number): number {
    const headRoom = this.#headRoom.within(this.#minute.count.limit);
    const inMinute = this.#bucket.isRecognised
      ? Math.max(this.#bucket.freeAt(nowMs, headRoom), this.#minute.count.tokenAt(nowMs))
      : this.#minute.freeAt(nowMs, uncounted + headRoom);
    return Math.max(nowMs, inMinute, this.#day.freeAt(nowMs, uncounted));
  }

  #freeInMinute(nowMs: number, uncounted: number): number {
    const headRoom = this.#headRoom.within(this.#minute.count.limit);
    if (!this.#bucket.isRecognised) return this.#minute.free(nowMs, uncounted + headRoom);
    return Math.min(this.#bucket.free(nowMs, headRoom), Math.floor(this.#minute.count.tokens(nowMs)));
  }

  /** How many requests may be in flight: fewer when little is left. */
  mostInFlight(nowMs: number, concurrency: number): number {
    const left = this.#bucket.isRecognised ? this.#bucket.level(nowMs) : Math.min(this.#minute.remaining, this.#day.remaining);
    return Math.min(concurrency, Math.max(FEWEST_IN_FLIGHT, Math.floor((left - KEPT_FROM_FLIGHT) / 4)));
  }

  send(nowMs: number): void {
    this.#minute.count.add(nowMs);
    this.#day.count.add(nowMs);
    if (this.#bucket.isRecognised) this.#bucket.take(nowMs);
  }

  unsend(nowMs: number): void {
    this.#minute.count.remove(nowMs);
    this.#day.count.remove(nowMs);
    if (this.#bucket.isRecognised) this.#bucket.giveBack(nowMs);
  }

  /** Tells whether a Reset has passed, so that what is left in the new window has to be heard. A bucket has no windows. */
  turn(nowMs: number): boolean {
    const minuteTurned = this.#minute.turnIfEnded(nowMs);
    const dayTurned = this.#day.turnIfEnded(nowMs);
    return (minuteTurned && !this.#bucket.isRecognised) || dayTurned;
  }

  /** What the headers told is void: the server's clock was set back. */
  forget(): void {
    this.#minute.forget();
    this.#day.forget();
  }

  /** Learns from the headers of an answer; `unanswered` requests are still out. */
  hear(answer: Answer, unanswered: number, nowMs: number): void {
    if (answer.status !== 429) this.#headRoom.narrow(this.#bucket.isRecognised);
    const { rateLimit } = answer;
    const spoken = rateLimit && this.#windowOf(rateLimit, nowMs);
    if (spoken !== this.#minute) this.#minute.countUnspoken();
    if (spoken !== this.#day) this.#day.countUnspoken();
    if (!spoken || !rateLimit) return;
    if (!this.#isPlanGiven) this.#learnPlan(spoken, rateLimit, nowMs);
    spoken.hear(rateLimit, unanswered, nowMs);
    if (spoken === this.#minute) this.#bucket.hear(answer, { unanswered, ceiling: this.#minute.count, nowMs });
  }

  /** A 429 came. Where it was a surprise, others use the key too. */
  hearRefusal(wasPlanned: boolean, nowMs: number): void {
    if (wasPlanned) this.#headRoom.widen(this.#minute.count.limit);
    if (this.#bucket.isRecognised) this.#bucket.drain(nowMs);
  }

  /** When the window that the headers speak of ends, by our clock; undefined where they claim what no window can be. */
  believedEndMs({ resetAtMs }: RateLimitHeaders, nowMs: number): number | undefined {
    const endsAtMs = this.#serverClock.toLocal(resetAtMs, nowMs);
    return isBeyondWindows(endsAtMs - nowMs) ? undefined : endsAtMs;
  }

  /** What is known of both windows, for people. */
  snapshot(nowMs: number, uncounted: number): Pick<Quota, 'minute' | 'day'> {
    return { minute: this.#minute.snapshot(nowMs, uncounted), day: this.#day.snapshot(nowMs, uncounted) };
  }

  #windowOf({ limit, resetAtMs }: RateLimitHeaders, nowMs: number): QuotaWindow | undefined {
    const known = { minute: this.#minute.limit, day: this.#day.limit, isPlanGiven: this.#isPlanGiven };
    const spoken = spokenWindow(limit, this.#serverClock.toLocal(resetAtMs, nowMs) - nowMs, known);
    if (spoken === undefined) return undefined;
    return spoken === 'day' ? this.#day : this.#minute;
  }

  /** A minute's limit tells the plan, and with it the day's. */
  #learnPlan(spoken: QuotaWindow, { limit, resetAtMs }: RateLimitHeaders, nowMs: number): void {
    if (limit === 0 || limit === spoken.limit) return;
    if (spoken === this.#day) return this.#day.resize(limit);
    if (!mayTeachMinute(this.#serverClock.toLocal(resetAtMs, nowMs) - nowMs)) return;
    this.#minute.resize(limit);
    this.#day.resize(Object.values(PLANS).find((plan) => plan.requestsPerMinute === limit)?.requestsPerDay);
  }
}
