import { Candidate, type Fit, HALF_A_REQUEST, PRECISION_MS, type Seen, type SeenReset } from './candidate.ts';

/** At least so many requests of others must leave a weighted counter, over at least this time, to show how many there were. */
const FEWEST_LEAVING = 2;
const LEAST_LEAVING_MS = 1_000;

/** Counts the requests of a window set by the clock, and of the window before it the part that a sliding window would still hold. */
export class SlidingCounter extends Candidate {
  #before = 0;
  #sent: number;
  // The most requests of others in this window, and when they were most, with nothing in flight; set anew once some have left.
  #mostOthers: { others: number; atMs: number } | undefined;
  #endsAtMs = Number.POSITIVE_INFINITY;

  constructor(limit: number, lengthMs: number, sent = 0) {
    super(limit, lengthMs);
    this.#sent = sent;
  }

  get prior(): number {
    return 0.41;
  }

  room(nowMs: number): number {
    this.#roll(nowMs);
    return this.limit - this.#sent - this.#before * this.#weight(nowMs);
  }

  roomAt(count: number, nowMs: number): number {
    if (this.room(nowMs) >= count) return nowMs;
    const left = this.limit - count;
    if (this.#before > 0 && this.#sent <= left) return this.#endsAtMs - ((left - this.#sent) / this.#before) * this.lengthMs;
    return this.#endsAtMs + Math.max(0, 1 - left / Math.max(1, this.#sent)) * this.lengthMs;
  }

  add(nowMs: number): void {
    this.#roll(nowMs);
    this.#sent++;
  }

  remove(): void {
    this.#sent = Math.max(0, this.#sent - 1);
  }

  /** Less the failed requests that the service has not counted: they would weigh on the next window. */
  override get beyondPlan(): number {
    return super.beyondPlan + Math.min(0, this.offset ?? 0);
  }

  override margin(): number {
    return (this.#before * PRECISION_MS) / this.lengthMs;
  }

  override growth(ms: number): number {
    return this.#before === 0 ? 0 : HALF_A_REQUEST + (this.#before * ms) / this.lengthMs;
  }

  override turn(atMs: number): void {
    this.#roll(atMs);
  }

  /** It turns with the clock. */
  override misfitOfReset({ isByClock, hasMoved }: SeenReset): number {
    return (isByClock ? 0 : 2) + (hasMoved ? 1 : 0);
  }

  override observe(fit: Fit, seen: Seen): void {
    super.observe(fit, seen);
    if (seen.unanswered === 0) this.#observeLeaving(seen);
  }

  /** Requests of others that become fewer were sent in the window before, and lose their weight. */
  #observeLeaving({ nowMs, failed }: Seen): void {
    const { offset = 0 } = this;
    // A failed request that the service has not counted is none of others that has left.
    const others = offset + failed;
    const weight = this.#weight(nowMs);
    const { others: first, atMs } = this.#mostOthers ?? { others: 0, atMs: nowMs };
    if (first - others >= FEWEST_LEAVING && nowMs - atMs >= LEAST_LEAVING_MS && weight > 0) {
      const ofPace = ((first - others) / (nowMs - atMs)) * this.lengthMs;
      const before = Math.min(ofPace, Math.max(0, this.limit - this.#before), Math.max(0, offset) / weight);
      this.#before += before;
      this.offset = offset - before * weight;
      this.#mostOthers = undefined;
    } else if (others > first) this.#mostOthers = { others, atMs: nowMs };
  }

  override align(endsAtMs: number, sent: number): void {
    if (endsAtMs - this.#endsAtMs > this.lengthMs / 2) this.#shift(sent);
    this.#endsAtMs = endsAtMs;
  }

  #roll(nowMs: number): void {
    for (let turns = 0; turns < 2 && nowMs >= this.#endsAtMs; turns++) {
      this.#shift();
      this.#endsAtMs += this.lengthMs;
    }
    if (nowMs >= this.#endsAtMs) this.#endsAtMs = nowMs + this.lengthMs;
  }

  /** The requests of others lose their weight over the next window as well. `sent` requests already count in that window. */
  #shift(sent = 0): void {
    const already = Math.min(this.#sent, sent);
    this.#before = Math.max(0, this.#sent - already + (this.offset ?? 0));
    this.#sent = already;
    this.forget();
    this.offset = 0;
    this.#mostOthers = undefined;
  }

  #weight(nowMs: number): number {
    return Math.min(1, Math.max(0, this.#endsAtMs - nowMs) / this.lengthMs);
  }
}
