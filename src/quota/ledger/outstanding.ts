/** One request that was sent, until it is answered or lost. */
export interface Sending {
  readonly atMs: number;
  /** Whether the remaining quota was known when it was sent: a 429 is then unforeseen. */
  readonly wasQuotaKnown: boolean;
  /** When the request before it was sent. */
  readonly previousAtMs: number;
  /** How many requests had been settled by then: their answers cannot include this one. */
  readonly settledBefore: number;
  /** When the headers of its answer came. */
  answeredAtMs?: number;
  /** It failed, and no longer counts for the day: it was not sent, or was a probe in an outage. */
  isUncounted?: boolean;
}

/** A probe is given at least this time, or twice the usual time of an answer, before the next one is sent. */
const LEAST_PATIENCE_MS = 1000;
const PATIENCE = 2;
/** How often that time doubles at most: once for each further probe that has no answer. */
const MOST_DOUBLINGS = 3;
/** The weight of a new answer in the average. */
const WEIGHT = 1 / 8;

/** Counts the requests in flight, and averages how long answers take. */
export class Outstanding {
  /** How long answers usually take. */
  usualMs = 0;
  /** Requests answered or lost so far. */
  settled = 0;
  lastSentAtMs = Number.NEGATIVE_INFINITY;
  #sent = 0;
  // At how many instants something was sent since the latest answer.
  #unansweredInstants = 0;

  /** How long to wait for a probe's answer before the next probe is sent, so that a stalled request does not block other calls. */
  get patienceMs(): number {
    const doublings = Math.min(MOST_DOUBLINGS, Math.max(0, this.#unansweredInstants - 1));
    return Math.max(LEAST_PATIENCE_MS, PATIENCE * this.usualMs) * 2 ** doublings;
  }

  /** Requests that were neither answered nor lost. */
  get unanswered(): number {
    return this.#sent - this.settled;
  }

  /** Whether a request that was sent at that instant or later has no answer yet. */
  isSince(instantMs: number): boolean {
    return this.unanswered > 0 && this.lastSentAtMs >= instantMs;
  }

  /** Requests that the answer to this one may or may not include: those in flight together with it, and those sent since. */
  concurrentWith({ settledBefore }: Sending): number {
    return this.#sent - settledBefore - 1;
  }

  send(nowMs: number, wasQuotaKnown: boolean): Sending {
    const sending = { atMs: nowMs, wasQuotaKnown, previousAtMs: this.lastSentAtMs, settledBefore: this.settled };
    this.#sent++;
    if (nowMs !== this.lastSentAtMs) this.#unansweredInstants++;
    this.lastSentAtMs = nowMs;
    return sending;
  }

  /** A request was not sent after all. */
  unsend({ atMs, previousAtMs }: Sending): void {
    this.#sent--;
    if (this.lastSentAtMs !== atMs || previousAtMs === atMs) return;
    this.lastSentAtMs = previousAtMs;
    this.#unansweredInstants = Math.max(0, this.#unansweredInstants - 1);
  }

  observe(sentAtMs: number, nowMs: number): void {
    this.settled++;
    this.#unansweredInstants = 0;
    const weight = this.usualMs === 0 ? 1 : WEIGHT;
    this.usualMs += weight * (nowMs - sentAtMs - this.usualMs);
  }

  lose(): void {
    this.settled++;
  }
}
