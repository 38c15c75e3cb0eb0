import { type Outcome, PRECISION_MS, type SeenReset } from './candidates/candidate.ts';

const LEAST_MARGIN_MS = 10;
const LEAST_WIDENED_MS = 500;
const MOST_MARGIN_MS = 5000;
/** A Reset that is later than the last one by more than this part of a window belongs to the next window. */
const WHOLE_TURN = 0.85;
/** A Reset counts as passed when `Date` is this close to it: the clock of either may lag. */
const DATE_LAG_MS = 2_000;

/** When a window ends. */
export interface Reset {
  /** On the server's clock. */
  atMs: number;
  /** When it has surely come, on our clock. */
  endsAtMs: number;
  /** How far `atMs` may be off. */
  slackMs: number;
}

/**
 * A Reset beside the known one: there is none (`first`), it is the same, or the same although it had seemed to have passed (`lasting`), it
 * is another one (`moved`), or that of the next window, although the known one had not seemed to have passed (`next`).
 */
type ResetKind = 'first' | 'same' | 'lasting' | 'moved' | 'next';

/** When one window resets, as its answers say. */
export class WindowReset {
  /** The Reset of the current window; undefined until an answer has reported it. */
  current: Reset | undefined;
  /** When the current window ends, on our clock. If its Reset is unknown, it is presumed to have begun when the last one ended. */
  endsAtMs = Number.POSITIVE_INFINITY;
  /** Whether the current window began at an end that was only presumed: it may have begun before. */
  isPresumed = false;
  readonly #lengthMs: number;
  // The latest Reset, of the current window or an earlier one.
  #latest: Reset | undefined;
  // Added to the end of a window; larger after a window that had seemed to end turned out to last.
  #marginMs = LEAST_MARGIN_MS;

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs;
  }

  /** The current window has ended. */
  pass(nowMs: number): void {
    this.isPresumed = !this.current;
    this.current = undefined;
    this.endsAtMs = nowMs + this.#lengthMs;
  }

  forget(nowMs: number): void {
    this.pass(nowMs);
    this.#latest = undefined;
  }

  /** Whether a Reset is older than the known one, or that of a window that has ended since the request was sent. */
  isOvertaken({ atMs, slackMs }: Reset, sentAtMs: number): boolean {
    const known = this.#latest;
    if (!known) return false;
    const laterMs = atMs - known.atMs;
    const precisionMs = PRECISION_MS + slackMs + known.slackMs;
    return laterMs < -precisionMs || (!this.current && laterMs <= precisionMs && sentAtMs < known.endsAtMs);
  }

  kindOf(reset: Reset): ResetKind {
    if (!this.#latest) return 'first';
    const laterMs = reset.atMs - this.#latest.atMs;
    if (Math.abs(laterMs) <= PRECISION_MS + reset.slackMs) return this.current ? 'same' : 'lasting';
    return this.current && laterMs > WHOLE_TURN * this.#lengthMs ? 'next' : 'moved';
  }

  /** What a Reset that is not the known one says about how the service counts. `serverMs` is the server's time. */
  compare(reset: Reset, { serverMs, sentAtMs, nowMs }: Pick<Outcome, 'sentAtMs' | 'nowMs'> & { serverMs: number }): SeenReset {
    const { atMs, endsAtMs } = reset;
    const precisionMs = PRECISION_MS + reset.slackMs;
    const offClockMs = ((atMs + this.#lengthMs / 2) % this.#lengthMs) - this.#lengthMs / 2;
    const known = this.#latest ?? reset;
    const hasPassed = serverMs + DATE_LAG_MS > known.atMs - known.slackMs;
    const hasTurned = hasPassed && atMs - known.atMs >= WHOLE_TURN * this.#lengthMs;
    const hasMoved = atMs > known.atMs && !hasTurned;
    return { isByClock: Math.abs(offClockMs) <= precisionMs, hasMoved, hasPassed, endsAtMs, precisionMs, sentAtMs, nowMs };
  }

  observe(reset: Reset, kind: ResetKind): void {
    // A window that had seemed to end lasts: `Date` is ahead.
    if (kind === 'lasting') this.#marginMs = Math.min(MOST_MARGIN_MS, Math.max(LEAST_WIDENED_MS, 2 * this.#marginMs));
    const endsAtMs = reset.endsAtMs + this.#marginMs;
    this.endsAtMs = kind === 'same' ? Math.min(this.endsAtMs, endsAtMs) : endsAtMs;
    const { atMs } = kind === 'same' || kind === 'lasting' ? (this.#latest ?? reset) : reset;
    this.current = { ...reset, atMs, endsAtMs: this.endsAtMs };
    this.#latest = this.current;
  }
}
