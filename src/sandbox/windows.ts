/** The ways in which a service may count; the specification does not say which one the service uses. */
export const POLICIES = ['fixed-clock', 'fixed-first', 'sliding-log', 'token-bucket', 'sliding-counter'] as const;

/**
 * How requests are counted against a limit.
 *
 * `fixed-clock`: windows aligned to the clock. `fixed-first`: a window begins with the first request after the last one ended.
 * `sliding-log`: at most the limit within any period of a window's length. `token-bucket`: the limit refills evenly.
 * `sliding-counter`: the count of the current clock window plus a part of the previous window's count. That part is the share of the
 * previous window that is less than a window's length ago. It estimates `sliding-log` from two numbers.
 *
 * @example
 * const policy: Policy = 'sliding-log';
 * const own = createSandbox({ policy });
 */
export type Policy = (typeof POLICIES)[number];

/** The size of a window. */
export interface WindowSize {
  readonly limit: number;
  readonly lengthMs: number;
  /** Most tokens of a bucket; other policies have none. */
  readonly burst?: number | undefined;
}

/** One limit of one key, counted by one policy. Instants are milliseconds since 1970. */
export abstract class Window {
  readonly limit: number;
  protected readonly lengthMs: number;

  constructor({ limit, lengthMs }: WindowSize) {
    this.limit = limit;
    this.lengthMs = lengthMs;
  }

  /** Requests that may still be sent now. */
  abstract remaining(nowMs: number): number;
  /** The instant in `X-RateLimit-Reset`: the end of the window, the oldest request's leaving of the log, or a full bucket. */
  abstract resetAtMs(nowMs: number): number;
  /** Counts one request. */
  abstract take(nowMs: number): void;
  /** Removes a request that was counted at `takenAtMs` from the count. */
  abstract giveBack(takenAtMs: number, nowMs: number): void;
  /** When the next request may be sent, if none is left now. */
  protected abstract reopensAtMs(nowMs: number): number;

  /** When the next request may be sent: now, if one is left. */
  opensAtMs(nowMs: number): number {
    return this.remaining(nowMs) > 0 ? nowMs : this.reopensAtMs(nowMs);
  }
}

/** Rounding errors of refilling and weighting; a request that lacks no more than this is allowed. */
const ROUNDING = 1e-6;

/** Windows aligned to the clock. */
class FixedClock extends Window {
  /** Of the current window; undefined if none has begun. */
  protected startMs: number | undefined;
  protected used = 0;

  remaining(nowMs: number): number {
    this.turn(nowMs);
    return this.limit - this.used;
  }

  resetAtMs(nowMs: number): number {
    this.turn(nowMs);
    return (this.startMs ?? nowMs) + this.lengthMs;
  }

  take(nowMs: number): void {
    this.turn(nowMs);
    this.startMs ??= nowMs;
    this.used += 1;
  }

  giveBack(takenAtMs: number): void {
    if (this.startMs !== undefined && takenAtMs >= this.startMs) this.used -= 1;
  }

  protected reopensAtMs(nowMs: number): number {
    return this.resetAtMs(nowMs);
  }

  protected startOf(nowMs: number): number | undefined {
    return Math.floor(nowMs / this.lengthMs) * this.lengthMs;
  }

  protected turn(nowMs: number): void {
    const startMs = this.startOf(nowMs);
    if (startMs === this.startMs) return;
    this.startMs = startMs;
    this.used = 0;
  }
}

/** Windows that begin with a request. */
class FixedFirst extends FixedClock {
  protected override startOf(nowMs: number): number | undefined {
    const { startMs } = this;
    return startMs !== undefined && nowMs >= startMs && nowMs < startMs + this.lengthMs ? startMs : undefined;
  }
}

/** Windows aligned to the clock, in which a part of the previous one's count still counts. */
class SlidingCounter extends FixedClock {
  #before = 0;

