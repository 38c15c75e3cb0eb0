/** An outage is this many failures in a row, over at least this time. */
const FAILURES = 3;
const SPAN_MS = 500;
const FIRST_PROBE_MS = 500;
/** The longest time between two probes. */
export const LONGEST_PROBE_MS = 8000;

/** Decides whether the service is down, and when to probe it again. */
export class CircuitBreaker {
  /** Since when the service is down; undefined while it is not. */
  sinceMs: number | undefined;
  /** When the next probe may go; in the past if nothing failed lately. */
  probeAtMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #firstFailureAtMs = 0;
  #delayMs = 0;

  /** Whether enough requests in a row failed for an outage, even if not yet over enough time. */
  get isSuspected(): boolean {
    return this.#failures >= FAILURES;
  }

  /** Whether a request was sent during the outage. */
  isProbe(sentAtMs: number): boolean {
    return this.sinceMs !== undefined && sentAtMs >= this.sinceMs;
  }

  /** Each failure delays the next probe, also before they count as an outage. Those of requests that were sent before it do not count again. */
  fail(sentAtMs: number, nowMs: number): void {
    const isDown = this.sinceMs !== undefined;
    if (isDown && !this.isProbe(sentAtMs)) return;
    if (this.#failures++ === 0) this.#firstFailureAtMs = nowMs;
    const isOutage = this.isSuspected && nowMs - this.#firstFailureAtMs >= SPAN_MS;
    if (isDown) this.#delayMs = Math.min(LONGEST_PROBE_MS, this.#delayMs * 2);
    else this.#delayMs = isOutage ? FIRST_PROBE_MS : Math.min(FIRST_PROBE_MS, 50 * 2 ** this.#failures);
    if (isOutage) this.sinceMs ??= nowMs;
    this.probeAtMs = Math.max(this.probeAtMs, nowMs + this.#delayMs);
  }

  /** A probe got the headers of a good answer, but not yet the body. The next one is sent only if the body takes longer than the delay. */
  hope(sentAtMs: number, nowMs: number): void {
    if (this.isProbe(sentAtMs)) this.probeAtMs = Math.max(this.probeAtMs, nowMs + this.#delayMs);
  }

  /** The service answered a request without failing, with headers at `answeredAtMs`. An answer from before the outage does not end it. */
  succeed(answeredAtMs: number): void {
    if (this.sinceMs !== undefined && answeredAtMs < this.sinceMs) return;
    this.#failures = 0;
    this.sinceMs = undefined;
    this.probeAtMs = Number.NEGATIVE_INFINITY;
  }
}
