/** How far two clocks may drift apart, as a part of the time that passed. */
const DRIFT = 1e-4;
/** The server reads its clock a little after ours says that an instant has come. */
const MARGIN_MS = 10;
/** `Date` is cut to whole seconds. */
const DATE_PRECISION_MS = 1000;
/** Servers behind one address may differ by less. */
const SET_BACK_MS = 60_000;

/** The server's clock as its answers show it: a lower bound that no answer can have overtaken, so that nothing is sent too early. */
export class ServerClock {
  // Server time minus our time is at least this, as seen at `#seenAtMs`.
  #aheadMs: number | undefined;
  #seenAtMs = 0;
  // What is presumed while no `Date` was seen.
  #presumedMs = 0;

  /** Takes the `Date` of an answer whose request left at `sentAtMs`. Tells whether the clock was set back, so that what it told before is void. */
  observe(dateMs: number, sentAtMs: number, nowMs: number): boolean {
    const atLeast = dateMs - nowMs;
    const atMost = dateMs + DATE_PRECISION_MS - sentAtMs;
    const known = this.#bound(nowMs);
    // Below what was known, but possible: an answer that took long says less. Impossible: the clock was set back.
    if (known !== undefined && atLeast < known && atMost >= known) return false;
    this.#aheadMs = atLeast;
    this.#seenAtMs = nowMs;
    return (known ?? this.#presumedMs) - atMost > SET_BACK_MS;
  }

  /** An answer had no `Date`; its instants were read as if the server's clock were ahead by this. */
  presume(aheadMs: number): void {
    this.#presumedMs = aheadMs;
  }

  /** When our clock shows that the server's has surely reached an instant. */
  toLocal(serverMs: number, nowMs: number): number {
    return serverMs - (this.#bound(nowMs) ?? this.#presumedMs) + MARGIN_MS;
  }

  #bound(nowMs: number): number | undefined {
    return this.#aheadMs === undefined ? undefined : this.#aheadMs - DRIFT * Math.max(0, nowMs - this.#seenAtMs);
  }
}
