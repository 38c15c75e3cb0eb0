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

/** One limit of one key, counted by one policy. Instants are milliseconds since 1970. */
export interface Window {
  readonly limit: number;
  /** Requests that may still be sent now. */
  remaining(nowMs: number): number;
  /** The instant in `X-RateLimit-Reset`: the end of the window, the oldest request's leaving of the log, or a full bucket. */
  resetAtMs(nowMs: number): number;
  /** When the next request may be sent: now, if one is left. */
  opensAtMs(nowMs: number): number;
  /** Counts one request. */
  take(nowMs: number): void;
  /** Removes a request that was counted at `takenAtMs` from the count. */
  giveBack(takenAtMs: number, nowMs: number): void;
}

/** The size of a window. */
export interface WindowSize {
  readonly limit: number;
  readonly lengthMs: number;
  /** Most tokens of a bucket; other policies have none. */
  readonly burst?: number | undefined;
}

/** Rounding errors of refilling and weighting; a request that lacks no more than this is allowed. */
const ROUNDING = 1e-6;

/** Makes the window of a policy. */
export function createWindow(policy: Policy, size: WindowSize): Window {
  if (policy === 'sliding-log') return new SlidingLog(size);
  if (policy === 'token-bucket') return new TokenBucket(size);
  if (policy === 'sliding-counter') return new SlidingCounter(size);
  return new FixedWindow(size, policy === 'fixed-clock');
}

class FixedWindow implements Window {
  readonly limit: number;
  readonly #lengthMs: number;
  readonly #aligned: boolean;
  #startMs: number | undefined;
  #used = 0;

  constructor({ limit, lengthMs }: WindowSize, aligned: boolean) {
    this.limit = limit;
    this.#lengthMs = lengthMs;
    this.#aligned = aligned;
  }

  remaining(nowMs: number): number {
    this.#turn(nowMs);
    return this.limit - this.#used;
  }

  resetAtMs(nowMs: number): number {
    this.#turn(nowMs);
    return (this.#startMs ?? nowMs) + this.#lengthMs;
  }

  opensAtMs(nowMs: number): number {
    return this.remaining(nowMs) > 0 ? nowMs : this.resetAtMs(nowMs);
  }

  take(nowMs: number): void {
    this.#turn(nowMs);
    this.#startMs ??= nowMs;
    this.#used += 1;
  }

  giveBack(takenAtMs: number): void {
    if (this.#startMs !== undefined && takenAtMs >= this.#startMs) this.#used -= 1;
  }

  #turn(nowMs: number): void {
    const startMs = this.#aligned ? Math.floor(nowMs / this.#lengthMs) * this.#lengthMs : this.#running(nowMs);
    if (startMs === this.#startMs) return;
    this.#startMs = startMs;
    this.#used = 0;
  }

  #running(nowMs: number): number | undefined {
    const startMs = this.#startMs;
    return startMs !== undefined && nowMs >= startMs && nowMs < startMs + this.#lengthMs ? startMs : undefined;
  }
}

class SlidingLog implements Window {
  readonly limit: number;
  readonly #lengthMs: number;
  readonly #times: number[] = [];
  // Times before this index have left the log. They are removed many at once, since shifting each one moves the whole array.
  #first = 0;

  constructor({ limit, lengthMs }: WindowSize) {
    this.limit = limit;
    this.#lengthMs = lengthMs;
  }

