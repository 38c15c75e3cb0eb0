import { type Answer, LONGEST_WINDOW_MS } from '../../contract/limits.ts';
import { DAY_MS, MINUTE_MS, PLANS, type PlanLimits } from '../../contract/plans.ts';
import { type LeaseRequest, type ObservedWindow, UNLIMITED } from '../../quota-store.ts';
import { QuotaWindow } from './quota-window.ts';
import { aheadOf } from './server-clock.ts';
import { shareOf } from './share.ts';

/** What the options of a client say about the quota of its key. */
export interface QuotaSettings {
  /** Undefined if the plan is to be learned from the headers. */
  plan: PlanLimits | 'unlimited' | undefined;
  concurrency: number;
  share: number | { low: number };
}

/** A Reset further away than this cannot be the minute's. */
export const LONGEST_MINUTE_MS = 120_000;
/** If `Date` is right, the minute's Reset is at most this far ahead, since both are cut to whole seconds. */
const USUAL_MINUTE_MS = 62_000;
/** Without a Reset a larger Limit is not believed to be the minute's. */
const LARGEST_LIMIT_WITHOUT_RESET = 10_000;

/** The two windows of a key, as large as its plan allows: the plan that its clients gave, or the one that headers show. */
export class Windows {
  // Created with the first call.
  #minuteMade: QuotaWindow | undefined;
  #dayMade: QuotaWindow | undefined;
  #settings: QuotaSettings;
  // Both windows are cut to this share of the key's only client; 1 if there are several, or if requests of closed ones could use it up.
  #share: number;

  constructor(settings: QuotaSettings) {
    this.#settings = settings;
    this.#share = commonShare(settings);
  }

  get minute(): QuotaWindow {
    this.#minuteMade ??= new QuotaWindow(shareOf(this.#limits.requestsPerMinute, this.#share), MINUTE_MS);
    return this.#minuteMade;
  }

  get day(): QuotaWindow {
    this.#dayMade ??= new QuotaWindow(shareOf(this.#limits.requestsPerDay, this.#share), DAY_MS);
    return this.#dayMade;
  }

