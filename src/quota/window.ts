import type { RateLimitHeaders } from '../contract/limits.ts';
import { SendCount } from './send-count.ts';

/** One kind of window, the minute's or the day's: what the plan allows in it and what the headers say is left. */
export class QuotaWindow {
  readonly count: SendCount;
  #share: number;
  readonly #lengthMs: number;
  /** The plan's limit; undefined where it sets none. */
  planned: number | undefined;
  /** On the server's clock; undefined until heard, and after it passed. */
  resetAtMs: number | undefined;
  // The smallest Remaining heard under this Reset: answers overtake each other.
  #remaining: number | undefined;
  // The newest Reset ever heard: an answer that tells an older one was overtaken.
  #newestResetMs = Number.NEGATIVE_INFINITY;

  constructor(planned: number | undefined, lengthMs: number, share: number) {
    this.#share = share;
    this.#lengthMs = lengthMs;
    this.planned = planned;
    this.count = new SendCount(shareOf(planned, share), lengthMs);
  }

  get remaining(): number | undefined {
    return this.#remaining;
  }

  plan(limit: number | undefined): void {
    this.planned = limit;
    this.count.resize(shareOf(limit, this.#share));
  }

  /** Takes the stricter of two limits and shares. */
  tighten(planned: number | undefined, share: number): void {
    this.#share = Math.min(share, this.#share);
    const stricter = Math.min(planned ?? Number.POSITIVE_INFINITY, this.planned ?? Number.POSITIVE_INFINITY);
    this.plan(Number.isFinite(stricter) ? stricter : undefined);
  }

  /** Takes what an answer says; `unanswered` requests are still out, `endsAtMs` is its Reset on our clock. */
  hear({ remaining, resetAtMs }: RateLimitHeaders, unanswered: number, endsAtMs: number): void {
    if (resetAtMs < this.#newestResetMs) return;
    if (resetAtMs === this.resetAtMs) {
      this.#remaining = Math.min(remaining, this.#remaining ?? remaining);
      return;
    }
    // A jump of a whole window: it turned before our clock was sure of it.
    if (Number.isFinite(this.#newestResetMs) && resetAtMs - this.#newestResetMs > 0.9 * this.#lengthMs)
      this.count.turn(endsAtMs - this.#lengthMs, unanswered + 1);
    this.#newestResetMs = resetAtMs;
    this.resetAtMs = resetAtMs;
    this.#remaining = remaining;
  }

  /** A request was answered, but the headers did not speak of this window: it cost one here too. */
  countUnspoken(): void {
    if (this.#remaining !== undefined && this.#remaining > 0) this.#remaining--;
  }

  /** What is known of this window, with `out` requests counted as spent that no answer has told of yet. */
  snapshot(nowMs: number, out: number): { limit: number | undefined; remaining: number | undefined; resetAt: Date | undefined } {
    const told = this.#remaining === undefined ? Number.POSITIVE_INFINITY : this.#remaining - out;
    const left = Math.max(0, Math.min(told, this.count.free(nowMs)));
    return {
      limit: Number.isFinite(this.count.limit) ? this.count.limit : undefined,
      remaining: Number.isFinite(left) ? left : undefined,
      resetAt: this.resetAtMs === undefined ? undefined : new Date(this.resetAtMs),
    };
  }

  /** The Reset has passed. */
  turn(turnMs: number): void {
    this.resetAtMs = undefined;
    this.#remaining = undefined;
    this.count.turn(turnMs, 0);
  }
}

function shareOf(limit: number | undefined, share: number): number {
  return limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(limit * share));
}
