import type { Answer } from '../contract/limits.ts';
import { PLANS, type PlanLimits } from '../contract/plans.ts';
import type { HeardWindow } from '../quota-store.ts';
import { ServerClock } from './server-clock.ts';
import { limitsOf, type QuotaSettings, shareOf } from './settings.ts';
import { spokenWindow } from './spoken-window.ts';

/** A number that every store can hold stands for no limit. */
const UNLIMITED = 1e12;

interface Heard {
  limit: number;
  remaining: number;
  resetAtMs: number;
  atMs: number;
}

/** What this process heard of the windows, in the form in which others can be told. Pure: the time is a parameter. */
export class HeardQuota {
  /** What the options of all clients of the key say together. */
  settings: QuotaSettings;
  readonly #serverClock = new ServerClock();
  #minute: Heard | undefined;
  #day: Heard | undefined;

  constructor(settings: QuotaSettings) {
    this.settings = settings;
  }

  /** The limits that hold for all processes together: the plan's, or else what the headers taught, and of both only the share. */
  plan(nowMs: number): Partial<PlanLimits> {
    const { plan, share } = this.settings;
    const { requestsPerMinute, requestsPerDay } = plan === undefined ? this.#learnedPlan(nowMs) : givenLimits(plan);
    return {
      ...(requestsPerMinute !== undefined && { requestsPerMinute: shareOf(requestsPerMinute, share) }),
      ...(requestsPerDay !== undefined && { requestsPerDay: shareOf(requestsPerDay, share) }),
    };
  }

  /** A minute's limit tells the plan, and with it the day's while it lasts. It is a ceiling only for who wants a share of it. */
  #learnedPlan(nowMs: number): Partial<PlanLimits> {
    const limit = this.#minute?.limit;
    const isRunning = (this.minute(nowMs)?.endsInMs ?? 0) > 0;
    const requestsPerDay = Object.values(PLANS).find((plan) => plan.requestsPerMinute === limit)?.requestsPerDay;
    return {
      ...(limit !== undefined && this.settings.share < 1 && { requestsPerMinute: limit }),
      ...(isRunning && requestsPerDay !== undefined && { requestsPerDay }),
    };
  }

  hear({ dateMs, receivedAtMs, rateLimit }: Answer, sentAtMs: number, nowMs: number): void {
    if (dateMs === undefined) this.#serverClock.presume(receivedAtMs - nowMs);
    else if (this.#serverClock.observe(dateMs, sentAtMs, nowMs)) this.#forget();
    if (!rateLimit) return;
    const heard = { ...rateLimit, atMs: nowMs };
    const spoken = this.#windowOf(heard, nowMs);
    if (spoken === 'day') this.#day = newer(this.#day, heard);
    if (spoken === 'minute') this.#minute = newer(this.#minute, heard);
  }

  /** The server's clock was set back. */
  #forget(): void {
    this.#minute = undefined;
    this.#day = undefined;
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
    const { plan } = this.settings;
    const { requestsPerMinute, requestsPerDay } = limitsOf(plan);
    const known = { minute: requestsPerMinute, day: requestsPerDay, isPlanGiven: plan !== undefined };
    return spokenWindow(limit, this.#serverClock.toLocal(resetAtMs, nowMs) - nowMs, known);
  }
}

/** A plan that was given without a limit for the day has none, also where that of an older plan is remembered. */
function givenLimits(plan: NonNullable<QuotaSettings['plan']>): Partial<PlanLimits> {
  return { requestsPerDay: UNLIMITED, ...limitsOf(plan) };
}

/** Answers overtake each other: an older Reset says nothing, and under the same the smallest Remaining counts. */
function newer(known: Heard | undefined, heard: Heard): Heard {
  if (!known || heard.resetAtMs > known.resetAtMs) return heard;
  if (heard.resetAtMs < known.resetAtMs) return known;
  return { ...heard, remaining: Math.min(heard.remaining, known.remaining) };
}