  remaining(nowMs: number): number {
    this.#forget(nowMs - this.#lengthMs);
    return this.limit - (this.#times.length - this.#first);
  }

  resetAtMs(nowMs: number): number {
    this.#forget(nowMs - this.#lengthMs);
    return (this.#times[this.#first] ?? nowMs) + this.#lengthMs;
  }

  opensAtMs(nowMs: number): number {
    const remaining = this.remaining(nowMs);
    // The log may hold more than the limit, if requests are counted when they end, or if refused requests are counted.
    return remaining > 0 ? nowMs : (this.#times[this.#first - remaining] ?? nowMs) + this.#lengthMs;
  }

  take(nowMs: number): void {
    this.#times.push(nowMs);
  }

  giveBack(takenAtMs: number): void {
    const index = this.#times.lastIndexOf(takenAtMs);
    if (index >= this.#first) this.#times.splice(index, 1);
  }

  #forget(untilMs: number): void {
    while ((this.#times[this.#first] ?? Number.POSITIVE_INFINITY) <= untilMs) this.#first += 1;
    if (this.#first <= 1_000 || this.#first * 2 < this.#times.length) return;
    this.#times.splice(0, this.#first);
    this.#first = 0;
  }
}

class TokenBucket implements Window {
  readonly limit: number;
  readonly #perMs: number;
  readonly #burst: number;
  #level: number;
  #levelAtMs: number | undefined;

  constructor({ limit, lengthMs, burst = limit }: WindowSize) {
    this.limit = limit;
    this.#perMs = limit / lengthMs;
    this.#burst = burst;
    this.#level = burst;
  }

  remaining(nowMs: number): number {
    this.#refill(nowMs);
    return Math.floor(this.#level + ROUNDING);
  }

  resetAtMs(nowMs: number): number {
    this.#refill(nowMs);
    return nowMs + (this.#burst - this.#level) / this.#perMs;
  }

  opensAtMs(nowMs: number): number {
    return this.remaining(nowMs) > 0 ? nowMs : nowMs + (1 - this.#level) / this.#perMs;
  }

  take(nowMs: number): void {
    this.#refill(nowMs);
    this.#level -= 1;
  }

  giveBack(_takenAtMs: number, nowMs: number): void {
    this.#refill(nowMs);
    this.#level = Math.min(this.#burst, this.#level + 1);
  }

  #refill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - (this.#levelAtMs ?? nowMs));
    this.#level = Math.min(this.#burst, this.#level + passedMs * this.#perMs);
    this.#levelAtMs = nowMs;
  }
}

class SlidingCounter implements Window {
  readonly limit: number;
  readonly #lengthMs: number;
  #startMs = Number.NEGATIVE_INFINITY;
  #before = 0;
  #used = 0;

  constructor({ limit, lengthMs }: WindowSize) {
    this.limit = limit;
    this.#lengthMs = lengthMs;
  }

  remaining(nowMs: number): number {
    this.#turn(nowMs);
    const weight = 1 - (nowMs - this.#startMs) / this.#lengthMs;
    return Math.floor(this.limit - this.#used - this.#before * weight + ROUNDING);
  }

  resetAtMs(nowMs: number): number {
    this.#turn(nowMs);
    return this.#startMs + this.#lengthMs;
  }

  opensAtMs(nowMs: number): number {
    if (this.remaining(nowMs) > 0) return nowMs;
    if (this.#used < this.limit) return this.#weightedAtMs(this.#startMs, (this.limit - 1 - this.#used) / this.#before);
    return this.#weightedAtMs(this.#startMs + this.#lengthMs, (this.limit - 1) / this.#used);
  }

  take(nowMs: number): void {
    this.#turn(nowMs);
    this.#used += 1;
  }

  giveBack(takenAtMs: number): void {
    if (takenAtMs >= this.#startMs) this.#used -= 1;
    else if (takenAtMs >= this.#startMs - this.#lengthMs) this.#before -= 1;
  }

  /** When the weight of the previous window has sunk to `weight`, in the window that begins at `startMs`. */
  #weightedAtMs(startMs: number, weight: number): number {
    return startMs + this.#lengthMs * (1 - Math.min(1, weight));
  }

  #turn(nowMs: number): void {
    const startMs = Math.floor(nowMs / this.#lengthMs) * this.#lengthMs;
    if (startMs === this.#startMs) return;
    this.#before = startMs === this.#startMs + this.#lengthMs ? this.#used : 0;
    this.#startMs = startMs;
    this.#used = 0;
  }
}
