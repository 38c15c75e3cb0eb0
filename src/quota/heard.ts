import type { Answer } from '../contract/limits.ts';
import { PLANS, type PlanLimits } from '../contract/plans.ts';
import type { HeardWindow } from '../quota-store.ts';
import { ServerClock } from './server-clock.ts';
import { limitsOf, type QuotaSettings, shareOf } from './settings.ts';
import { spokenWindow } from './spoken-window.ts';

interface Heard {
  limit: number;
  remaining: number;
  resetAtMs: number;
  atMs: number;
}

/** What this process heard of the windows, in the form in which others can be told. Pure: the time is a parameter. */
export class HeardQuota {
  readonly #serverClock = new ServerClock();
  #settings: QuotaSettings;
  #minute: Heard | undefined;
  #day: Heard | undefined;

  constructor(settings: QuotaSettings) {
    this.#settings = settings;
  }

  tighten({ plan, concurrency, share }: QuotaSettings): void {
    this.#settings = { plan: this.#settings.plan ?? plan, concurrency, share: Math.min(share, this.#settings.share) };
  }

  /** The limits that hold for all processes together: the plan's, or else what the headers taught, and of both only the share. */
  get plan(): Partial<PlanLimits> {
    const { plan, share } = this.#settings;
    const { requestsPerMinute, requestsPerDay } = plan === undefined ? this.#learnedPlan : limitsOf(plan);
    return {
      ...(requestsPerMinute !== undefined && { requestsPerMinute: shareOf(requestsPerMinute, share) }),
      ...(requestsPerDay !== undefined && { requestsPerDay: shareOf(requestsPerDay, share) }),
    };
  }

  /** A minute's limit tells the plan, and with it the day's. It is a ceiling only for who wants a share of it. */
  get #learnedPlan(): Partial<PlanLimits> {
    const limit = this.#minute?.limit;
    const requestsPerDay = Object.values(PLANS).find((plan) => plan.requestsPerMinute === limit)?.requestsPerDay;
    return {
      ...(limit !== undefined && this.#settings.share < 1 && { requestsPerMinute: limit }),
      ...(requestsPerDay !== undefined && { requestsPerDay }),
    };
  }

  hear({ dateMs, receivedAtMs, rateLimit }: Answer, sentAtMs: number, nowMs: number): void {
    if (dateMs === undefined) this.#serverClock.presume(receivedAtMs - nowMs);
    else this.#serverClock.observe(dateMs, sentAtMs, nowMs);
    if (!rateLimit) return;
    const heard = { ...rateLimit, atMs: nowMs };
    const spoken = this.#windowOf(heard, nowMs);
    if (spoken === 'day') this.#day = newer(this.#day, heard);
    if (spoken === 'minute') this.#minute = newer(this.#minute, heard);
  }

  /** `endsInMs` is not positive for one that is over. */
  minute(nowMs: number): HeardWindow | undefined {
    return this.#tell(this.#minute, nowMs);
  }

  day(nowMs: number): HeardWindow | undefined {
    return this.#tell(this.#day, nowMs);
  }

  #tell(heard: Heard | undefined, nowMs: number): HeardWindow | undefined {
    if (!heard) return undefined;
    const endsInMs = Math.ceil(this.#serverClock.toLocal(heard.resetAtMs, nowMs) - nowMs);
    const { limit, remaining, resetAtMs, atMs } = heard;
    return { limit, remaining, resetAtMs, endsInMs, agoMs: Math.max(0, nowMs - atMs) };
  }

  #windowOf({ limit, resetAtMs }: Heard, nowMs: number): 'minute' | 'day' | undefined {
    const { plan } = this.#settings;
    const { requestsPerMinute, requestsPerDay } = limitsOf(plan);
    const known = { minute: requestsPerMinute, day: requestsPerDay, isPlanGiven: plan !== undefined };
    return spokenWindow(limit, this.#serverClock.toLocal(resetAtMs, nowMs) - nowMs, known);
  }
}

/** Answers overtake each other: an older Reset says nothing, and under the same the smallest Remaining counts. */
function newer(known: Heard | undefined, heard: Heard): Heard {
  if (!known || heard.resetAtMs > known.resetAtMs) return heard;
  if (heard.resetAtMs < known.resetAtMs) return known;
  return { ...heard, remaining: Math.min(heard.remaining, known.remaining) };
}
