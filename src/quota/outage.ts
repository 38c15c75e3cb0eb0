/** So many failures in a row, over so long, are an outage. */
const FAILURES = 3;
const SPAN_MS = 500;
const FIRST_PROBE_MS = 500;
const LONGEST_PROBE_MS = 8000;

/** Whether the service is down, and when to ask it again. Pure: the time is a parameter. */
export class Outage {
  #failures = 0;
  #firstFailureAtMs = 0;
  #sinceMs: number | undefined;
  #delayMs = 0;
  #probeAtMs = 0;

  /** Since when the service is down; undefined while it is not. */
  get sinceMs(): number | undefined {
    return this.#sinceMs;
  }

  /** When the next probe may go; in the past where nothing failed lately. */
  get probeAtMs(): number {
    return this.#probeAtMs;
  }

  fail(sentAtMs: number, nowMs: number): void {
    if (this.#sinceMs !== undefined) this.#failAgain(sentAtMs, this.#sinceMs, nowMs);
    else this.#failFirst(nowMs);
  }

  #failFirst(nowMs: number): void {
    if (this.#failures === 0) this.#firstFailureAtMs = nowMs;
    this.#failures++;
    if (this.#failures < FAILURES || nowMs - this.#firstFailureAtMs < SPAN_MS) {
      this.#slowDown(nowMs);
      return;
    }
    this.#sinceMs = nowMs;
    this.#delayMs = FIRST_PROBE_MS;
    this.#probeAtMs = nowMs + this.#delayMs;
  }

  succeed(): void {
    this.#failures = 0;
    this.#sinceMs = undefined;
    this.#probeAtMs = 0;
  }

  /** Requests that had left before the outage was seen say nothing new. */
  #failAgain(sentAtMs: number, sinceMs: number, nowMs: number): void {
    if (sentAtMs < sinceMs) return;
    this.#delayMs = Math.min(LONGEST_PROBE_MS, this.#delayMs * 2);
    this.#probeAtMs = nowMs + this.#delayMs;
  }

  /** Before it is an outage, failed probes already leave a little time between them. */
  #slowDown(nowMs: number): void {
    this.#probeAtMs = Math.max(this.#probeAtMs, nowMs + Math.min(SPAN_MS, 50 * 2 ** Math.min(this.#failures, 4)));
  }
}
