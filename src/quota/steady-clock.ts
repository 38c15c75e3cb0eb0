/** By so much a clock is set right while it runs; this one then stands still until the other is right again. */
const CORRECTION_MS = 1000;

/** The machine's clock, as if nobody ever set it back: a wait that has begun does not become longer by an hour. */
export class SteadyClock {
  // By how much the machine's clock is behind since it was set back.
  #behindMs = 0;
  // Only moves forward.
  #latestMs = Number.NEGATIVE_INFINITY;

  now(): number {
    const nowMs = Date.now() + this.#behindMs;
    const missingMs = this.#latestMs - nowMs;
    if (missingMs <= 0) this.#latestMs = nowMs;
    else if (missingMs > CORRECTION_MS) this.#behindMs += missingMs;
    return this.#latestMs;
  }

  /** A timer that ends at this instant did end: the instant has come, whatever the machine's clock was set to meanwhile. */
  reach(instantMs: number): void {
    const missingMs = instantMs - this.now();
    if (missingMs <= CORRECTION_MS) return;
    this.#behindMs += missingMs;
    this.#latestMs = instantMs;
  }

  /** When something began that the machine's clock noted; never later than `nowMs`. */
  begin(dateMs: number, nowMs: number): number {
    return Math.min(nowMs, dateMs + this.#behindMs);
  }

  /** An instant as the machine's clock shows it. */
  toDate(instantMs: number): Date {
    return new Date(instantMs - this.#behindMs);
  }
}
