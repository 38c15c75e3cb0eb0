/** How far two clocks may drift apart, as a part of the time that has passed. */
const DRIFT = 1e-4;
/** `Date` and Reset are cut to whole seconds. */
const PRECISION_MS = 1000;
/** A clock that shows less by more than this was set back; the clocks of servers behind one address differ by less. */
const SET_BACK_MS = 60_000;

/** When a request was sent, and when its answer came, on our clock. */
interface Exchange {
  sentAtMs: number;
  nowMs: number;
}

/**
 * The server's clock as its answers show it: an interval for how far it is ahead of ours. Every answer narrows the interval, time widens
 * it, and an answer that contradicts it starts a new one. Pure: the time is a parameter.
 */
export class ServerClock {
  #leastAheadMs = Number.NEGATIVE_INFINITY;
  #mostAheadMs = Number.POSITIVE_INFINITY;
  #seenAtMs = 0;
  // How far the machine's clock is ahead of the monotonic one; undefined if the server's clock may not show the same.
  #presumedMs: number | undefined;
  #hasDate = false;

  /** The server's time is at least this. */
  atLeast(nowMs: number): number {
    return nowMs + this.#leastAheadMs - this.#driftMs(nowMs);
  }

  /** The server's time is at most this. */
  atMost(nowMs: number): number {
    return nowMs + this.#mostAheadMs + this.#driftMs(nowMs);
  }

  /** The server's time, only good enough for deciding when to ask: the machine's time as long as no answer contradicts it. */
  presumed(nowMs: number): number {
    const presumedMs = this.#presumedMs;
    if (this.#hasDate || presumedMs === undefined || presumedMs > this.#mostAheadMs) return this.atLeast(nowMs);
    return Math.max(this.atLeast(nowMs), nowMs + presumedMs);
  }

  /** Sets the machine's time when an answer without `Date` came; undefined after a refusal, when it can no longer be presumed. */
  presume(wallMs: number | undefined, nowMs: number): void {
    this.#presumedMs = wallMs === undefined ? undefined : wallMs - nowMs;
  }

  /** An answer was made at the server's time `dateMs`, cut to a second. Returns whether the clock was set back. */
  observeDate(dateMs: number, exchange: Exchange): boolean {
    this.#hasDate = true;
    return this.#narrow({ earliestMs: dateMs, latestMs: dateMs + PRECISION_MS }, exchange);
  }

  /** An answer without `Date` was made within the window of `lengthMs` that ends at `resetAtMs`. Returns whether the clock was set back. */
  observeReset(resetAtMs: number, lengthMs: number, exchange: Exchange): boolean {
    return this.#narrow({ earliestMs: resetAtMs - lengthMs - PRECISION_MS, latestMs: resetAtMs + PRECISION_MS }, exchange);
  }

  #driftMs(nowMs: number): number {
    return DRIFT * Math.max(0, nowMs - this.#seenAtMs);
  }

  #narrow({ earliestMs, latestMs }: { earliestMs: number; latestMs: number }, { sentAtMs, nowMs }: Exchange): boolean {
    const [least, most] = [earliestMs - nowMs, latestMs - sentAtMs];
    const driftMs = this.#driftMs(nowMs);
    const [knownLeast, knownMost] = [this.#leastAheadMs - driftMs, this.#mostAheadMs + driftMs];
    const isContradicted = least > knownMost || most < knownLeast;
    this.#leastAheadMs = isContradicted ? least : Math.max(least, knownLeast);
    this.#mostAheadMs = isContradicted ? most : Math.min(most, knownMost);
    this.#seenAtMs = nowMs;
    return knownLeast - most > SET_BACK_MS;
  }
}
