import { type ObservedWindow, UNLIMITED } from '../../quota-store.ts';
import { type Candidate, type Outcome, PRECISION_MS, type Seen, wholeRequests } from './candidates/candidate.ts';
import { FixedWindow } from './candidates/fixed-window.ts';
import { SlidingCounter } from './candidates/sliding-counter.ts';
import { SlidingLog } from './candidates/sliding-log.ts';
import { TokenBucket } from './candidates/token-bucket.ts';
import { LearnedLimit, type Refused } from './learned-limit.ts';
import { OthersPace } from './others-pace.ts';
import { type Reset, WindowReset } from './window-reset.ts';

const MOST_DOUBT = 4;
/** The longest wait after a turn until the weighted counter admits a probe too. */
const MOST_DELAY_MS = 1000;
/** One answer adds at most a twelfth of the limit to a burst of others: otherwise a senseless one would hold up calls. */
const PARTS_AT_ONCE = 12;
/** Without a Reset, a Remaining expires after this time, since others may have stopped; the time doubles with each Remaining of 0. */
const LEAST_EXPIRY_MS = 250;
const MOST_EXPIRY_MS = 4_000;

/** Shared by all windows until their first Remaining, which many keys never have of the day. */
const NO_OTHERS = new OthersPace();

/** What one answer that describes a window says about it. */
export interface Reading extends Outcome {
  reset: Reset | undefined;
  /** The server's time, or its upper bound if the answer has no `Date`. */
  serverMs: number;
}

/** What headers last reported about one window, with instants of our clock. */
interface Reported extends Pick<ObservedWindow, 'limit' | 'remaining' | 'resetAtMs'> {
  endsAtMs: number;
  observedAtMs: number;
}

/**
 * Evidence and permission for one window, the minute or the day. An answer is weighed against each way in which the service may count (the
 * candidates): what does not fit adds to the doubt of a candidate. The one with the least doubt leads, and says what may be sent.
 */
export class QuotaWindow {
  readonly lengthMs: number;
  /** The ways of counting that may be the service's, each with its doubt. */
  candidates: readonly Candidate[];
  /** The Limit of the headers; undefined until observed. */
  observedLimit: number | undefined;
  /** When a Remaining that still counts was observed last. */
  observedAtMs: number | undefined;
  /** The pace of other users of the key. */
  others = NO_OTHERS;
  // Created when a request is refused and no header says why.
  #learned: LearnedLimit | undefined;
  readonly #log: SlidingLog;
  readonly #bucket: TokenBucket;
  // Created with the first Reset: without one, no turn can be seen.
  #window: FixedWindow | undefined;
  #counter: SlidingCounter | undefined;
  #planned: number;
  // A larger Limit that only the latest answer reported.
  #claimedLimit: number | undefined;
  readonly #reset: WindowReset;
  // How long a Remaining counts if no Reset is known; the first one of 0 doubles it.
  #expiryMs = LEAST_EXPIRY_MS / 2;
  #reported: Reported | undefined;
  #failed = 0;
  #leastOfBatch: number | undefined;
  // The latest Remaining was larger than any possible candidate explains, and the one before was not.
  #isUnexplained = false;
  // When a Retry-After passes, which invites one request, whatever the candidates say. Infinite once that request is answered.
  #invitedAtMs = Number.POSITIVE_INFINITY;
  // When the weighted counter would admit a probe too: after a turn, no probe is sent before.
  #opensAtMs = Number.NEGATIVE_INFINITY;

