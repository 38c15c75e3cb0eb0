import { MINUTE_MS, SECOND_MS } from '../../contract/plans.ts';
import { HALF_A_REQUEST } from './candidates/candidate.ts';
import type { Outstanding } from './outstanding.ts';
import type { Windows } from './windows.ts';

/** Good answers that make up for one unforeseen 429; more if slots come back one by one, since no turn then brings a full window. */
const ANSWERS_PER_REQUEST = 20;
const ANSWERS_PER_REQUEST_REFILLED = 140;
/** Less than this part of a request of others is not worth a place; it is, where slots come back one by one and a place is kept once. */
const LEAST_KEPT = 0.3;
const LEAST_KEPT_REFILLED = 0.05;
/** If others send too, observations expire after this time without an answer. */
const STALE_AFTER_MS = 2_000;
/** The same where slots come back one by one, in slots: the first one may be taken by others. */
const SLOTS_UNTIL_STALE = 2;
const SMALL_BUCKET = 10;
/** With little quota left, at most this many requests may be in flight, since each may meet an unforeseen 429; fewer while others send. */
const FEWEST_IN_FLIGHT = 8;
const FEWEST_BESIDE_OTHERS = 4;
/** With one in flight, a slow answer would hold up all calls. */
const LEAST_IN_FLIGHT = 2;
/** With more quota left, a quarter of what is left beyond this may be in flight. */
const KEPT_FROM_FLIGHT = 32;
/** While no header reports the day, an eighth of what may be sent is in flight, if that is at most this: then it costs no time. */
const MOST_HELD_BACK = 300;
const PARTS_WHILE_DAY_UNKNOWN = 8;
/** Calls that fit into the window are sent within this time, if answers take as long as usual. */
const HASTE_MS = 400;
/**
 * If more calls wait than fit into the window, a whole window's requests are sent within this time: the last calls wait for the next window
 * anyway. The time is short, since in a sliding log each slot comes back a minute after it was used.
 */
const LEISURE_MS = 1_500;
/** After the first unforeseen 429, a good answer without Remaining adds only this part of a request to those that may be in flight, not one. */
const MORE_IN_FLIGHT_UNREPORTED = 1 / 4;

/** Requests whose bodies are not read yet, and calls that want to be sent. */
export interface Load {
  inFlight: number;
  waiting: number;
}

/**
 * How much of what may be sent is better not sent at once: some requests are left to other users of the key, and few are in flight where
 * each may meet a 429 that no header foretold. An unforeseen 429 makes it more cautious, good answers less.
 */
export class Caution {
  readonly #windows: Windows;
  readonly #outstanding: Outstanding;
  // Head-room: requests that are left to others after unforeseen 429s have shown that there are some.
  #headRoom = 0;
  #goodAnswers = 0;
  // How many requests may be in flight while no header reports Remaining; after an unforeseen 429, also where the quota may end unseen.
  #mostUnreported = LEAST_IN_FLIGHT;
  // Whether a 429 ever was unforeseen.
  #wasSurprised = false;

  constructor(windows: Windows, outstanding: Outstanding) {
    this.#windows = windows;
    this.#outstanding = outstanding;
  }

  /** A 429 came. It was unforeseen unless it answers a probe (not `wasQuotaKnown`) and reports a Remaining of 0 (`isUsedUp`). */
  refuse(wasQuotaKnown: boolean, isUsedUp: boolean): void {
    // Beyond a quarter of the limit it would take hours of good answers to fall again.
    if (wasQuotaKnown) this.#headRoom = Math.min(this.#headRoom + 1, Math.floor(this.#windows.minute.limit / 4));
    if (!wasQuotaKnown && isUsedUp) return;
    this.#mostUnreported = 1;
    this.#wasSurprised = true;
  }

