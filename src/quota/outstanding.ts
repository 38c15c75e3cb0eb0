/** One request that was sent, until it is heard or lost. */
export interface Sending {
  readonly atMs: number;
  /** Whether the budget was known when it was sent: a 429 is then a surprise. */
  readonly wasPlanned: boolean;
}

/** The requests that the newest answer may not contain yet, and those that were lost on the way. Pure: the time is a parameter. */
export class Outstanding {
  #unanswered = 0;
  // They may have been counted or not. Forgotten when a later request is answered: what it tells contains them.
  #lost = 0;
  #lostAtMs = Number.NEGATIVE_INFINITY;
  #lastSentAtMs = Number.NEGATIVE_INFINITY;

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

  /** The latest request did not leave after all. */
  unsend(): void {
    this.#unanswered--;
    this.#lastSentAtMs = Number.NEGATIVE_INFINITY;
  }

  hear(sentAtMs: number): void {
    this.#unanswered--;
    if (sentAtMs > this.#lostAtMs) this.#lost = 0;
  }

  lose(nowMs: number): void {
    this.#unanswered--;
    this.#lost++;
    this.#lostAtMs = nowMs;
  }
}
