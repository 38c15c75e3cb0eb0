import type { Answer } from '../../contract/limits.ts';
import { SECOND_MS } from '../../contract/plans.ts';
import type { Outcome } from './candidates/candidate.ts';
import type { Reset } from './window-reset.ts';

/** How far two clocks may drift apart, as a part of the time that has passed. */
const DRIFT = 1e-4;
/** A clock that shows less by more than this was set back; the clocks of servers behind one address differ by less. */
const SET_BACK_MS = 60_000;

/** When a request was sent, and when its answer came, on our clock. */
type Exchange = Pick<Outcome, 'sentAtMs' | 'nowMs'>;

/**
 * The server's clock as its answers show it: an interval for how far it is ahead of ours. Every answer narrows the interval, time widens
 * it, and an answer that contradicts it starts a new one.
 */
export class ServerClock {
  #leastAheadMs = Number.NEGATIVE_INFINITY;
  #mostAheadMs = Number.POSITIVE_INFINITY;
  #seenAtMs = 0;
  // How far the machine's clock is ahead of the monotonic one; undefined until a Reset comes without `Date`.
  #presumedAheadMs: number | undefined;
  // Whether the machine's clock may stand in for the server's. A `Date`, or a 429 with a Reset and no `Date`, sets it to false for good.
  #mayPresume = true;

  /** The server's time is at least this. */
  atLeast(nowMs: number): number {
    return nowMs + this.#leastAheadMs - this.#driftMs(nowMs);
  }

  /** The server's time is at most this. */
  atMost(nowMs: number): number {
    return nowMs + this.#mostAheadMs + this.#driftMs(nowMs);
  }

  /**
   * The server's time when an answer came: its `Date`, or the latest possible. If its Reset is a time from now, the earliest possible, or our
   * own time if none is known: how far ahead such a Reset is does not depend on it.
   */
  timeOf({ dateMs, resetInMs }: Answer, nowMs: number): number {
    if (dateMs !== undefined) return dateMs;
    if (resetInMs === undefined) return this.atMost(nowMs);
    const serverMs = this.atLeast(nowMs);
    return Number.isFinite(serverMs) ? serverMs : nowMs;
  }

  /** The Reset of an answer on both clocks; undefined if it has none. It ends a window of `lengthMs`, so it is no further ahead. */
  resetOf(answer: Answer, lengthMs: number, { sentAtMs, nowMs }: Exchange): Reset | undefined {
    const { resetAtMs, resetInMs, dateMs } = answer;
    if (resetInMs !== undefined) {
      const atMs = this.timeOf(answer, nowMs) + resetInMs;
      return { atMs, endsAtMs: nowMs + resetInMs, slackMs: SECOND_MS + nowMs - sentAtMs };
    }
    if (resetAtMs === undefined) return undefined;
    const serverMs = Math.max(dateMs ?? Number.NEGATIVE_INFINITY, this.#presumed(nowMs), resetAtMs - lengthMs - SECOND_MS);
    return { atMs: resetAtMs, endsAtMs: nowMs + resetAtMs - serverMs, slackMs: 0 };
  }

  /** The server's time, only good enough for deciding when to ask: the machine's time as long as no answer contradicts it. */
  #presumed(nowMs: number): number {
    const aheadMs = this.#presumedAheadMs;
    if (!this.#mayPresume || aheadMs === undefined || aheadMs > this.#mostAheadMs) return this.atLeast(nowMs);
    return Math.max(this.atLeast(nowMs), nowMs + aheadMs);
  }

  /** An answer was made at the server's time of its `Date`, cut to a second. Returns whether the clock was set back. */
  observeDate({ dateMs }: Answer, exchange: Exchange): boolean {
    if (dateMs === undefined) return false;
    this.#mayPresume = false;
    return this.#narrow({ earliestMs: dateMs, latestMs: dateMs + SECOND_MS }, exchange);
  }

  /** An answer without `Date` was made within the window of `lengthMs` that its Reset ends. Returns whether the clock was set back. */
  observeReset({ status, dateMs, resetAtMs, receivedAtMs }: Answer, lengthMs: number, exchange: Exchange): boolean {
    if (dateMs !== undefined || resetAtMs === undefined) return false;
    this.#mayPresume &&= status !== 429;
    this.#presumedAheadMs = receivedAtMs - exchange.nowMs;
    return this.#narrow({ earliestMs: resetAtMs - lengthMs - SECOND_MS, latestMs: resetAtMs + SECOND_MS }, exchange);
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

/** How far ahead the Reset of an answer is, in milliseconds; undefined if it has none, or if the server's time is not known. */
export function aheadOf({ resetAtMs, resetInMs }: Pick<Answer, 'resetAtMs' | 'resetInMs'>, serverMs: number): number | undefined {
  if (resetInMs !== undefined) return resetInMs;
  return resetAtMs !== undefined && Number.isFinite(serverMs) ? resetAtMs - serverMs : undefined;
}
