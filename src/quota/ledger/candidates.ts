/** Into how many slots a sliding log divides its window: the requests of one slot leave the log together. */
export const SLOTS = 120;
/** A request may take less time to arrive than the one whose place it takes, by up to this. */
const JITTER_MS = 100;
/** `Date` and Reset are each cut to whole seconds: an instant computed from them is off by at most this. */
export const PRECISION_MS = 1500;

/** What an answer reports, as one candidate explains it. */
export interface Seen {
  remaining: number;
  /** Lower bound of the requests that others sent. */
  lowest: number;
  /** Upper bound of the requests that others sent. */
  highest: number;
  /** Requests that are still in flight. */
  unanswered: number;
  /** Requests that the service may not have counted: they failed. */
  uncounted: number;
  /** Whether others have sent requests in the last seconds. */
  isShared: boolean;
  nowMs: number;
}

/** By how much a Remaining is too small on average, since it is cut to whole requests. */
export const HALF_A_REQUEST = 0.5;

/**
 * A model of how the service may count the requests of a window. It counts what was sent, and predicts what would pass now and when more
 * would. `offset` is what answers show about other users' requests, `doubt` how badly answers contradict the model. Pure: the time is a
 * parameter.
 */
export abstract class Candidate {
  /** Requests that the service counts and this client did not send; undefined until a Remaining was observed. */
  offset: number | undefined;
  /** The latest `offset` before the observations were discarded; undefined if there was none. */
  expected: number | undefined;
  /** Requests that the service allows beyond the plan; undefined if none. */
  withheld: number | undefined;
  /** From 0 (every answer fits) to 4 (none does). */
  doubt = 0;
  /** How unlikely the model is before anything was observed. */
  abstract readonly prior: number;
  protected limit: number;
  protected readonly lengthMs: number;

  constructor(limit: number, lengthMs: number) {
    this.limit = limit;
    this.lengthMs = lengthMs;
  }

  /** What this client's own requests leave of the limit; negative if more were sent. */
  abstract room(nowMs: number): number;
  /** When the room reaches `count`; infinite if only the end of the window frees any. */
  abstract roomAt(count: number, nowMs: number): number;
  abstract add(nowMs: number): void;
  /** Takes back a request that was added just now and not sent after all. */
  abstract remove(nowMs: number): void;
  /** How far the count may be off because requests take time, and headers are cut to seconds. */
  abstract margin(nowMs: number): number;
  /** By how much the room grows within `ms` while nothing is sent, plus what a Remaining loses by being cut to whole requests. */
  growth(_ms: number): number {
    return 0;
  }

  /** By how much the room may be larger than `room` says. */
  surplus(_nowMs: number): number {
    return 0;
  }

  /** The window ended at `atMs`; the `unanswered` requests may count in it or in the next one. */
  abstract turn(atMs: number, unanswered: number): void;

  /** Sets the end of the current window, as the Reset of an answer says. In a window that has just begun, `sent` requests count already. */
  align(_endsAtMs: number, _sent: number): void {}

  /** Sets what the service allows, and what the plan allows. */
  resize(limit: number, planned: number): void {
    this.limit = Number.isFinite(limit) ? limit : planned;
    this.withheld = limit > planned ? limit - planned : undefined;
  }

  /** What this client's own requests leave of the plan. */
  allowance(nowMs: number): number {
    return this.room(nowMs) - this.beyondPlan;
  }

  /** When the allowance is one request or more; infinite if only the end of the window frees any. */
  allowedAt(nowMs: number): number {
    return this.roomAt(1 + this.beyondPlan, nowMs);
  }

  /** What the room holds that the plan does not allow. */
  protected get beyondPlan(): number {
    return this.withheld ?? 0;
  }

  /** What may be sent after subtracting the requests of others, or what the service allows beyond the plan, whichever is more. */
  free(nowMs: number): number {
    return this.room(nowMs) - this.taken;
  }

  freeAt(count: number, nowMs: number): number {
    return this.roomAt(count + this.taken, nowMs);
  }

  protected get taken(): number {
    return Math.max(this.offset ?? 0, this.withheld ?? Number.NEGATIVE_INFINITY);
  }

  /** Updates the offset: an answer shows that others sent between `lowest` and `highest` requests. */
  observe(seen: Seen): void {
    const isTaken = this.offset === undefined || seen.lowest > this.offset;
    const offset = isTaken ? seen.lowest + seen.unanswered : Math.min(this.offset ?? 0, seen.highest);
    this.offset = Math.max(offset, -seen.uncounted);
  }