  /** Without a plan, the limits are learned from the headers. */
  get #isPlanGiven(): boolean {
    return this.#settings.plan !== undefined;
  }

  /** The whole limits: those of the plan. Without one, those that headers report, that a named plan has beside the reported one, or Free's. */
  get #limits(): Partial<PlanLimits> {
    if (this.#isPlanGiven) return limitsOf(this.#settings.plan);
    const ofDay = this.#dayMade?.observedLimit;
    const requestsPerMinute =
      this.#minuteMade?.observedLimit ?? planWith('requestsPerDay', ofDay)?.requestsPerMinute ?? PLANS.free.requestsPerMinute;
    return { requestsPerMinute, requestsPerDay: ofDay ?? planWith('requestsPerMinute', requestsPerMinute)?.requestsPerDay };
  }

  get concurrency(): number {
    return this.#settings.concurrency;
  }

  /** Whether the windows are cut to the share of the key's only client. */
  get areCutToShare(): boolean {
    return this.#share < 1;
  }

  /** Whether the day may be used up before any header reports it; false if the day allows as much as all its minutes together. */
  get mayDayEndUnseen(): boolean {
    if (this.day.isKnown) return false;
    return Number.isFinite(this.day.limit) ? this.day.limit < (this.minute.limit * DAY_MS) / MINUTE_MS : !this.#isPlanGiven;
  }

  /** A limit of the given plan that is larger than what the headers say; undefined if there is none. */
  get overstatement(): { window: 'minute' | 'day'; planned: number; observed: number } | undefined {
    if (!this.#isPlanGiven) return undefined;
    const { requestsPerMinute, requestsPerDay } = this.#limits;
    return overstatementOf('minute', requestsPerMinute, this.minute) ?? overstatementOf('day', requestsPerDay, this.day);
  }

  /** What is reported to other processes: the limits cut to the share; then also the whole limit of the day. */
  observed(nowMs: number): Pick<LeaseRequest, 'plan' | 'limitPerDay' | 'minute' | 'day'> {
    const { plan } = this.#settings;
    const share = this.#share;
    const minute = this.minute.observed(nowMs);
    // A plan that was given without a daily limit has none, even if the store remembers that of an older plan.
    const { requestsPerMinute, requestsPerDay } =
      plan === undefined ? learnedPlan(minute, share) : { requestsPerDay: UNLIMITED, ...limitsOf(plan) };
    return {
      plan: {
        ...(requestsPerMinute !== undefined && { requestsPerMinute: shareOf(requestsPerMinute, share) }),
        ...(requestsPerDay !== undefined && { requestsPerDay: shareOf(requestsPerDay, share) }),
      },
      ...(this.areCutToShare && requestsPerDay !== undefined && { limitPerDay: requestsPerDay }),
      minute,
      day: this.day.observed(nowMs),
    };
  }

  /**
   * Adds another client of the key: the stricter plan counts for both, and each keeps to its own share and concurrency. Returns whether the
   * plans contradict each other.
   */
  join(settings: QuotaSettings): boolean {
    const known = this.#settings;
    this.#settings = {
      ...known,
      plan: stricterPlan(known.plan, settings.plan),
      concurrency: known.concurrency + settings.concurrency,
    };
    this.#share = 1;
    this.#resize();
    return areOtherPlans(known.plan, settings.plan);
  }

  /** Takes the settings of a client in place of those of clients that were all closed, but no smaller share, which these could have used up. */
  restart(settings: QuotaSettings): void {
    this.#settings = settings;
    const share = commonShare(settings);
    this.#share = this.#minuteMade && share < this.#share ? 1 : share;
    this.#resize();
  }

  #resize(): void {
    const { requestsPerMinute, requestsPerDay } = this.#limits;
    this.#minuteMade?.resize(shareOf(requestsPerMinute, this.#share));
    this.#dayMade?.resize(shareOf(requestsPerDay, this.#share));
  }

  /** The window that headers describe, whose Reset is at least `aheadMs` away; undefined if they describe none. */
  describedBy(answer: Answer, aheadMs = 0): QuotaWindow | undefined {
    const { limit, remaining, resetAtMs, resetInMs } = answer;
    if ((limit ?? remaining ?? resetAtMs ?? resetInMs) === undefined) return undefined;
    if (aheadMs > LONGEST_WINDOW_MS) return undefined;
    if (aheadMs > LONGEST_MINUTE_MS) return this.#isOfMinute(answer) ? this.minute : this.day;
    return this.#isOfDay(answer, aheadMs) ? this.day : this.minute;
  }

  /**
   * Whether an answer describes the day, although its Reset is as near as the minute's may be: its Limit was the day's before, is that of
   * the plan, or is larger than the minute's and has a later Reset.
   */
  #isOfDay({ limit, resetAtMs }: Answer, aheadMs: number): boolean {
    const ofMinute = this.minute.observedLimit;
    if (limit === undefined || limit === ofMinute) return false;
    if (limit === this.day.observedLimit && (ofMinute === undefined || resetAtMs === this.day.resetAtMs)) return true;
    const isLater = aheadMs > USUAL_MINUTE_MS;
    const { requestsPerMinute, requestsPerDay } = this.#limits;
    if (limit === requestsPerDay && limit !== requestsPerMinute) return this.#isPlanGiven || isLater;
    return isLater && ofMinute !== undefined && limit > ofMinute;
  }

  /**
   * Whether an answer describes the minute, although by its `Date` the Reset is too far ahead: `Date` is wrong if the Limit is the minute's,
   * and the Reset is near by the machine's clock.
   */
  #isOfMinute({ limit, resetAtMs, receivedAtMs }: Answer): boolean {
    if (limit === undefined || resetAtMs === undefined || resetAtMs - receivedAtMs > LONGEST_MINUTE_MS) return false;
    return limit === this.minute.observedLimit || (this.#isPlanGiven && limit === this.#limits.requestsPerMinute);
  }

  observeLimit(subject: QuotaWindow, answer: Answer): void {
    const limit = answer.limit ?? this.#leastLimit(answer, subject);
    if (limit === undefined) return;
    const { requestsPerMinute: known = UNLIMITED } = this.#limits;
    if (!this.#isPlanGiven && subject === this.minute && limit > known && !mayBeOfMinute(limit, answer)) return;
    if (!subject.observeLimit(limit, answer.remaining)) return;
    if (!this.#isPlanGiven) this.#resize();
    else if (this.areCutToShare) this.#cutToShare(subject, limit);
  }

  /** Without a Limit or a plan, the limit is at least Remaining and 1, which is the request itself. */
  #leastLimit({ remaining }: Answer, { limit }: QuotaWindow): number | undefined {
    if (remaining === undefined) return undefined;
    const isMore = !this.#isPlanGiven && remaining >= limit && remaining <= LARGEST_LIMIT_WITHOUT_RESET;
    return isMore || !Number.isFinite(limit) ? remaining + 1 : undefined;
  }

  /** The share is that of the plan, or of the Limit if that is less. A Limit that is the size of a bucket counts only if the plan has none. */
  #cutToShare(subject: QuotaWindow, limit: number): void {
    const { requestsPerMinute, requestsPerDay } = this.#limits;
    const planned = (subject === this.minute ? requestsPerMinute : requestsPerDay) ?? limit;
    subject.resize(shareOf(subject.isBucket ? planned : Math.min(planned, limit), this.#share));
  }

  /** Drops what has expired. Returns whether one request now has to find out what is left. */
  turn(nowMs: number, unanswered: number): boolean {
    const isDayOver = this.day.isOver(nowMs);
    const wasDayShared = isDayOver && this.day.hasOthers;
    if (isDayOver) {
      // Until an answer of the next day reports its Limit: it may have been that of another endpoint, or of an older plan.
      this.day.forgetLimit();
      this.#resize();
    }
    const minuteAsks = this.minute.turn(nowMs, unanswered);
    return this.day.turn(nowMs, unanswered) || minuteAsks || wasDayShared;
  }
}

/** The limits that a plan sets; none for one that is unlimited or not known. */
function limitsOf(plan: QuotaSettings['plan']): Partial<PlanLimits> {
  return plan === undefined || plan === 'unlimited' ? {} : plan;
}

/** The stricter of two plans, limit by limit; a plan that is left to the headers is ignored. */
export function stricterPlan(one: QuotaSettings['plan'], other: QuotaSettings['plan']): QuotaSettings['plan'] {
  if (one === undefined || one === 'unlimited') return other ?? one;
  if (other === undefined || other === 'unlimited') return one;
  const requestsPerDay = Math.min(one.requestsPerDay ?? Number.POSITIVE_INFINITY, other.requestsPerDay ?? Number.POSITIVE_INFINITY);
  const requestsPerMinute = Math.min(one.requestsPerMinute, other.requestsPerMinute);
  return Number.isFinite(requestsPerDay) ? { requestsPerMinute, requestsPerDay } : { requestsPerMinute };
}

/** Whether two clients of one key contradict each other. One that leaves the plan to the headers does not. */
function areOtherPlans(one: QuotaSettings['plan'], other: QuotaSettings['plan']): boolean {
  if (one === undefined || other === undefined) return false;
  const [limits, others] = [limitsOf(one), limitsOf(other)];
  return limits.requestsPerMinute !== others.requestsPerMinute || limits.requestsPerDay !== others.requestsPerDay;
}

/** The share that limits all calls of a client together. */
export function commonShare({ share }: Pick<QuotaSettings, 'share'>): number {
  return typeof share === 'number' ? share : 1;
}

/** The named plan with this limit of a window. */
function planWith(window: keyof PlanLimits, limit: number | undefined): PlanLimits | undefined {
  return Object.values(PLANS).find((plan) => plan[window] === limit);
}

/** The limits that the observed minute implies: its own if the client uses a share of it, and until it ends the day's of its named plan. */
function learnedPlan(minute: ObservedWindow | undefined, share: number): Partial<PlanLimits> {
  const requestsPerDay = planWith('requestsPerMinute', minute?.limit)?.requestsPerDay;
  return {
    ...(minute && share < 1 && { requestsPerMinute: minute.limit }),
    ...(minute && minute.endsInMs > 0 && requestsPerDay !== undefined && { requestsPerDay }),
  };
}

function overstatementOf(
  window: 'minute' | 'day',
  planned: number | undefined,
  { observedLimit: observed, isBucket }: QuotaWindow,
): Windows['overstatement'] {
  // A plan without a limit overstates nothing. A Limit may be the size of a bucket instead.
  const isKnown = planned !== undefined && observed !== undefined && !isBucket;
  return isKnown && observed < planned ? { window, planned, observed } : undefined;
}

/** Whether a Limit above the known one may be the minute's: its Reset is near by `Date`, or by the machine's clock if there is none. */
function mayBeOfMinute(limit: number, answer: Answer): boolean {
  const aheadMs = aheadOf(answer, answer.dateMs ?? answer.receivedAtMs);
  return aheadMs === undefined ? limit <= LARGEST_LIMIT_WITHOUT_RESET : aheadMs <= USUAL_MINUTE_MS;
}
