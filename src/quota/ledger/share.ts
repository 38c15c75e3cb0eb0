import { DAY_MS, MINUTE_MS } from '../../contract/plans.ts';
import { PRECISION_MS, wholeRequests } from './candidates/candidate.ts';
import { SlidingLog } from './candidates/sliding-log.ts';
import type { QuotaWindow } from './quota-window.ts';

/** A share of a limit, in requests: at least one; infinite if the plan sets no limit. */
export function shareOf(limit: number | undefined, share: number): number {
  return limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, wholeRequests(limit * share));
}

/** The window that a share is a part of. */
type SharedWindow = Pick<QuotaWindow, 'limit' | 'lengthMs' | 'turnedAtMs'>;
type SharedWindows = Record<'minute' | 'day', SharedWindow>;

/** The requests of one client that count towards its share of minute and day. */
export class Share {
  readonly #part: number;
  readonly #minute = new SlidingLog(Number.POSITIVE_INFINITY, MINUTE_MS);
  readonly #day = new SlidingLog(Number.POSITIVE_INFINITY, DAY_MS);

  /** @param part above 0 and at most 1 */
  constructor(part: number) {
    this.#part = part;
  }

  add(nowMs: number): void {
    this.#minute.add(nowMs);
    this.#day.add(nowMs);
  }

  remove(): void {
    this.#minute.remove();
    this.#day.remove();
  }

  /** A request that failed does not count for the day. */
  uncount(): void {
    this.#day.remove();
  }

  answer(sentAtMs: number, nowMs: number): void {
    this.#minute.answer(sentAtMs, nowMs);
    this.#day.answer(sentAtMs, nowMs);
  }

  /** How many more requests may be sent; infinite if there is no limit. */
  free({ minute, day }: SharedWindows, nowMs: number): number {
    return Math.min(this.freeIn(minute, nowMs), this.freeIn(day, nowMs));
  }

  freeAt({ minute, day }: SharedWindows, nowMs: number): number {
    return Math.max(this.#freeAtIn(minute, nowMs), this.#freeAtIn(day, nowMs));
  }

  /** The part of the limit of one window; infinite if there is none. */
  limitIn({ limit }: SharedWindow): number {
    return shareOf(limit, this.#part);
  }

  /**
   * How many more requests one window lets pass. In a window that turns as a whole, requests from before the turn no longer count, except
   * those just before it, which may count in the new window. Otherwise each request counts for a window's length.
   */
  freeIn(window: SharedWindow, nowMs: number): number {
    const log = this.#logOf(window);
    const sent = log.sent(nowMs);
    const counted = window.turnedAtMs === undefined ? sent : Math.min(sent, log.sentSince(window.turnedAtMs - PRECISION_MS));
    return this.limitIn(window) - counted;
  }

  #freeAtIn(window: SharedWindow, nowMs: number): number {
    if (this.freeIn(window, nowMs) >= 1) return nowMs;
    const leftAtMs = this.#logOf(window).sentAt(this.limitIn(window) - 1, nowMs);
    return window.turnedAtMs === undefined ? leftAtMs : Math.min(leftAtMs, window.turnedAtMs + window.lengthMs);
  }

  #logOf({ lengthMs }: SharedWindow): SlidingLog {
    return lengthMs === DAY_MS ? this.#day : this.#minute;
  }
}
