/** The usual pace is an average over this time. */
const USUAL_OVER_MS = 20_000;
/** Longer gaps between answers do not count towards that average. */
const LONGEST_SILENCE_MS = 5_000;
/** A burst counts for about this time. */
const BURST_OVER_MS = 500;
/** From this pace on, in requests per millisecond, others count as active. */
const ACTIVE_PER_MS = 5e-5;

/** How fast other users of the key send, in requests per millisecond, as answers show it. `sinceMs` is the time since the previous answer. */
export class OthersPace {
  usualPerMs = 0;
  #burstPerMs = 0;

  /** Whether they send, by the latest answers. */
  get isActive(): boolean {
    return this.usualPerMs >= ACTIVE_PER_MS;
  }

  /** Their pace in the last half second or so. */
  latelyPerMs(sinceMs: number): number {
    return this.#burstPerMs * Math.exp(-sinceMs / BURST_OVER_MS);
  }

  /** How long after the last answer that is at most `perMs`. */
  calmAfterMs(perMs: number): number {
    return BURST_OVER_MS * Math.log(this.#burstPerMs / perMs);
  }

  /** An answer shows that they sent this many requests since the last one; at most `mostAtOnce` of them count as a burst. */
  observe(requests: number, mostAtOnce: number, sinceMs: number): void {
    this.#burstPerMs = this.latelyPerMs(sinceMs) + Math.min(mostAtOnce, requests) / BURST_OVER_MS;
    const fading = Math.exp(-Math.min(LONGEST_SILENCE_MS, sinceMs) / USUAL_OVER_MS);
    this.usualPerMs = this.usualPerMs * fading + requests / USUAL_OVER_MS;
  }

  /** The last answer is too old to show a burst. */
  forgetBurst(): void {
    this.#burstPerMs = 0;
  }
}
