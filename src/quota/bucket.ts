import type { Answer } from '../contract/limits.ts';
import type { SendCount } from './send-count.ts';

/** Answers that must fit before a limit is taken for a bucket. */
const EVIDENCE = 3;
/** `Date` and Reset are whole seconds, each. */
const PRECISION_MS = 2000;
const MINUTE_MS = 60_000;
/** Kept back, since Remaining is cut to a whole number. */
const RESERVE = 1;

/** What an answer is read against. */
export interface BucketContext {
  /** Requests that are still out. */
  unanswered: number;
  /** Counts what the plan allows. */
  ceiling: SendCount;
  nowMs: number;
}

/**
 * A token bucket shows itself by its Reset, the instant at which it is full again: (1 - Remaining / Limit) x 60 s ahead, and later with
 * every request. Once recognised, its level is kept between answers. Pure: the time is a parameter.
 */
export class Bucket {
  #evidence = 0;
  #resetAtMs: number | undefined;
  #level = 0;
  #levelAtMs: number | undefined;
  // Its size, and what it gains in a minute.
  #limit = 1;

  get isRecognised(): boolean {
    return this.#evidence >= EVIDENCE;
  }

  /** Learns from an answer whose headers speak of the minute. */
  hear({ rateLimit, dateMs }: Answer, { unanswered, ceiling, nowMs }: BucketContext): void {
    if (!rateLimit || dateMs === undefined || rateLimit.limit === 0) return;
    this.#weigh(rateLimit, dateMs);
    this.#limit = Math.min(rateLimit.limit, ceiling.limit);
    const heard = Math.min(rateLimit.remaining - unanswered, ceiling.tokens(nowMs));
    if (this.isRecognised) this.#correct(heard, unanswered, nowMs);
  }

  #weigh({ limit, remaining, resetAtMs }: NonNullable<Answer['rateLimit']>, dateMs: number): void {
    const before = this.#resetAtMs;
    this.#resetAtMs = Math.max(resetAtMs, before ?? 0);
    if (before !== undefined && resetAtMs < before) return;
    const fullInMs = (1 - remaining / limit) * MINUTE_MS;
    if (Math.abs(resetAtMs - dateMs - fullInMs) > PRECISION_MS) this.#evidence = 0;
    else if (before !== undefined && resetAtMs > before && dateMs < before) this.#evidence++;
  }

  #correct(heard: number, unanswered: number, nowMs: number): void {
    const kept = this.level(nowMs);
    const isNew = this.#levelAtMs === undefined;
    // Answers that overtake each other make `heard` too low while others are out; too high they never make it.
    if (isNew || heard < kept - 1 || (unanswered === 0 && heard > kept + 1)) this.#level = heard;
    else this.#level = kept;
    this.#levelAtMs = nowMs;
  }

  take(nowMs: number): void {
    this.#level = this.level(nowMs) - 1;
    this.#levelAtMs = nowMs;
  }

  giveBack(nowMs: number): void {
    this.#level = this.level(nowMs) + 1;
    this.#levelAtMs = nowMs;
  }

  /** The bucket was found empty; it may owe more than that. */
  drain(nowMs: number): void {
    this.#level = Math.min(0, this.level(nowMs));
    this.#levelAtMs = nowMs;
  }

  level(nowMs: number): number {
    return Math.min(this.#limit, this.#level + Math.max(0, nowMs - (this.#levelAtMs ?? nowMs)) * this.#perMs);
  }

  /** How many may be sent now when `headRoom` more are left to others. */
  free(nowMs: number, headRoom: number): number {
    return Math.floor(this.level(nowMs) - this.#kept(headRoom));
  }

  /** When one may be sent; in whole milliseconds from now, so that no fraction of one is waited for in vain. */
  freeAt(nowMs: number, headRoom: number): number {
    return nowMs + Math.ceil(Math.max(0, 1 + this.#kept(headRoom) - this.level(nowMs)) / this.#perMs);
  }

  /** A full bucket always has one to give. */
  #kept(headRoom: number): number {
    return Math.min(RESERVE + headRoom, this.#limit - 1);
  }

  get #perMs(): number {
    return this.#limit / MINUTE_MS;
  }
}
