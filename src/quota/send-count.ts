const SLOTS = 60;
/** A window's Reset may be told a little early or late; turns closer together than this part of a window are not believed. */
const EARLIEST_TURN = 0.9;

/**
 * Counts what was sent in one kind of window (a minute, a day) and allows no more than its limit: the ceiling that stands
 * whatever headers claim. Pure: the time is a parameter.
 */
export class SendCount {
  #limit: number;
  readonly #lengthMs: number;
  readonly #slotMs: number;
  // The requests of the last window and a slot, by slot: right for every way of counting.
  readonly #slots = new Uint32Array(SLOTS + 1);
  #slot = 0;
  #rolling = 0;
  // The requests since the window last turned: right, and more than the rolling count allows, for windows that turn as a whole.
  #sinceTurn = 0;
  #turnedAtMs = Number.NEGATIVE_INFINITY;
  // What a bucket of this size that refills all the time would still hold.
  #tokens: number;
  #tokensAtMs: number | undefined;

  constructor(limit: number, lengthMs: number) {
    this.#limit = limit;
    this.#lengthMs = lengthMs;
    this.#slotMs = lengthMs / SLOTS;
    this.#tokens = limit;
  }

  get limit(): number {
    return this.#limit;
  }

  /** The plan turned out to be another one. */
  resize(limit: number): void {
    const more = limit - this.#limit;
    this.#tokens = Number.isFinite(more) ? this.#tokens + more : limit;
    this.#limit = limit;
  }

  add(nowMs: number): void {
    this.#advance(nowMs);
    const slot = this.#slot % (SLOTS + 1);
    this.#slots[slot] = (this.#slots[slot] ?? 0) + 1;
    this.#rolling++;
    this.#sinceTurn++;
    this.#tokens = this.tokens(nowMs) - 1;
    this.#tokensAtMs = nowMs;
  }

  /** A request that did not leave after all. */
  remove(nowMs: number): void {
    this.#advance(nowMs);
    const slot = this.#slot % (SLOTS + 1);
    const count = this.#slots[slot] ?? 0;
    this.#tokens = Math.min(this.#limit, this.#tokens + 1);
    if (this.#sinceTurn > 0) this.#sinceTurn--;
    if (count === 0) return;
    this.#slots[slot] = count - 1;
    this.#rolling--;
  }

  /** How many more may be sent now. */
  free(nowMs: number): number {
    if (this.#limit === Number.POSITIVE_INFINITY) return this.#limit;
    this.#advance(nowMs);
    return this.#limit - Math.min(this.#rolling, this.#sinceTurn);
  }

  /** When the oldest requests leave the rolling count; `nowMs` where there are none. */
  freeAt(nowMs: number): number {
    this.#advance(nowMs);
    for (let slot = this.#slot - SLOTS; slot <= this.#slot; slot++) {
      if (this.#at(slot) > 0) return (slot + SLOTS + 1) * this.#slotMs;
    }
    return nowMs;
  }

  /** What a bucket would hold now. */
  tokens(nowMs: number): number {
    // No time at an infinite rate is NaN tokens.
    if (this.#limit === Number.POSITIVE_INFINITY) return this.#limit;
    const sinceMs = Math.max(0, nowMs - (this.#tokensAtMs ?? nowMs));
    return Math.min(this.#limit, this.#tokens + (sinceMs * this.#limit) / this.#lengthMs);
  }

  /** When a bucket would hold a whole token; `nowMs` where it does. */
  tokenAt(nowMs: number): number {
    return nowMs + Math.ceil((Math.max(0, 1 - this.tokens(nowMs)) * this.#lengthMs) / this.#limit);
  }

  /** The window turned at `turnMs`, with `already` requests that may belong to the new one. Turns that come too soon are not believed. */
  turn(turnMs: number, already: number): void {
    if (turnMs - this.#turnedAtMs < EARLIEST_TURN * this.#lengthMs) return;
    this.#turnedAtMs = turnMs;
    this.#sinceTurn = Math.max(already, this.#sentSince(turnMs));
  }

  /** The window did not turn after all, it slides: only the rolling count is right. */
  slide(): void {
    this.#sinceTurn = this.#rolling;
  }

  /** What was surely sent since then: slots that begin later. */
  #sentSince(instantMs: number): number {
    let sent = 0;
    for (let slot = Math.max(Math.ceil(instantMs / this.#slotMs), this.#slot - SLOTS); slot <= this.#slot; slot++) sent += this.#at(slot);
    return sent;
  }

  #at(slot: number): number {
    return slot < 0 ? 0 : (this.#slots[slot % (SLOTS + 1)] ?? 0);
  }

  #advance(nowMs: number): void {
    const slot = Math.floor(nowMs / this.#slotMs);
    if (slot <= this.#slot) return;
    const first = Math.max(this.#slot + 1, slot - SLOTS);
    for (let passed = first; passed <= slot; passed++) {
      const index = passed % (SLOTS + 1);
      this.#rolling -= this.#slots[index] ?? 0;
      this.#slots[index] = 0;
    }
    this.#slot = slot;
  }
}