  constructor(limit: number, lengthMs: number) {
    this.lengthMs = lengthMs;
    this.#planned = limit;
    this.#reset = new WindowReset(lengthMs);
    this.#log = new SlidingLog(limit, lengthMs);
    this.#bucket = new TokenBucket(limit, lengthMs);
    this.candidates = [this.#log, this.#bucket];
  }

  /** How many requests may be sent in a window: the limit of the plan or of the service, whichever is smaller. */
  get limit(): number {
    return Math.min(this.#planned, this.observedLimit ?? this.#planned);
  }

  get isKnown(): boolean {
    return this.observedAtMs !== undefined;
  }

  /** Whether requests of others are known; they may have sent more since. */
  get hasOthers(): boolean {
    return (this.lead.offset ?? 0) > 0;
  }

  /** Whether the oldest request of a log may be that of others who have stopped: the Reset then says when it leaves. */
  get #isLogOfOthers(): boolean {
    return this.lead === this.#log && this.hasOthers && !this.others.isActive;
  }

  get isBucket(): boolean {
    return this.lead === this.#bucket;
  }

  /** Whether slots come back one by one, not with a turn. */
  get isRefilled(): boolean {
    return this.lead.growth(1) > 0;
  }

  get isLog(): boolean {
    return this.lead === this.#log;
  }

  /** When the current window resets, on the server's clock. */
  get resetAtMs(): number | undefined {
    return this.#reset.current?.atMs;
  }

  /** When the current window began, if it turned as a whole; undefined if requests leave one by one. */
  get turnedAtMs(): number | undefined {
    return this.lead === this.#window ? this.#reset.endsAtMs - this.lengthMs : undefined;
  }

  /** The candidate that fits best. Without any Reset no turn can be seen, so that windows and counters cannot be told apart. */
  get lead(): Candidate {
    return this.candidates.reduce((best, next) => (next.doubt + next.prior < best.doubt + best.prior ? next : best));
  }

  get #possible(): readonly Candidate[] {
    return this.candidates.filter(({ isPossible }) => isPossible);
  }

  resize(planned: number): void {
    this.#planned = planned;
    this.#setLimits();
  }

  #setLimits(): void {
    for (const candidate of this.candidates) candidate.resize(this.observedLimit ?? this.#planned, this.#planned);
  }

