/**
 * The backoff of a key that is refused each time its Retry-After has passed grows to ten minutes, or to a sixth of the time for which it
 * has been refused. So few requests find out that a day is used up, and a key that is open again is not left closed for much longer.
 */
const BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 600_000;
const BACKOFF_OF_REFUSED_TIME = 1 / 6;
const LONGEST_BACKOFF_OF_ALL_MS = 3_600_000;
/** If the service does not say how long: after four such waits more than a minute has passed, so the day must be used up. */
const BACKOFF_WITHOUT_RETRY_AFTER_MS = 1000;
const GROWTH_WITHOUT_RETRY_AFTER = 4;
const LONGEST_BACKOFF_WITHOUT_RETRY_AFTER_MS = 6 * 3_600_000;
/** The random addition to a wait: at most this time, and at most this part of the wait. */
const MOST_JITTER_MS = 250;
const JITTER = 0.05;

/** Until when the service closed a key, and how often in a row. */
export class Cooldown {
  untilMs = Number.NEGATIVE_INFINITY;
  readonly #random: () => number;
  #strikes = 0;
  #refusedSinceMs = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** Counts a 429 in a row: the first one, or one whose request was sent after the key was open again. */
  strike(sentAtMs: number): void {
    if (this.#strikes === 0) this.#refusedSinceMs = sentAtMs;
    if (this.#strikes === 0 || sentAtMs >= this.untilMs) this.#strikes++;
  }

  /** Whether at most one refusal has been counted in a row. */
  get isFirst(): boolean {
    return this.#strikes <= 1;
  }

  forgive(sentAtMs: number): void {
    if (sentAtMs >= this.untilMs) this.#strikes = 0;
  }

  /**
   * Closes the key for the time that the service states, at least for a backoff that grows by strikes. If the day refuses (`isOfDay`), the
   * backoff from the second strike on is the longer one of a service that states no time.
   */
  close(statedMs: number | undefined, nowMs: number, isOfDay = false): void {
    const refusedAgain = Math.max(0, this.#strikes - 1);
    const longestMs = Math.max(LONGEST_BACKOFF_MS, (nowMs - this.#refusedSinceMs) * BACKOFF_OF_REFUSED_TIME);
    const backoffMs =
      statedMs === undefined || (isOfDay && refusedAgain > 0)
        ? Math.min(LONGEST_BACKOFF_WITHOUT_RETRY_AFTER_MS, BACKOFF_WITHOUT_RETRY_AFTER_MS * GROWTH_WITHOUT_RETRY_AFTER ** refusedAgain)
        : Math.min(longestMs, LONGEST_BACKOFF_OF_ALL_MS, BACKOFF_MS * 2 ** refusedAgain);
    const waitMs = Math.max(statedMs ?? 0, backoffMs);
    const jitterMs = this.#random() * Math.min(MOST_JITTER_MS, JITTER * waitMs);
    this.closeUntil(nowMs + waitMs + jitterMs);
  }

  /** Two 429s may arrive in either order, and the later reopening counts. */
  closeUntil(instantMs: number): void {
    this.untilMs = Math.max(this.untilMs, instantMs);
  }
}
