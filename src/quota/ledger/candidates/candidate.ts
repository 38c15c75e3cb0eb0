/** `Date` and Reset are each cut to whole seconds: an instant computed from them is off by at most this. */
export const PRECISION_MS = 1500;
/** By how much a Remaining is too small on average, since it is cut to whole requests. */
export const HALF_A_REQUEST = 0.5;
/** By how much a number may fall short of a whole request and still count as one: 0.57 of 100 is 56.99999999999999. */
const ROUNDING = 1e-6;
/** By how much a candidate may open later than Retry-After says, or earlier, in addition to the time that the answer took. */
const LATE_MS = 2_500;
const EARLY_MS = 3_500;
/** A candidate with this much doubt is ruled out. */
const RULED_OUT = 2;

/** What one answer says about a window without its Reset: it may have no header that describes the window. */
export interface Outcome {
  status: number;
  remaining: number | undefined;
  retryAfterMs: number | undefined;
  /** Requests that are still in flight. */
  unanswered: number;
  /** Requests that the answer may or may not include. */
  concurrent: number;
  sentAtMs: number;
  nowMs: number;
}

/** A Remaining, and what the client knows about the requests that it includes. */
export interface Seen extends Pick<Outcome, 'unanswered' | 'concurrent' | 'sentAtMs' | 'nowMs'> {
  remaining: number;
  /** Requests that the service may not have counted: they failed. */
  failed: number;
  /** The smallest Remaining of the answers to requests that were in flight together, if there was one before. */
  leastOfBatch: number | undefined;
  /** Whether others have sent requests in the last seconds. */
  areOthersActive: boolean;
  /** Whether the count may be weighted, so that the first answer after a turn still counts requests of the window before. */
  mayCarry: boolean;
}

/** What a Remaining means if one candidate is the service's way of counting. */
export interface Fit {
  candidate: Candidate;
  /** Bounds of how many requests others sent. */
  lowest: number;
  highest: number;
  /** By how many requests Remaining is larger than the candidate can explain. */
  excess: number;
  /** How badly it fits: it fell without a request, or is larger than the candidate allows. */
  misfit: number;
}

/** A Reset that is not the known one. */
export interface SeenReset extends Pick<Outcome, 'sentAtMs' | 'nowMs'> {
  /** It is a whole minute, or day, by the clock. */
  isByClock: boolean;
  /** It is later than the known one, other than by a turn. */
  hasMoved: boolean;
  /** The known one has passed. */
  hasPassed: boolean;
  /** When it comes, on our clock. */
  endsAtMs: number;
  precisionMs: number;
}

/** A refusal, which may report Remaining and a Retry-After. */
export interface SeenRefusal extends Pick<Outcome, 'remaining' | 'retryAfterMs' | 'sentAtMs' | 'nowMs'> {
  /** When the window ends. */
  endsAtMs: number;
}

/**
 * A model of how the service may count the requests of a window. It counts what was sent, predicts what would pass now and when more
 * would, and says how badly an answer fits.
 */
export abstract class Candidate {
  /** Requests that the service counts and this client did not send; undefined until a Remaining was observed. */
  offset: number | undefined;
  /** The latest `offset` before the observations were discarded; undefined if there was none. */
  protected expected: number | undefined;
  /** Requests that the service allows beyond the plan. */
  protected withheld = 0;
  /** From 0 (every answer fits) to 4 (none does). */
  doubt = 0;
  protected limit: number;
  protected readonly lengthMs: number;

  constructor(limit: number, lengthMs: number) {
    this.limit = limit;
    this.lengthMs = lengthMs;
  }

  /** Whether it may be the service's way of counting. */
  get isPossible(): boolean {
    return this.doubt < RULED_OUT;
  }

  /** How unlikely the model is before anything was observed. */
  abstract get prior(): number;

  /** What this client's own requests leave of the limit; negative if more were sent. */
  abstract room(nowMs: number): number;
  /** When the room reaches `count`; infinite if only the end of the window frees any. */
  abstract roomAt(count: number, nowMs: number): number;
  abstract add(nowMs: number): void;
  /** Takes back a request that was added just now and not sent after all. */
  abstract remove(nowMs: number): void;

  /** What the service's count leaves of its limit, whatever the plan says. */
  level(nowMs: number): number {
    return this.room(nowMs);
  }

  /** How far the count may be off because requests take time, and headers are cut to seconds. */
  margin(_nowMs: number): number {
    return 0;
  }

  /** By how much the room grows within `ms` while nothing is sent, plus what a Remaining loses by being cut to whole requests. */
  growth(_ms: number): number {
    return 0;
  }

  /** By how much the room may be larger than `room` says. */
  surplus(_nowMs: number): number {
    return 0;
  }

  /** The window ended at `atMs`; the `unanswered` requests may count in it or in the next one. */
  turn(_atMs: number, _unanswered: number): void {}

