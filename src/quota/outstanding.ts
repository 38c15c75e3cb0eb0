/** One request that was sent, until it is heard or lost. */
export interface Sending {
  readonly atMs: number;
  /** Whether the budget was known when it was sent: a 429 is then a surprise. */
  readonly wasPlanned: boolean;
  /** When the request before it was sent. */
  readonly previousAtMs: number;
  /** When the headers of its answer came. */
  heardAtMs?: number;
}

/** A probe without an answer lets the next one go after this time, so that a stalled request holds nobody up; */
const LEAST_PATIENCE_MS = 1000;
/** after more where the service usually takes long, since a second probe may be one too many. */
const PATIENCE = 2;
/** The part of a new answer in what is usual. */
const WEIGHT = 1 / 8;

/** The requests that the newest answer may not contain yet, and those that were lost on the way. Pure: the time is a parameter. */
export class Outstanding {
  #unanswered = 0;
  // They may have been counted or not. Forgotten when a later request is answered: what it tells contains them.
  #lost = 0;
  #lostAtMs = Number.NEGATIVE_INFINITY;
  #lastSentAtMs = Number.NEGATIVE_INFINITY;
  // How long answers usually take.
  #usualMs = 0;

  /** How long a probe is waited for before the next one goes. */
  get patienceMs(): number {
    return Math.max(LEAST_PATIENCE_MS, PATIENCE * this.#usualMs);
  }

  /** Requests that were neither heard nor lost. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** What has to be taken from a Remaining that was heard. */
  get uncounted(): number {
    return this.#unanswered + this.#lost;
  }

  get lastSentAtMs(): number {
    return this.#lastSentAtMs;
  }

  /** Whether a request that was sent at that instant or later has no answer yet. */
  isSince(instantMs: number): boolean {
    return this.#unanswered > 0 && this.#lastSentAtMs >= instantMs;
  }

  send(nowMs: number): void {
    this.#unanswered++;
    this.#lastSentAtMs = nowMs;
  }

  /** A request did not leave after all. */
  unsend({ atMs, previousAtMs }: Sending): void {
    this.#unanswered--;
    if (this.#lastSentAtMs === atMs) this.#lastSentAtMs = previousAtMs;
  }

  hear(sentAtMs: number, nowMs: number): void {
    this.#unanswered--;
    this.#usualMs += WEIGHT * (nowMs - sentAtMs - this.#usualMs);
    if (sentAtMs > this.#lostAtMs) this.#lost = 0;
  }

  lose(nowMs: number): void {
    this.#unanswered--;
    this.#lost++;
    this.#lostAtMs = nowMs;
  }
}