  /** A good answer came; `isReported` if it reports the minute's Remaining. */
  succeed(isReported: boolean): void {
    const enough = this.#windows.minute.isRefilled ? ANSWERS_PER_REQUEST_REFILLED : ANSWERS_PER_REQUEST;
    if (++this.#goodAnswers % enough === 0) this.#headRoom = Math.max(0, this.#headRoom - 1);
    const more = isReported || !this.#wasSurprised ? 1 : MORE_IN_FLIGHT_UNREPORTED;
    this.#mostUnreported = Math.min(FEWEST_IN_FLIGHT, this.#mostUnreported + more);
  }

  /** At most a quarter of a limit, so that there is always something left to send. */
  #headRoomOf(limit: number): number {
    return Math.min(this.#headRoom, Math.floor(limit / 4));
  }

  /** How many requests of the minute are left to others: head-room, and what they may send before an answer reports it. */
  kept(nowMs: number): number {
    const { minute } = this.#windows;
    const limit = Math.min(minute.limit, minute.mostInWindow(nowMs));
    return Math.min(this.#headRoomOf(limit) + this.#ofOthers(nowMs) + this.#ofBucket(limit), Math.floor(limit / 2));
  }

  /** The tokens that come back in the time of an answer may not have, and Remaining is cut to whole requests. A small bucket has none to spare. */
  #ofBucket(limit: number): number {
    if (!this.#windows.minute.isBucket || limit <= SMALL_BUCKET) return 0;
    return Math.ceil(HALF_A_REQUEST + (limit * this.#outstanding.usualMs) / MINUTE_MS);
  }

  /** Requests that others may send unseen: at their usual pace, or for a shorter time in a log at that of a burst. */
  #ofOthers(nowMs: number): number {
    const { others, observedAtMs = nowMs, isLog, isRefilled } = this.#windows.minute;
    const unseenMs = this.#unseenMs(nowMs);
    const burstMs = isLog ? 2 * this.#outstanding.usualMs : unseenMs;
    const expected = Math.max(others.usualPerMs * unseenMs, others.latelyPerMs(nowMs - observedAtMs) * burstMs);
    return Math.max(0, Math.ceil(expected - (isRefilled ? LEAST_KEPT_REFILLED : LEAST_KEPT)));
  }

  /**
   * For how long requests of others may go unseen: twice the usual time of an answer, and a second more in a log. Where slots come back one
   * by one, others use up those that came back since the last answer.
   */
  #unseenMs(nowMs: number): number {
    const { isLog, isRefilled, observedAtMs = nowMs } = this.#windows.minute;
    const { usualMs } = this.#outstanding;
    if (isRefilled) return Math.max(2 * usualMs, nowMs - observedAtMs + usualMs);
    return 2 * usualMs + (isLog ? SECOND_MS : 0);
  }

  /**
   * Until when requests are left to others: until a burst of theirs no longer counts, or until what they sent is no longer fresh and a
   * probe asks whether they sent more. Where slots come back one by one, the next one comes as soon.
   */
  keptUntilMs(nowMs: number): number {
    const { others, observedAtMs = nowMs, isRefilled } = this.#windows.minute;
    if (isRefilled) return Number.POSITIVE_INFINITY;
    const calmAtMs = observedAtMs + others.calmAfterMs(LEAST_KEPT / this.#unseenMs(nowMs));
    return calmAtMs > nowMs ? Math.min(calmAtMs, this.staleAtMs) : this.staleAtMs;
  }

  /**
   * From when on others may have sent since an answer last reported Remaining; infinite while a request is unanswered. Where slots come back
   * one by one, not before two of them have: a probe would take the first one, which others wait for.
   */
  get staleAtMs(): number {
    const { observedAtMs, others, isRefilled, limit } = this.#windows.minute;
    if (observedAtMs === undefined || this.#outstanding.unanswered > 0) return Number.POSITIVE_INFINITY;
    const refillMs = isRefilled ? (SLOTS_UNTIL_STALE * MINUTE_MS) / limit : 0;
    return observedAtMs + Math.max(STALE_AFTER_MS, refillMs, 0.5 / others.usualPerMs);
  }

  /** How many requests may be in flight. Those whose answers have begun count only towards `concurrency`: they cannot meet a 429. */
  mostInFlight(load: Load, nowMs: number): number {
    const answered = load.inFlight - this.#outstanding.unanswered;
    return Math.min(this.#windows.concurrency, answered + this.#mostUnanswered(load, nowMs));
  }

  /** How many requests may be without an answer. */
  #mostUnanswered(load: Load, nowMs: number): number {
    const { minute, day, mayDayEndUnseen } = this.#windows;
    if (day.isNearRefusal) return 1;
    if (!minute.isKnown) return this.#mostUnreported;
    const left = minute.free(nowMs);
    const most = Math.max(FEWEST_IN_FLIGHT, Math.floor((left - KEPT_FROM_FLIGHT) / 4));
    // Only the end of a day, or others, can use up the quota before a header says so.
    if (!mayDayEndUnseen && !minute.others.isActive && this.#headRoomOf(minute.limit) === 0) return most;
    const mostUnseen = mayDayEndUnseen ? mostWhileDayUnknown(Math.min(minute.limit, day.free(nowMs))) : most;
    return Math.min(most, this.#neededInFlight(left, load), mostUnseen);
  }

  /** As many as speed needs; fewer in a burst of others, and after an unforeseen 429. */
  #neededInFlight(left: number, { inFlight, waiting }: Load): number {
    const { minute } = this.#windows;
    const { usualMs } = this.#outstanding;
    const fewest = minute.others.isActive ? FEWEST_BESIDE_OTHERS : FEWEST_IN_FLIGHT;
    const needed =
      waiting <= left
        ? Math.max(fewest, Math.ceil(((inFlight + waiting) * usualMs) / HASTE_MS))
        : Math.max(LEAST_IN_FLIGHT, Math.ceil((minute.limit * usualMs) / LEISURE_MS));
    const isHeldBack = this.#wasSurprised && this.#mostUnreported < FEWEST_IN_FLIGHT;
    const most = isHeldBack ? Math.min(needed, Math.max(LEAST_IN_FLIGHT, this.#mostUnreported)) : needed;
    // In a burst (a request of others or more in the time of two answers), others may send half of what is left before an answer shows it.
    const isBurst = minute.others.latelyPerMs(0) * 2 * usualMs >= 1;
    return isBurst ? Math.min(most, Math.max(1, Math.floor(left / 2))) : most;
  }
}

/** Few requests in flight send what may be sent just as fast if that is little. */
function mostWhileDayUnknown(sendable: number): number {
  if (sendable > MOST_HELD_BACK) return Number.POSITIVE_INFINITY;
  return Math.min(FEWEST_IN_FLIGHT, Math.max(LEAST_IN_FLIGHT, Math.ceil(sendable / PARTS_WHILE_DAY_UNKNOWN)));
}
