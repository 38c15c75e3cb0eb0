import { Candidate, type Fit, PRECISION_MS, type Seen } from './candidate.ts';

/** A level of tokens that refills at a steady rate up to a size. */
class Tokens {
  perMs: number;
  private size: number;
  private latest: number;
  private atMs: number | undefined;
  // When a token was taken from the full level; undefined once that request is answered.
  private fullAtMs: number | undefined;

  constructor(size: number, perMs: number) {
    this.size = size;
    this.perMs = perMs;
    this.latest = size;
  }

  copy(): Tokens {
    return Object.assign(new Tokens(this.size, this.perMs), this);
  }

  resize(size: number, perMs: number): void {
    const more = size - this.size;
    // A smaller size does not take the level below zero.
    this.latest = Number.isFinite(more) ? Math.max(this.latest + more, Math.min(this.latest, 0)) : size;
    this.size = size;
    this.perMs = perMs;
  }

  left(nowMs: number): number {
    // 0 ms times an infinite rate would be NaN.
    if (this.size === Number.POSITIVE_INFINITY) return this.size;
    return Math.min(this.size, this.latest + Math.max(0, nowMs - (this.atMs ?? nowMs)) * this.perMs);
  }

  leftAt(count: number, nowMs: number): number {
    return nowMs + Math.ceil(Math.max(0, Math.min(count, this.size) - this.left(nowMs)) / this.perMs);
  }

  /** Sets the level to what an answer shows. */
  set(tokens: number, nowMs: number): void {
    this.latest = Math.min(this.size, tokens);
    this.atMs = nowMs;
    this.fullAtMs = undefined;
  }

  take(tokens: number, nowMs: number): void {
    const left = this.left(nowMs);
    if (left >= this.size) this.fullAtMs = nowMs;
    this.latest = Math.min(this.size, left - tokens);
    this.atMs = nowMs;
  }

  /** The answer to a request came. A full level refills only once a request has arrived, which may have been as late as now. */
  answer(sentAtMs: number, nowMs: number): void {
    if (sentAtMs !== this.fullAtMs) return;
    // Since it was full, no more than what is missing can have come back.
    this.latest -= Math.min((nowMs - sentAtMs) * this.perMs, this.size - this.latest);
    this.fullAtMs = undefined;
  }
}

/** Holds tokens up to its size, which come back one by one. */
export class TokenBucket extends Candidate {
  readonly #tokens: Tokens;
  // The level by the plan, or by the share of it, if the service's bucket is larger; created when an answer shows that it is.
  #own: Tokens | undefined;

  constructor(limit: number, lengthMs: number) {
    super(limit, lengthMs);
    this.#tokens = new Tokens(limit, limit / lengthMs);
  }

  get prior(): number {
    return 0.8;
  }

  /** The size may be smaller than the plan, which says how many tokens come back in a window. */
  override resize(limit: number, planned: number): void {
    if (limit > planned) this.#own ??= this.#tokens.copy();
    this.#own?.resize(planned, planned / this.lengthMs);
    this.limit = limit;
    this.#tokens.resize(limit, (Number.isFinite(planned) ? Math.max(limit, planned) : limit) / this.lengthMs);
  }

  override level(nowMs: number): number {
    return this.#tokens.left(nowMs);
  }

  room(nowMs: number): number {
    return Math.min(this.#tokens.left(nowMs), this.#own?.left(nowMs) ?? Number.POSITIVE_INFINITY);
  }

  roomAt(count: number, nowMs: number): number {
    return Math.max(this.#tokens.leftAt(count, nowMs), this.#own?.leftAt(count, nowMs) ?? nowMs);
  }

  add(nowMs: number): void {
    this.#tokens.take(1, nowMs);
    this.#own?.take(1, nowMs);
  }

  remove(nowMs: number): void {
    this.#tokens.take(-1, nowMs);
    this.#own?.take(-1, nowMs);
  }

  answer(sentAtMs: number, nowMs: number): void {
    this.#tokens.answer(sentAtMs, nowMs);
    this.#own?.answer(sentAtMs, nowMs);
  }

  override margin(): number {
    return this.#tokens.perMs * PRECISION_MS;
  }

  override growth(ms: number): number {
    return this.#tokens.perMs * ms;
  }

  /**
   * How badly `remaining` fits a Reset in `aheadMs`: that is when the bucket is full again, at the plan's rate or its Limit's, or when it has
   * its next token, or the end of some window.
   */
  misfitOfFilling(remaining: number, aheadMs: number): number {
    const { perMs } = this.#tokens;
    const limitPerMs = this.limit / this.lengthMs;
    const toleratedMs = 2 * PRECISION_MS;
    const fills = (rate: number) => Math.abs(remaining + aheadMs * rate - this.limit) <= 2 + toleratedMs * rate;
    if (fills(perMs)) return 0;
    if (fills(limitPerMs)) {
      this.#tokens.resize(this.limit, limitPerMs);
      return 0;
    }
    const isNext = Math.abs(aheadMs - (remaining > 0 ? 0 : 1 / perMs)) <= toleratedMs;
    const isWindow = Math.abs(aheadMs - this.lengthMs) <= toleratedMs;
    return isNext || isWindow ? 0.1 : 0.5;
  }

  /**
   * What others took comes back too, so the level itself is corrected, and not the offset. A difference of less than a request is what
   * Remaining loses by being cut to whole requests.
   */
  override observe({ lowest, highest }: Fit, { remaining, unanswered, nowMs }: Seen): void {
    if (lowest > 0) this.#tokens.set(lowest < 1 ? remaining : remaining - unanswered, nowMs);
    if (lowest <= 0 && highest < 0) {
      this.#own ??= this.#tokens.copy();
      this.#tokens.take(highest, nowMs);
    }
    this.offset = 0;
  }

  /** A request was refused, so the bucket is empty; the level may even be below zero. */
  drain(nowMs: number): void {
    this.#tokens.set(Math.min(0, this.level(nowMs)), nowMs);
  }
}