  /** Sets the end of the current window, as the Reset of an answer says. In a window that has just begun, `sent` requests count already. */
  align(_endsAtMs: number, _sent: number): void {}

  /** Sets what the service allows, and what the plan allows. */
  resize(limit: number, planned: number): void {
    this.limit = limit;
    this.withheld = limit > planned ? limit - planned : 0;
  }

  /** What the room holds that the plan does not allow. */
  get beyondPlan(): number {
    return this.withheld;
  }

  /** The requests of others, or what the service allows beyond the plan, whichever is more. */
  protected get taken(): number {
    const ofOthers = this.offset ?? 0;
    return this.withheld > 0 ? Math.max(ofOthers, this.withheld) : ofOthers;
  }

  /** How many requests may be sent. */
  free(nowMs: number): number {
    return this.room(nowMs) - this.taken;
  }

  freeAt(count: number, nowMs: number): number {
    return this.roomAt(count + this.taken, nowMs);
  }

  /** What a Remaining says about the requests of others. */
  fitOf(seen: Seen): Fit {
    const { remaining, concurrent, unanswered, failed, leastOfBatch, sentAtMs, nowMs } = seen;
    const level = this.level(nowMs);
    // Once nothing is in flight, the smallest Remaining of the requests that were in flight together includes them all.
    const highest = unanswered === 0 ? level - Math.min(remaining, leastOfBatch ?? remaining) : level - remaining + concurrent;
    const lowest = level - remaining - this.growth(nowMs - sentAtMs);
    const planned = this.limit - this.withheld;
    const tolerance = 1.5 + Math.max((planned * PRECISION_MS) / this.lengthMs, this.margin(nowMs));
    const excess = Math.max(0, -highest - failed - this.surplus(nowMs) - tolerance);
    const usual = this.usual(seen);
    const fell = usual === undefined ? 0 : Math.max(0, lowest - Math.max(0, usual) - tolerance);
    return { candidate: this, lowest, highest, excess, misfit: Math.max(fell, excess) / 2 };
  }

  /** How many requests of others are no surprise; undefined if nothing is known of them. */
  protected usual(_seen: Seen): number | undefined {
    return this.offset ?? this.expected;
  }

  /**
   * How many requests others surely sent since the last answer. Requests of others leave the count or give their tokens back, and the count
   * has fractions that Remaining lacks.
   */
  othersIn({ lowest }: Fit): number {
    return this.offset === undefined ? 0 : Math.max(0, lowest - Math.max(0, this.offset) - HALF_A_REQUEST);
  }

  /** How badly a refusal fits: by how many requests there was room. Where no Remaining is reported, others count as none. */
  misfitOfRefusal({ remaining, nowMs }: Pick<SeenRefusal, 'remaining' | 'nowMs'>): number {
    const taken = this.offset ?? this.expected ?? (remaining === undefined ? 0 : undefined);
    if (taken === undefined) return 0;
    const left = this.level(nowMs) + 1 - Math.max(0, taken) - this.margin(nowMs);
    return left >= 1 ? Math.min(4, left) / 2 : 0;
  }

  /** How badly the Retry-After of a refusal fits: the candidate opens at another time. A Retry-After of 0 tells nothing. */
  misfitOfRetryAfter(seen: SeenRefusal): number {
    const { retryAfterMs, sentAtMs, nowMs } = seen;
    if (!retryAfterMs) return 0;
    const retryAtMs = nowMs + retryAfterMs;
    const opensAtMs = this.opensAt(seen, retryAtMs);
    if (!Number.isFinite(opensAtMs)) return 0;
    return opensAtMs > retryAtMs + LATE_MS || opensAtMs < retryAtMs - EARLY_MS - (nowMs - sentAtMs) ? 1 : 0;
  }

  /** When the next request would pass; infinite if that is not known. */
  protected opensAt({ remaining, nowMs }: SeenRefusal, _retryAtMs: number): number {
    return this.offset === undefined && remaining !== undefined ? Number.POSITIVE_INFINITY : this.freeAt(0, nowMs);
  }

  /** How badly a Reset fits: where it lies, and how far it has moved. */
  misfitOfReset(_seen: SeenReset): number {
    return 0;
  }

  /** Updates the offset: a Remaining shows that others sent between `lowest` and `highest` requests. */
  observe({ lowest, highest }: Fit, { unanswered, failed }: Seen): void {
    const { offset: known = Number.NEGATIVE_INFINITY } = this;
    const offset = lowest > known ? lowest + unanswered : Math.min(known, highest);
    this.offset = Math.max(offset, -failed);
  }

  /** Discards the observations. */
  forget(): void {
    this.expected = this.offset ?? this.expected;
    this.offset = undefined;
  }
}

/** How many whole requests a level or a part of a limit is. */
export function wholeRequests(requests: number): number {
  return Math.floor(requests + ROUNDING);
}
