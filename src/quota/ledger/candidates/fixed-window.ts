import { Candidate, type Fit, type Seen, type SeenRefusal, type SeenReset } from './candidate.ts';

/** Counts requests from the beginning of a window, set by the clock or by the first request, until the whole count is reset at its end. */
export class FixedWindow extends Candidate {
  // Lower bound of what others sent since the window began, when it last raised `offset`, which also holds what was in flight then.
  #shown = 0;
  #sent: number;
  #turnedAtMs = Number.NEGATIVE_INFINITY;
  #turnedBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(limit: number, lengthMs: number, sent = 0) {
    super(limit, lengthMs);
    this.#sent = sent;
  }

  get prior(): number {
    return 0;
  }

  room(): number {
    return this.limit - this.#sent;
  }

  roomAt(count: number, nowMs: number): number {
    return this.room() >= count ? nowMs : Number.POSITIVE_INFINITY;
  }

  add(): void {
    this.#sent++;
  }

  remove(): void {
    this.#sent = Math.max(0, this.#sent - 1);
  }

  /** A window that has just turned holds none of others, however many the last one held. */
  protected override usual(seen: Seen): number | undefined {
    return seen.mayCarry && this.expected !== undefined ? (this.offset ?? 0) : super.usual(seen);
  }

  override othersIn({ lowest }: Fit): number {
    return this.offset === undefined ? 0 : Math.max(0, lowest - Math.max(0, this.#shown));
  }

  /**
   * It opens at its end. While nothing is known of others, it may also open before, and a Retry-After that is later by a whole window is that
   * of a penalty.
   */
  protected override opensAt({ endsAtMs, remaining }: SeenRefusal, retryAtMs: number): number {
    if (this.offset !== undefined || remaining === undefined) return endsAtMs;
    return retryAtMs < endsAtMs + this.lengthMs ? Math.min(endsAtMs, retryAtMs) : Number.POSITIVE_INFINITY;
  }

  override misfitOfReset({ hasMoved }: SeenReset): number {
    return hasMoved ? 1 : 0;
  }

  override observe(fit: Fit, seen: Seen): void {
    const { offset: before = Number.NEGATIVE_INFINITY } = this;
    super.observe(fit, seen);
    this.#shown = Math.min(this.offset ?? 0, fit.lowest > before ? fit.lowest : this.#shown);
  }

  /** A turn that comes too early does not reset the count, so that no header can raise the plan. */
  override turn(atMs: number, unanswered: number): void {
    this.forget();
    if (atMs - this.#turnedAtMs < 0.9 * this.lengthMs) return;
    this.#turnedBeforeMs = this.#turnedAtMs;
    this.#turnedAtMs = atMs;
    this.#sent = Math.min(this.#sent, unanswered);
  }

  /** Puts the last turn back to this time at the latest: it was seen late, so that the next one would seem to come too early. */
  beganBy(atMs: number): void {
    this.#turnedAtMs = Math.min(this.#turnedAtMs, atMs);
  }

  /** Takes a request from the count that was in flight at the turn: its answer shows that it was counted before. */
  countBefore(sentAtMs: number): void {
    if (sentAtMs < this.#turnedAtMs) this.remove();
  }

  /** The window that seemed to turn lasts: its turn is still to come. */
  resume(): void {
    this.#turnedAtMs = this.#turnedBeforeMs;
  }
}
