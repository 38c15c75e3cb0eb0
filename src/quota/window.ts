import type { RateLimitHeaders } from '../contract/limits.ts';
import type { WindowQuota } from './quota.ts';
import { SendCount } from './send-count.ts';
import type { ServerClock } from './server-clock.ts';
import { shareOf } from './settings.ts';

/** A new Reset that is later by more than this part of a window means that the window turned. */
const WHOLE_TURN = 0.9;

/** What a window is made of. */
export interface WindowStart {
  limit: number | undefined;
  share: number;
  lengthMs: number;
  serverClock: ServerClock;
}

/** One kind of window, the minute's or the day's: what the plan allows in it and what the headers say is left. Pure: the time is a parameter. */
export class QuotaWindow {
  readonly count: SendCount;
  readonly #serverClock: ServerClock;
  readonly #lengthMs: number;
  #share: number;
  #limit: number | undefined;
  // On the server's clock; undefined until heard, and after it passed.
  #resetAtMs: number | undefined;
  // The smallest Remaining heard under this Reset: answers overtake each other.
  #remaining = Number.POSITIVE_INFINITY;
  // The newest Reset ever heard: an answer that tells an older one was overtaken.
  #newestResetMs = Number.NEGATIVE_INFINITY;

  constructor({ limit, share, lengthMs, serverClock }: WindowStart) {
    this.#serverClock = serverClock;
    this.#lengthMs = lengthMs;
    this.#share = share;
    this.#limit = limit;
    this.count = new SendCount(shareOf(limit, share), lengthMs);
  }

  /** The plan's limit; undefined where it sets none. */
  get limit(): number | undefined {
    return this.#limit;
  }

  /** Requests that the headers left at the latest count; infinite while they have not told. */
  get remaining(): number {
    return this.#remaining;
  }

  resize(limit: number | undefined): void {
    this.#limit = limit;
    this.count.resize(shareOf(limit, this.#share));
  }

  /** Takes the stricter of two limits and shares. */
  tighten(limit: number | undefined, share: number): void {
    this.#share = Math.min(share, this.#share);
    const isStricter = limit !== undefined && limit < (this.#limit ?? Number.POSITIVE_INFINITY);
    this.resize(isStricter ? limit : this.#limit);
  }

  /** How many may be sent now when `reserved` requests have to be left over. */
  free(nowMs: number, reserved: number): number {
    return Math.min(this.count.free(nowMs), this.#remaining - reserved);
  }

  /** When one may be sent. A ceiling opens with the window's turn, or as old requests leave it, whichever comes first. */
  freeAt(nowMs: number, reserved: number): number {
    const endsAtMs = this.#endsAtMs(nowMs);
    if (this.#remaining <= reserved) return endsAtMs;
    return this.count.free(nowMs) > 0 ? nowMs : Math.min(this.count.freeAt(nowMs), endsAtMs);
  }

  /** Takes what an answer says; `unanswered` requests are still out. */
  hear({ remaining, resetAtMs }: RateLimitHeaders, unanswered: number, nowMs: number): void {
    if (resetAtMs < this.#newestResetMs) return;
    if (resetAtMs === this.#resetAtMs) {
      this.#remaining = Math.min(remaining, this.#remaining);
      return;
    }
    const laterMs = resetAtMs - this.#newestResetMs;
    const turnMs = this.#serverClock.toLocal(resetAtMs, nowMs) - this.#lengthMs;
    // It turned before our clock was sure of it; never in the future, whatever a header claims.
    if (Number.isFinite(laterMs) && laterMs > WHOLE_TURN * this.#lengthMs) this.count.turn(Math.min(turnMs, nowMs), unanswered + 1);
    // What is left for a share no header tells: it has to be counted, and a sliding window has no turns.
    else if (this.#share < 1) this.count.slide();
    this.#newestResetMs = resetAtMs;
    this.#resetAtMs = resetAtMs;
    this.#remaining = remaining;
  }

  /** A request was answered, but the headers did not speak of this window: it cost one here too. */
  countUnspoken(): void {
    if (this.#remaining > 0) this.#remaining--;
  }

  /** Tells whether the Reset has passed, so that nobody knows what is left. */
  turnIfEnded(nowMs: number): boolean {
    const endsAtMs = this.#endsAtMs(nowMs);
    if (nowMs < endsAtMs) return false;
    this.#resetAtMs = undefined;
    this.#remaining = Number.POSITIVE_INFINITY;
    this.count.turn(endsAtMs, 0);
    return true;
  }

  /** What the headers told is void: the server's clock was set back. */
  forget(): void {
    this.#resetAtMs = undefined;
    this.#remaining = Number.POSITIVE_INFINITY;
    this.#newestResetMs = Number.NEGATIVE_INFINITY;
  }

  /** What is known, for people; `reserved` requests count as spent. */
  snapshot(nowMs: number, reserved: number): WindowQuota {
    const { limit } = this.count;
    const left = Math.max(0, this.free(nowMs, reserved));
    return {
      limit: Number.isFinite(limit) ? limit : undefined,
      remaining: Number.isFinite(left) ? left : undefined,
      resetAt: this.#resetAtMs === undefined ? undefined : new Date(this.#resetAtMs),
    };
  }

  #endsAtMs(nowMs: number): number {
    return this.#resetAtMs === undefined ? Number.POSITIVE_INFINITY : this.#serverClock.toLocal(this.#resetAtMs, nowMs);
  }
}