  override remaining(nowMs: number): number {
    const startMs = this.resetAtMs(nowMs) - this.lengthMs;
    const weight = 1 - (nowMs - startMs) / this.lengthMs;
    return Math.floor(this.limit - this.used - this.#before * weight + ROUNDING);
  }

  override giveBack(takenAtMs: number): void {
    super.giveBack(takenAtMs);
    const { startMs = takenAtMs } = this;
    if (takenAtMs < startMs && takenAtMs >= startMs - this.lengthMs) this.#before -= 1;
  }

  protected override reopensAtMs(nowMs: number): number {
    const endMs = this.resetAtMs(nowMs);
    if (this.used < this.limit) return this.#weightedAtMs(endMs - this.lengthMs, (this.limit - 1 - this.used) / this.#before);
    return this.#weightedAtMs(endMs, (this.limit - 1) / this.used);
  }

  protected override turn(nowMs: number): void {
    const { startMs, used } = this;
    super.turn(nowMs);
    if (startMs !== this.startMs) this.#before = startMs !== undefined && this.startMs === startMs + this.lengthMs ? used : 0;
  }

  /** When the weight of the previous window has sunk to `weight`, in the window that begins at `startMs`. */
  #weightedAtMs(startMs: number, weight: number): number {
    return startMs + this.lengthMs * (1 - Math.min(1, weight));
  }
}

class SlidingLog extends Window {
  readonly #times: number[] = [];
  // Times before this index have left the log. They are removed many at once, since shifting each one moves the whole array.
  #first = 0;

  remaining(nowMs: number): number {
    this.#forget(nowMs);
    return this.limit - (this.#times.length - this.#first);
  }

  resetAtMs(nowMs: number): number {
    this.#forget(nowMs);
    return (this.#times[this.#first] ?? nowMs) + this.lengthMs;
  }

  take(nowMs: number): void {
    this.#forget(nowMs);
    this.#times.push(nowMs);
  }

  giveBack(takenAtMs: number): void {
    const index = this.#times.lastIndexOf(takenAtMs);
    if (index >= this.#first) this.#times.splice(index, 1);
  }

  protected reopensAtMs(nowMs: number): number {
    // The log may hold more than the limit, if requests are counted when they end, or if refused requests are counted.
    return (this.#times[this.#first - this.remaining(nowMs)] ?? nowMs) + this.lengthMs;
  }

  #forget(nowMs: number): void {
    while ((this.#times[this.#first] ?? nowMs) <= nowMs - this.lengthMs) this.#first += 1;
    // If the clock was set back, later times do not count, as in a window that begins anew.
    while (this.#times.length > this.#first && (this.#times.at(-1) ?? nowMs) > nowMs) this.#times.pop();
    if (this.#first <= 1_000 || this.#first * 2 < this.#times.length) return;
    this.#times.splice(0, this.#first);
    this.#first = 0;
  }
}

class TokenBucket extends Window {
  readonly #perMs: number;
  readonly #burst: number;
  #level: number;
  #levelAtMs: number | undefined;

  constructor(size: WindowSize) {
    super(size);
    this.#perMs = size.limit / size.lengthMs;
    this.#burst = size.burst ?? size.limit;
    this.#level = this.#burst;
  }

  remaining(nowMs: number): number {
    this.#refill(nowMs);
    return Math.floor(this.#level + ROUNDING);
  }

  resetAtMs(nowMs: number): number {
    this.#refill(nowMs);
    return nowMs + (this.#burst - this.#level) / this.#perMs;
  }

  take(nowMs: number): void {
    this.#refill(nowMs);
    this.#level -= 1;
  }

  giveBack(_takenAtMs: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#level = Math.min(this.#burst, this.#level + 1);
  }

  protected reopensAtMs(nowMs: number): number {
    this.#refill(nowMs);
    return nowMs + (1 - this.#level) / this.#perMs;
  }

  #refill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - (this.#levelAtMs ?? nowMs));
    this.#level = Math.min(this.#burst, this.#level + passedMs * this.#perMs);
    this.#levelAtMs = nowMs;
  }
}

const WINDOWS = {
  'fixed-clock': FixedClock,
  'fixed-first': FixedFirst,
  'sliding-log': SlidingLog,
  'token-bucket': TokenBucket,
  'sliding-counter': SlidingCounter,
};

/** Makes the window of a policy. */
export function createWindow(policy: Policy, size: WindowSize): Window {
  return new WINDOWS[policy](size);
}