  /** Discards the observations. */
  forget(): void {
    this.expected = this.offset ?? this.expected;
    this.offset = undefined;
  }
}

/** Counts requests from the beginning of a window, set by the clock or by the first request, until the whole count is reset at its end. */
export class FixedWindow extends Candidate {
  readonly prior = 0;
  /** Lower bound of what others sent since the window began. */
  least = 0;
  /** That bound when it last raised `offset`, which also holds what was in flight then. */
  shown = 0;
  #sent: number;
  #turnedAtMs = Number.NEGATIVE_INFINITY;
  #turnedBeforeMs = Number.NEGATIVE_INFINITY;

  constructor(limit: number, lengthMs: number, sent = 0) {
    super(limit, lengthMs);
    this.#sent = sent;
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

  margin(): number {
    return 0;
  }

  override observe(seen: Seen): void {
    const { offset: before = Number.NEGATIVE_INFINITY } = this;
    super.observe(seen);
    this.shown = Math.min(this.offset ?? 0, seen.lowest > before ? seen.lowest : this.shown);
    this.least = Math.max(this.least, seen.lowest);
  }

  override forget(): void {
    super.forget();
    this.least = 0;
  }

  /** A turn that comes too early does not reset the count, so that no header can raise the plan. */
  turn(atMs: number, unanswered: number): void {
    this.forget();
    if (atMs - this.#turnedAtMs < 0.9 * this.lengthMs) return;
    this.#turnedBeforeMs = this.#turnedAtMs;
    this.#turnedAtMs = atMs;
    this.#sent = Math.min(this.#sent, unanswered);
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
  readonly prior = 0.4;
  #sent = 0;
  #slots: readonly Slot[] = NONE;

  room(nowMs: number): number {
    this.#expire(nowMs);
    return this.limit - this.#sent;
  }

  roomAt(count: number, nowMs: number): number {
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
  margin(nowMs: number): number {
    const soonMs = nowMs + this.lengthMs / 20;
    return this.#slots.reduce((sum, slot) => (this.#leavesAtMs(slot) <= soonMs ? sum + slot.sent : sum), 0);
  }

  turn(): void {}

  /** Requests that arrived as soon as they were sent have left the service's log already. */
  override surplus(nowMs: number): number {
    return this.#slots.reduce((sum, { firstMs, sent }) => (firstMs + this.lengthMs <= nowMs ? sum + sent : sum), 0);
  }

  /** If others send too, requests that may have left count as gone: this Remaining shows that they have, or the next one will. */
  override observe(seen: Seen): void {
    if (!seen.isShared) return super.observe(seen);
    const gone = this.surplus(seen.nowMs);
    this.#sent -= gone;
    this.#slots = this.#slots.filter(({ firstMs }) => firstMs + this.lengthMs > seen.nowMs);
    super.observe({ ...seen, lowest: seen.lowest + gone, highest: seen.highest + gone });
  }

  /** Another log of the same requests. */
  copy(): SlidingLog {
    const copy = new SlidingLog(this.limit, this.lengthMs);
    copy.#sent = this.#sent;
    copy.#slots = this.#slots.map((slot) => ({ ...slot }));
    return copy;
  }

  /** The number of requests in the log. */
  sent(nowMs: number): number {
    this.#expire(nowMs);
    return this.#sent;
  }

  /** The number of requests that arrived at an instant or later. */
  sentSince(instantMs: number): number {
    return this.#slots.reduce((sum, { arrivedMs, sent }) => (arrivedMs >= instantMs ? sum + sent : sum), 0);
  }

  /** When at most `most` requests are left in the log. */
  sentAt(most: number, nowMs: number): number {
    let sent = this.sent(nowMs);
    if (sent <= most) return nowMs;
    for (const slot of this.#byLeaving()) {
      sent -= slot.sent;
      if (sent <= most) return this.#leavesAtMs(slot);
    }
    return nowMs;
  }

  /** When the oldest request was sent that the service surely still counts. */
  oldestAtMs(nowMs: number): number | undefined {
    return this.#slots.find(({ firstMs }) => firstMs + this.lengthMs > nowMs)?.firstMs;
  }

  /** The answer to a request sent at `sentAtMs` came: the request arrived in between. */
  answer(sentAtMs: number, nowMs: number): void {
    const slot = this.#slots.findLast(({ firstMs }) => firstMs <= sentAtMs);
    if (slot) slot.arrivedMs = Math.max(slot.arrivedMs, nowMs);
  }

  #leavesAtMs({ arrivedMs }: Slot): number {
    return arrivedMs + this.lengthMs + JITTER_MS;
  }

  #byLeaving(): Slot[] {
    return this.#slots.toSorted((one, other) => one.arrivedMs - other.arrivedMs);
  }

  #expire(nowMs: number): void {
    const [oldest] = this.#slots;
    if (!oldest || nowMs < oldest.firstMs + this.lengthMs) return;
    const leaving = this.#byLeaving().filter((slot) => this.#leavesAtMs(slot) <= nowMs);
    if (leaving.length === 0) return;
    this.#slots = this.#slots.filter((slot) => !leaving.includes(slot));
    this.#sent -= leaving.reduce((sum, { sent }) => sum + sent, 0);
  }
}

/** At least so many requests of others must leave a weighted counter, over at least this time, to show how many there were. */
const FEWEST_LEAVING = 2;
const LEAST_LEAVING_MS = 1_000;

/** Counts the requests of a window set by the clock, and of the window before it the part that a sliding window would still hold. */
export class SlidingCounter extends Candidate {
  readonly prior = 0.41;
  #before = 0;
  #sent: number;
  // The most requests of others in this window, and when they were most, with nothing in flight; set anew once some have left.
  #mostOthers: { others: number; atMs: number } | undefined;
  #endsAtMs = Number.POSITIVE_INFINITY;

