import type { PlanLimits } from '../contract/plans.ts';
import { createWindow, type Policy, type Window } from './windows.ts';

const DAY_MS = 86_400_000;

/**
 * When a key that keeps knocking after a 429 is banned, and for how long: our reading of the specification (Authentication, 4).
 * Only what is refused again counts: a request that comes during the penalty and is admitted may be another program's.
 *
 * @example
 * const ban: Ban = { after: 3, forMs: 5_000 };
 * const strict = createSandbox({ ban });
 */
export interface Ban {
  /** Requests refused during a penalty that are let pass with a 429; the next one brings the ban. */
  after: number;
  /** How long the ban lasts, in milliseconds. */
  forMs: number;
}

export const RETRY_AFTER_FORMS = ['seconds', 'date', 'missing'] as const;
/**
 * How a 429 tells its wait: whole seconds, an HTTP-date, or not at all (RFC 9110 section 10.2.3).
 *
 * @example
 * const retryAfter: RetryAfterForm = 'date';
 * const dated = createSandbox({ retryAfter });
 */
export type RetryAfterForm = (typeof RETRY_AFTER_FORMS)[number];

export const TOLD_WINDOWS = ['minute', 'tightest'] as const;
/**
 * Which limit `X-RateLimit-*` speak of: always the minute's, or the one with the fewest requests left.
 *
 * @example
 * const limitHeaders: ToldWindow = 'tightest';
 * const telling = createSandbox({ limitHeaders });
 */
export type ToldWindow = (typeof TOLD_WINDOWS)[number];

/** How keys are measured, the same for all keys of a sandbox. */
export interface MeterRules {
  readonly minutePolicy: Policy;
  readonly dayPolicy: Policy;
  readonly minuteMs: number;
  readonly ban: Ban | false;
  readonly retryAfter: RetryAfterForm;
  readonly limitHeaders: ToldWindow;
}

/** What the meter says to one request. */
export interface Verdict {
  readonly kind: 'admitted' | 'limited' | 'banned';
  /** It came after a 429 and before the time that the 429 had told. */
  readonly duringPenalty: boolean;
  /** For `limited`: when to come back. For `banned`: when the ban ends. Milliseconds since 1970. */
  readonly untilMs: number;
  /** This request brought the ban. */
  readonly beginsBan: boolean;
}

/** What `X-RateLimit-*` tell. */
export interface ToldLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

/** Counts the requests of one key on one environment: two limits, the penalty after a 429, the ban. */
export class Meter {
  readonly #rules: MeterRules;
  readonly #minute: Window;
  readonly #day: Window | undefined;
  #penaltyUntilMs = Number.NEGATIVE_INFINITY;
  #bannedUntilMs = Number.NEGATIVE_INFINITY;
  // Requests refused since the penalty began; a penalty that was waited out forgives them.
  #knocks = 0;

  constructor(plan: PlanLimits, rules: MeterRules) {
    this.#rules = rules;
    this.#minute = createWindow(rules.minutePolicy, { limit: plan.requestsPerMinute, lengthMs: rules.minuteMs });
    this.#day =
      plan.requestsPerDay === undefined ? undefined : createWindow(rules.dayPolicy, { limit: plan.requestsPerDay, lengthMs: DAY_MS });
  }

  /** Judges a request and counts it if it is admitted: what was refused costs no quota. */
  judge(nowMs: number): Verdict {
    const duringPenalty = nowMs < this.#penaltyUntilMs;
    if (nowMs < this.#bannedUntilMs) return { kind: 'banned', duringPenalty, beginsBan: false, untilMs: this.#bannedUntilMs };
    if (!duringPenalty) this.#knocks = 0;
    const opensAtMs = Math.max(this.#minute.opensAtMs(nowMs), this.#day?.opensAtMs(nowMs) ?? nowMs);
    if (opensAtMs > nowMs) return this.#refuse({ opensAtMs, nowMs, duringPenalty });
    this.#minute.take(nowMs);
    this.#day?.take(nowMs);
    return { kind: 'admitted', duringPenalty, beginsBan: false, untilMs: nowMs };
  }

  /** The figures for the headers, by the window that the rules say. */
  told(nowMs: number): ToldLimit {
    const minute = toldOf(this.#minute, nowMs);
    if (this.#rules.limitHeaders === 'minute' || this.#day === undefined) return minute;
    const day = toldOf(this.#day, nowMs);
    return day.remaining < minute.remaining ? day : minute;
  }

  /** Both windows and what hangs over the key, for whoever watches. */
  gauges(nowMs: number): { minute: ToldLimit; day: ToldLimit | undefined; penaltyUntilMs: number; bannedUntilMs: number } {
    return {
      minute: toldOf(this.#minute, nowMs),
      day: this.#day && toldOf(this.#day, nowMs),
      penaltyUntilMs: this.#penaltyUntilMs,
      bannedUntilMs: this.#bannedUntilMs,
    };
  }

  /** Only a refusal counts towards the ban: what is admitted may be of another program, which was told nothing. */
  #refuse({ opensAtMs, nowMs, duringPenalty }: { opensAtMs: number; nowMs: number; duringPenalty: boolean }): Verdict {
    if (duringPenalty) this.#knocks += 1;
    const { ban } = this.#rules;
    if (ban === false || this.#knocks <= ban.after) {
      return { kind: 'limited', duringPenalty, beginsBan: false, untilMs: this.#punish(opensAtMs, nowMs) };
    }
    this.#bannedUntilMs = nowMs + ban.forMs;
    this.#penaltyUntilMs = Number.NEGATIVE_INFINITY;
    this.#knocks = 0;
    return { kind: 'banned', duringPenalty, beginsBan: true, untilMs: this.#bannedUntilMs };
  }

  #punish(opensAtMs: number, nowMs: number): number {
    const untilMs = untilTold(this.#rules.retryAfter, { opensAtMs, nowMs });
    this.#penaltyUntilMs = Math.max(this.#penaltyUntilMs, untilMs);
    return untilMs;
  }
}

function toldOf(window: Window, nowMs: number): ToldLimit {
  return { limit: window.limit, remaining: Math.max(0, window.remaining(nowMs)), resetAtMs: window.resetAtMs(nowMs) };
}

/** A header counts in whole seconds, so the wait that it tells ends at or after the window's opening, never before. */
function untilTold(form: RetryAfterForm, { opensAtMs, nowMs }: { opensAtMs: number; nowMs: number }): number {
  if (form === 'seconds') return nowMs + Math.ceil((opensAtMs - nowMs) / 1_000) * 1_000;
  return form === 'date' ? Math.ceil(opensAtMs / 1_000) * 1_000 : opensAtMs;
}
