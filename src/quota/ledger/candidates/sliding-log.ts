import { SECOND_MS } from '../../../contract/plans.ts';
import { Candidate, type Fit, type Seen, type SeenReset } from './candidate.ts';

/** Into how many slots a sliding log divides its window: the requests of one slot leave the log together. */
const SLOTS = 120;
/** A request may take less time to arrive than the one whose place it takes, by up to this. */
const JITTER_MS = 100;
/** The doubt if the Reset is at the turn of a minute by the clock, which it can only be by chance. */
const CHANCE = 0.02;

/** Requests that were sent at about the same time. */
interface Slot {
  /** When the first one was sent. */
  firstMs: number;
  /** By when the last one had arrived: when its answer came, or when it was sent while there is no answer. */
  arrivedMs: number;
  sent: number;
}

/** Shared by all empty logs: on most keys little is sent. */
const NONE: readonly Slot[] = [];

/** Counts the requests within the last window's length, at any instant. */
export class SlidingLog extends Candidate {
  #sent = 0;
  // How many of these, the oldest, have left the service's log, as a Remaining has shown.
  #gone = 0;
  #slots: readonly Slot[] = NONE;

  get prior(): number {
    return 0.4;
  }

  room(nowMs: number): number {
    return this.limit - this.sent(nowMs) + this.#gone;
  }

  roomAt(count: number, nowMs: number): number {
    if (this.room(nowMs) >= count) return nowMs;
    const most = this.limit - count;
    return most < 0 ? Number.POSITIVE_INFINITY : this.sentAt(most, nowMs);
  }

  add(nowMs: number): void {
    this.#sent++;
    const latest = this.#slots.at(-1);
    if (latest && nowMs - latest.firstMs < this.lengthMs / SLOTS) {
      latest.arrivedMs = Math.max(latest.arrivedMs, nowMs);
      latest.sent++;
    } else this.#slots = this.#slots.concat({ firstMs: nowMs, arrivedMs: nowMs, sent: 1 });
  }

  remove(): void {
    const latest = this.#slots.at(-1);
    if (!latest) return;
    this.#sent--;
    if (--latest.sent === 0) this.#slots = this.#slots.slice(0, -1);
  }

  /** Requests that leave this log soon may have left the service's already. */
  override margin(nowMs: number): number {
    const soonMs = nowMs + this.lengthMs / 20;
    return Math.max(0, this.#sentIn((slot) => this.#leavesAtMs(slot) <= soonMs, soonMs) - this.#gone);
  }

  /** Requests that arrived as soon as they were sent have left the service's log already. */
  override surplus(nowMs: number): number {
    return this.#sentIn(() => true, nowMs) - this.#gone;
  }

  override misfitOfReset(seen: SeenReset): number {
    const chance = seen.isByClock ? CHANCE : 0;
    return chance + this.#misfitOfOldest(seen) + (seen.hasMoved && !seen.hasPassed ? 1 : 0);
  }

  /** The Reset of a log is when its oldest request leaves; sooner if others sent that one. */
  #misfitOfOldest({ endsAtMs, precisionMs, sentAtMs, nowMs }: SeenReset): number {
    // The oldest one that the service surely still counts.
    const oldest = this.#slots.find(({ firstMs }) => firstMs + this.lengthMs > nowMs);
    if (!oldest) return 0;
    const leavesAtMs = oldest.firstMs + this.lengthMs;
    const isLater = endsAtMs > leavesAtMs + this.lengthMs / SLOTS + nowMs - sentAtMs + SECOND_MS + precisionMs;
    const isSooner = endsAtMs < leavesAtMs - precisionMs && this.offset !== undefined && this.offset <= 0;
    // Some logs send the Reset of a window, so that a Remaining which only a log explains counts more.
    return isLater ? 1.5 : isSooner ? 1 : 0;
  }

  /** If others send too, requests that may have left count as gone: this Remaining shows that they have, or the next one will. */
  override observe(fit: Fit, seen: Seen): void {
    if (!seen.areOthersActive) return super.observe(fit, seen);
    const gone = this.surplus(seen.nowMs);
    this.#gone += gone;
    super.observe({ ...fit, lowest: fit.lowest + gone, highest: fit.highest + gone }, seen);
  }

  sent(nowMs: number): number {
    this.#expire(nowMs);
    return this.#sent;
  }

  /** The number of requests that arrived at an instant or later. */
  sentSince(instantMs: number): number {
    return this.#sentIn(({ arrivedMs }) => arrivedMs >= instantMs);
  }

  /** The requests of the slots that are counted. Slots are in order, so the search ends at the first one that cannot leave by `lastMs`. */
  #sentIn(isCounted: (slot: Slot) => boolean, lastMs = Number.POSITIVE_INFINITY): number {
    let sent = 0;
    for (const slot of this.#slots) {
      if (slot.firstMs + this.lengthMs > lastMs) break;
      if (isCounted(slot)) sent += slot.sent;
    }
    return sent;
  }

  /** When at most `most` requests are left in the log. */
  sentAt(most: number, nowMs: number): number {
    let sent = this.sent(nowMs);
    if (sent <= most) return nowMs;
    for (const slot of this.#slots.toSorted((one, other) => one.arrivedMs - other.arrivedMs)) {
      sent -= slot.sent;
      if (sent <= most) return this.#leavesAtMs(slot);
    }
    return nowMs;
  }

  /** The answer to a request sent at `sentAtMs` came: the request arrived in between. */
  answer(sentAtMs: number, nowMs: number): void {
    const slot = this.#slots.findLast(({ firstMs }) => firstMs <= sentAtMs);
    if (slot) slot.arrivedMs = Math.max(slot.arrivedMs, nowMs);
  }

  #leavesAtMs({ arrivedMs }: Slot): number {
    return arrivedMs + this.lengthMs + JITTER_MS;
  }

  #expire(nowMs: number): void {
    const [oldest] = this.#slots;
    if (!oldest || nowMs < oldest.firstMs + this.lengthMs) return;
    const expired = this.#sentIn((slot) => this.#leavesAtMs(slot) <= nowMs, nowMs);
    // The oldest slot of a busy log is nearly always about to leave, so slots are copied only when one does.
    if (expired === 0) return;
    this.#sent -= expired;
    this.#gone = Math.max(0, this.#gone - expired);
    this.#slots = this.#slots.filter((slot) => this.#leavesAtMs(slot) > nowMs);
  }
}