  constructor(limit: number, lengthMs: number, sent = 0) {
    super(limit, lengthMs);
    this.#sent = sent;
  }

  room(nowMs: number): number {
    this.#roll(nowMs);
    return this.limit - this.#sent - this.#before * this.#weight(nowMs);
  }

  roomAt(count: number, nowMs: number): number {
    if (this.room(nowMs) >= count) return nowMs;
    if (!Number.isFinite(this.#endsAtMs)) return Number.POSITIVE_INFINITY;
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
  protected override get beyondPlan(): number {
    return super.beyondPlan + Math.min(0, this.offset ?? 0);
  }

  margin(): number {
    return (this.#before * PRECISION_MS) / this.lengthMs;
  }

  override growth(ms: number): number {
    return this.#before === 0 ? 0 : HALF_A_REQUEST + (this.#before * ms) / this.lengthMs;
  }

  turn(atMs: number): void {
    this.#roll(atMs);
  }

  override observe(seen: Seen): void {
    super.observe(seen);
    if (seen.unanswered === 0) this.#observeLeaving(seen);
  }

  /** Requests of others that become fewer were sent in the window before, and lose their weight. */
  #observeLeaving({ nowMs, uncounted }: Seen): void {
    const { offset = 0 } = this;
    // A failed request that the service has not counted is none of others that has left.
    const others = offset + uncounted;
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
    if (Number.isFinite(this.#endsAtMs) && endsAtMs - this.#endsAtMs > this.lengthMs / 2) this.#shift(sent);
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
    return Number.isFinite(this.#endsAtMs) ? Math.min(1, Math.max(0, this.#endsAtMs - nowMs) / this.lengthMs) : 0;
  }
}

/** A level of tokens that refills at a steady rate up to a size. */
class Tokens {
  #size: number;
  #perMs: number;
  #left: number;
  #atMs: number | undefined;
  // When a token was taken from the full level; undefined once that request is answered.
  #fullAtMs: number | undefined;

  constructor(size: number, perMs: number) {
    this.#size = size;
    this.#perMs = perMs;
    this.#left = size;
  }

  /** Tokens that come back in a millisecond. */
  get perMs(): number {
    return this.#perMs;
  }

  copy(): Tokens {
    const copy = new Tokens(this.#size, this.#perMs);
    copy.#left = this.#left;
    copy.#atMs = this.#atMs;
    copy.#fullAtMs = this.#fullAtMs;
    return copy;
  }

  resize(size: number, perMs: number): void {
    const more = size - this.#size;
    // A smaller size does not take the level below zero.
    this.#left = Number.isFinite(more) ? Math.max(this.#left + more, Math.min(this.#left, 0)) : size;
    this.#size = size;
    this.#perMs = perMs;
  }

  left(nowMs: number): number {
    // 0 ms times an infinite rate would be NaN.
    if (this.#size === Number.POSITIVE_INFINITY) return this.#size;
    return Math.min(this.#size, this.#left + Math.max(0, nowMs - (this.#atMs ?? nowMs)) * this.#perMs);
  }

  leftAt(count: number, nowMs: number): number {
    return nowMs + Math.ceil(Math.max(0, Math.min(count, this.#size) - this.left(nowMs)) / this.#perMs);
  }

  /** Sets the level to what an answer shows. */
  set(tokens: number, nowMs: number): void {
    this.#left = Math.min(this.#size, tokens);
    this.#atMs = nowMs;
    this.#fullAtMs = undefined;
  }

  take(tokens: number, nowMs: number): void {
    const left = this.left(nowMs);
    if (left >= this.#size) this.#fullAtMs = nowMs;
    this.#left = Math.min(this.#size, left - tokens);
    this.#atMs = nowMs;
  }

  /** The answer to a request came. A full level refills only once a request has arrived, which may have been as late as now. */
  answer(sentAtMs: number, nowMs: number): void {
    if (sentAtMs !== this.#fullAtMs) return;
    // Since it was full, no more than what is missing can have come back.
    this.#left -= Math.min((nowMs - sentAtMs) * this.#perMs, this.#size - this.#left);
    this.#fullAtMs = undefined;
  }
}

/** Holds tokens up to its size, which come back one by one. */
export class TokenBucket extends Candidate {
  readonly prior = 0.8;
  readonly #tokens: Tokens;
  // The level by the plan, or by the share of it, if the service's bucket is larger; created when an answer shows that it is.
  #own: Tokens | undefined;

  constructor(limit: number, lengthMs: number) {
    super(limit, lengthMs);
    this.#tokens = new Tokens(limit, limit / lengthMs);
  }

  /** Tokens that come back in a millisecond. */
  get perMs(): number {
    return this.#tokens.perMs;
  }

  /** The size may be smaller than the plan, which says how many tokens come back in a window. */
  override resize(limit: number, planned: number): void {
    if (limit > planned) this.#own ??= this.#tokens.copy();
    this.#own?.resize(planned, planned / this.lengthMs);
    this.limit = limit;
    this.#tokens.resize(limit, (Number.isFinite(planned) ? Math.max(limit, planned) : limit) / this.lengthMs);
  }

  /** Sets the rate that the Resets show, in tokens per millisecond. */
  refillAt(perMs: number): void {
    this.#tokens.resize(this.limit, perMs);
  }

  room(nowMs: number): number {
    return this.#tokens.left(nowMs);
  }

  roomAt(count: number, nowMs: number): number {
    return this.#tokens.leftAt(count, nowMs);
  }

  override allowance(nowMs: number): number {
    return Math.min(this.#tokens.left(nowMs), this.#own?.left(nowMs) ?? Number.POSITIVE_INFINITY);
  }

  override allowedAt(nowMs: number): number {
    return this.freeAt(1, nowMs);
  }

  override free(nowMs: number): number {
    return this.allowance(nowMs);
  }

  override freeAt(count: number, nowMs: number): number {
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

  /** The answer to a request came. */
  answer(sentAtMs: number, nowMs: number): void {
    this.#tokens.answer(sentAtMs, nowMs);
    this.#own?.answer(sentAtMs, nowMs);
  }

  margin(): number {
    return this.perMs * PRECISION_MS;
  }

  turn(): void {}

  override growth(ms: number): number {
    return this.perMs * ms;
  }

  /**
   * What others took comes back too, so the level itself is corrected, and not the offset. A difference of less than a request is what
   * Remaining loses by being cut to whole requests.
   */
  override observe({ lowest, highest, remaining, unanswered, nowMs }: Seen): void {
    if (lowest > 0) this.#tokens.set(lowest < 1 ? remaining : remaining - unanswered, nowMs);
    if (lowest <= 0 && highest < 0) {
      this.#own ??= this.#tokens.copy();
      this.#tokens.take(highest, nowMs);
    }
    this.offset = 0;
  }

  /** A request was refused, so the bucket is empty; the level may even be below zero. */
  drain(nowMs: number): void {
    this.#tokens.set(Math.min(0, this.room(nowMs)), nowMs);
  }
}
