const SHRINK = 0.75;
/** A refusal after fewer requests than this has another cause. */
const FEWEST = 5;
/** The factor by which the limit grows in a window without a refusal. */
const GROWTH = 1.1;
/** It doubles within this time at the latest: otherwise some refusals for another cause would hold a client up for a day. */
const DOUBLES_IN_MS = 1_800_000;

/**
 * A limit learned from refusals where no header reports Remaining: lower after each, and higher with the time without one. Pure: the time
 * is a parameter.
 */
export class LearnedLimit {
  readonly #lengthMs: number;
  #most = Number.POSITIVE_INFINITY;
  #atMs = Number.NEGATIVE_INFINITY;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** Requests that may be sent in a window. */
  most(nowMs: number): number {
    const sinceMs = Math.max(0, nowMs - this.#atMs);
    return this.#most * Math.max(GROWTH ** (sinceMs / this.#lengthMs), 2 ** (sinceMs / DOUBLES_IN_MS));
  }

  /** A request was refused after `sent` requests within a window's length. Refusals of requests that were sent together count once. */
  shrink(sent: number, { sentAtMs, nowMs }: { sentAtMs: number; nowMs: number }): void {
    if (sentAtMs < this.#atMs || sent < FEWEST) return;
    this.#most = SHRINK * Math.min(sent, this.most(nowMs));
    this.#atMs = nowMs;
  }
}