  /** The one request that a Retry-After invites, if it may be sent now. */
  #invited(nowMs: number): number {
    return nowMs >= this.#invitedAtMs && this.#log.sentSince(this.#invitedAtMs) === 0 ? 1 : 0;
  }

  /** What the most generous possible candidate allows, whatever headers say about others. */
  ceiling(nowMs: number): number {
    const allowed = this.#possible.map((candidate) => wholeRequests(candidate.room(nowMs) - candidate.beyondPlan));
    return Math.max(this.#invited(nowMs), ...allowed);
  }

  /** When the most generous possible candidate allows a request, whatever headers say. */
  ceilingAt(nowMs: number): number {
    return Math.min(this.#reset.endsAtMs, ...this.#possible.map((candidate) => candidate.roomAt(1 + candidate.beyondPlan, nowMs)));
  }

  /** How many requests may be sent. No learned limit holds back a request that only finds out what is left (`isAsking`). */
  free(nowMs: number, isAsking = false): number {
    if (nowMs < this.#opensAtMs) return 0;
    const counted = Math.max(this.#invited(nowMs), wholeRequests(this.lead.free(nowMs)));
    return Math.min(this.mostInWindow(nowMs, isAsking) - this.#log.sent(nowMs), counted);
  }

  /** How many requests may be sent by every possible way of counting. */
  sure(nowMs: number): number {
    return Math.min(...this.#possible.map((candidate) => wholeRequests(candidate.free(nowMs))));
  }

  /** The most requests in any time of a window's length, whatever headers say: a window that turns lets twice its limit pass. */
  mostInWindow(nowMs: number, isAsking = false): number {
    return isAsking ? 2 * this.#planned : Math.min(2 * this.#planned, this.#learned?.most(nowMs) ?? Number.POSITIVE_INFINITY);
  }

  /** Whether the window that began after a refusal has used up the learned limit, so that the next request may be refused. */
  get isNearRefusal(): boolean {
    return this.#learned?.isNear(this.#log) ?? false;
  }

  /** When `count` requests may be sent, or when observations expire, so that one request may ask again; infinite if neither. */
  freeAt(count: number, nowMs: number, isAsking = false): number {
    const { lead } = this;
    const most = this.mostInWindow(nowMs, isAsking);
    const endsAtMs = lead === this.#window || this.#isLogOfOthers ? this.#reset.endsAtMs : Number.POSITIVE_INFINITY;
    return Math.max(
      nowMs,
      this.#opensAtMs,
      most < count && this.#learned ? this.#learned.reachesAt(count) : this.#log.sentAt(Math.max(0, most - count), nowMs),
      Math.min(lead.freeAt(count, nowMs), endsAtMs, this.#expiresAtMs),
    );
  }

  /** When a Remaining expires, since others may have stopped: with its window, or soon if no Reset names the window's end. */
  get #expiresAtMs(): number {
    if (this.observedAtMs === undefined) return Number.POSITIVE_INFINITY;
    return this.observedAtMs + (this.#window ? this.lengthMs + PRECISION_MS : this.#expiryMs);
  }

  add(nowMs: number): void {
    for (const candidate of this.candidates) candidate.add(nowMs);
  }

  remove(nowMs: number): void {
    for (const candidate of this.candidates) candidate.remove(nowMs);
  }

  /** The answer to a request came, or the request is lost. The service may not count one that failed. */
  answer(sentAtMs: number, nowMs: number, { hasFailed = false } = {}): void {
    if (sentAtMs >= this.#invitedAtMs) this.#invitedAtMs = Number.POSITIVE_INFINITY;
    this.#log.answer(sentAtMs, nowMs);
    this.#bucket.answer(sentAtMs, nowMs);
    if (hasFailed) this.#failed = Math.min(this.#failed + 1, Math.max(1, Math.floor(this.limit / 2)));
  }

  /** Whether the window under way has ended, so that the next turn begins another one. */
  isOver(nowMs: number): boolean {
    return nowMs >= this.#reset.endsAtMs;
  }

  /** What headers reported no longer counts, and neither does their Limit. */
  forgetLimit(): void {
    this.forget();
    this.observedLimit = undefined;
    this.#setLimits();
  }

  /** Drops what has expired. Returns whether one request now has to find out what is left. */
  turn(nowMs: number, unanswered: number): boolean {
    // The turn comes before anything is forgotten, since a counter takes the requests of others along into the next window.
    const hadOthers = this.hasOthers;
    let asks = this.isOver(nowMs) && this.#begin(nowMs, unanswered);
    if (nowMs >= this.#expiresAtMs) {
      asks ||= hadOthers;
      this.forget();
    }
    return asks;
  }

  /** The window ended and the next one begins. Returns whether only an answer can say what is left in it. */
  #begin(nowMs: number, unanswered: number): boolean {
    const { lead } = this;
    this.#failed = 0;
    const needsAnswer = lead === this.#window || (this.#isLogOfOthers && lead.free(nowMs) < 1);
    for (const candidate of this.candidates) candidate.turn(this.#reset.endsAtMs, unanswered);
    if (needsAnswer) this.#log.forget();
    if (lead === this.#window && this.#counter?.isPossible)
      this.#opensAtMs = Math.min(this.#counter.freeAt(1, nowMs), nowMs + MOST_DELAY_MS);
    this.#reset.pass(nowMs);
    return needsAnswer;
  }

  /** Discards what was observed about others. */
  forget(): void {
    this.observedAtMs = undefined;
    if (this.others !== NO_OTHERS) this.others.forgetBurst();
    for (const candidate of this.candidates) candidate.forget();
  }

  /** Discards what was reported, since the server's clock was set back. */
  forgetReset(nowMs: number): void {
    this.forget();
    this.#reset.forget(nowMs);
    this.#reported = undefined;
  }

  /**
   * Takes the Limit of an answer. A higher one counts only when a second answer repeats it, with a Remaining that is not below the known
   * one. Returns whether the Limit counts.
   */
  observeLimit(limit: number, remaining = limit): boolean {
    const known = this.observedLimit ?? limit;
    const isClaim = limit > known && (limit !== this.#claimedLimit || remaining < known);
    this.#claimedLimit = isClaim ? limit : undefined;
    if (isClaim) return false;
    if (limit !== this.observedLimit) {
      this.observedLimit = limit;
      this.#setLimits();
    }
    return true;
  }

  observe(reading: Reading): void {
    const { reset, status, remaining: reported, nowMs } = reading;
    if (reset && this.#reset.isOvertaken(reset, reading.sentAtMs)) return this.#window?.countBefore(reading.sentAtMs);
    if (reset) this.#observeReset(reset, reading);
    if (reported === undefined) return this.observeUnreported(reading);
    if (reset) {
      const ofBucket = this.#bucket.misfitOfFilling(reported, reset.endsAtMs - nowMs);
      this.#weigh(this.candidates.map((candidate) => (candidate === this.#bucket ? ofBucket : 0)));
    }
    const unseen = status === 429 ? this.#unseenBefore(reading) : 0;
    if (status === 429) this.#observeRefusal(reading);
    const remaining = Math.min(reported, this.observedLimit ?? this.#planned);
    const ofOthers = Math.max(unseen, this.#observeRemaining(remaining, reading));
    if (this.others === NO_OTHERS) this.others = new OthersPace();
    this.others.observe(ofOthers, this.limit / PARTS_AT_ONCE, nowMs - (this.observedAtMs ?? nowMs));
    // Even if the Remaining does not count yet: other processes learn the Reset from it.
    if (reset) this.#noteReported(reset, remaining, nowMs);
    if (this.#isUnexplained) return;
    this.#leastOfBatch = reading.unanswered === 0 ? undefined : Math.min(this.#leastOfBatch ?? remaining, remaining);
    this.observedAtMs = nowMs;
    this.#expiryMs = remaining > 0 ? Math.max(LEAST_EXPIRY_MS, this.#expiryMs / 2) : Math.min(MOST_EXPIRY_MS, 2 * this.#expiryMs);
    this.#learned = undefined;
  }

  /** How many requests others sent unseen before a refused one, where slots come back one by one: they used the room that it counted on. */
  #unseenBefore({ sentAtMs, nowMs }: Reading): number {
    if (!this.isRefilled) return 0;
    const { lead } = this;
    return Math.max(0, lead.level(nowMs) + 1 - Math.max(0, lead.offset ?? 0) - lead.growth(nowMs - sentAtMs));
  }

  /** Answers may overtake each other, so under the same Reset the smallest Remaining counts. */
  #noteReported({ atMs, endsAtMs }: Reset, remaining: number, nowMs: number): void {
    const known = this.#reported?.resetAtMs === atMs ? this.#reported.remaining : remaining;
    const limit = Math.min(UNLIMITED, this.observedLimit ?? this.#planned);
    this.#reported = { limit, remaining: Math.min(known, remaining), resetAtMs: atMs, endsAtMs, observedAtMs: nowMs };
  }

  /** What the headers said last, for other processes. */
  observed(nowMs: number): ObservedWindow | undefined {
    if (!this.#reported) return undefined;
    const { endsAtMs, observedAtMs, ...reported } = this.#reported;
    const times = { endsInMs: Math.ceil(endsAtMs - nowMs), ageMs: Math.max(0, nowMs - observedAtMs) };
    return { ...reported, ...times, ...(this.lead === this.#counter && { isWeighted: true }) };
  }

  #observeReset(reset: Reset, reading: Reading): void {
    const { unanswered, serverMs, nowMs } = reading;
    // Something turns: windows and counters are possible from now on, and start with what was sent so far.
    this.#counterFrom(nowMs);
    this.#window ??= this.#include(new FixedWindow(this.#planned, this.lengthMs, this.#log.sent(nowMs)));
    const kind = this.#reset.kindOf(reset);
    if (kind === 'lasting') this.#window.resume();
    else if (kind !== 'same') {
      const seen = this.#reset.compare(reset, reading);
      this.#weigh(this.candidates.map((candidate) => candidate.misfitOfReset(seen)));
    }
    if (kind === 'next') for (const candidate of this.candidates) candidate.turn(nowMs, unanswered + 1);
    this.#reset.observe(reset, kind);
    const { endsAtMs, isPresumed } = this.#reset;
    if (isPresumed) this.#window.beganBy(endsAtMs - this.lengthMs);
    if (kind === 'first') {
      // The earliest end: requests sent before the window do not count in it.
      const beganAtMs = Math.min(endsAtMs, nowMs + reset.atMs - serverMs) - this.lengthMs;
      this.#window.turn(beganAtMs, this.#log.sentSince(beganAtMs - PRECISION_MS));
    }
    for (const candidate of this.candidates) candidate.align(endsAtMs, unanswered + 1);
  }

  #counterFrom(nowMs: number): SlidingCounter {
    this.#counter ??= this.#include(new SlidingCounter(this.#planned, this.lengthMs, this.#log.sent(nowMs)));
    return this.#counter;
  }

  #include<Kind extends Candidate>(candidate: Kind): Kind {
    // If two fit equally well, the first one leads. A spread would keep room for more.
    this.candidates = Array.of<Candidate>(candidate).concat(this.candidates);
    this.#setLimits();
    return candidate;
  }

  /** Returns how many requests others surely sent since the last answer. */
  #observeRemaining(remaining: number, reading: Reading): number {
    const { lead } = this;
    const seen = this.#seenIn(reading, remaining);
    const fits = this.candidates.map((candidate) => candidate.fitOf(seen));
    const isUnexplained = fits.every(({ candidate, excess }) => excess > 0 || !candidate.isPossible);
    // It counts only when the next answer has one like it.
    this.#isUnexplained = isUnexplained && !this.#isUnexplained;
    if (this.#isUnexplained) return 0;
    const others = fits.reduce((sum, fit) => (fit.candidate === lead ? lead.othersIn(fit) : sum), 0);
    if (reading.status !== 429) this.#weigh(fits.map(({ misfit }) => misfit));
    for (const fit of fits) fit.candidate.observe(fit, seen);
    return others;
  }

  #seenIn(outcome: Outcome, remaining: number): Seen {
    return {
      ...outcome,
      remaining,
      failed: this.#failed,
      leastOfBatch: this.#leastOfBatch,
      areOthersActive: this.others.isActive,
      mayCarry: this.#counter?.isPossible === true,
    };
  }

  /**
   * Learns from an answer that does not report this window's Remaining: it shows whether the service let the request pass, and a Retry-After
   * shows when it lets the next one pass.
   */
  observeUnreported(outcome: Outcome): void {
    if (outcome.status === 429) return this.#observeRefusal(outcome);
    if (outcome.status >= 300 || this.isKnown) return;
    // The request passed, so Remaining was at least 0.
    const seen = this.#seenIn(outcome, 0);
    this.#weigh(this.candidates.map((candidate) => candidate.fitOf(seen).excess / 2));
  }

  /** Takes the end of a weighted counter's window from the server's clock, as long as no Reset says more. */
  alignCounter(endsAtMs: number, nowMs: number): void {
    if (!this.#window) this.#counterFrom(nowMs).align(endsAtMs, 0);
  }

  #observeRefusal(outcome: Outcome): void {
    // If this window has some left, and Retry-After is longer than two of it, a longer window refused the request.
    if (outcome.remaining !== 0 && (outcome.retryAfterMs ?? 0) > 2 * this.lengthMs) return;
    const seen = { ...outcome, endsAtMs: this.#reset.endsAtMs };
    this.#weigh(this.candidates.map((candidate) => candidate.misfitOfRefusal(seen)));
    this.#weigh(this.candidates.map((candidate) => candidate.misfitOfRetryAfter(seen)));
    this.#bucket.drain(outcome.nowMs);
  }

  /** Learns a limit from a refused request, unless a Remaining is known or a weighted counter explains the refusal. */
  learnLimit(refused: Refused, nowMs: number): void {
    if (this.isKnown || (this.lead === this.#counter && this.lead.free(nowMs) < 1)) return;
    this.#learned ??= new LearnedLimit(this.lengthMs);
    this.#learned.refuse(this.#log, refused, nowMs);
  }

  reopen(nowMs: number): void {
    this.#learned?.reopen(nowMs);
  }

  /** A Retry-After passes then: one request may find out what is left, even if every candidate would still wait. */
  invite(instantMs: number): void {
    this.#invitedAtMs = instantMs;
  }

  /** Adds doubt to the candidates that fit worse than the best one. Doubts are relative: that of the best candidate is 0. */
  #weigh(misfits: readonly number[]): void {
    const best = Math.min(...misfits);
    // Where all fit equally well, as with most answers, no doubt changes.
    if (misfits.every((misfit) => misfit === best)) return;
    let least = Number.POSITIVE_INFINITY;
    this.candidates.forEach((candidate, index) => {
      candidate.doubt += Math.min(2, (misfits[index] ?? 0) - best);
      least = Math.min(least, candidate.doubt);
    });
    for (const candidate of this.candidates) candidate.doubt = Math.min(MOST_DOUBT, candidate.doubt - least);
  }
}
