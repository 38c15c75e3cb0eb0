import { RATE_LIMIT_HEADERS } from '../contract/http.ts';
import type { ToldLimit } from './count.ts';

export const TOLD_WINDOWS = ['minute', 'day', 'tightest', 'alternate'] as const;
/**
 * Which limit `X-RateLimit-*` report: always the minute's, always the day's, the one with the fewest requests left, or both
 * alternately. For a plan without a day's limit, they report the minute's.
 *
 * @example
 * const limitHeaders: ToldWindow = 'tightest';
 * const telling = createSandbox({ limitHeaders });
 */
export type ToldWindow = (typeof TOLD_WINDOWS)[number];

/** The fields of the headers, in the order in which they are sent. */
export const LIMIT_FIELDS = ['limit', 'remaining', 'reset'] as const;

/**
 * The settings of `X-RateLimit-*`. The defaults are what the specification promises (Limits).
 *
 * @example
 * const limitHeaders: LimitHeaders = { omit: ['reset'], rate: 0.5, lagMs: 200 };
 * const vague = createSandbox({ limitHeaders });
 */
export interface LimitHeaders {
  /** Which limit they report. @default 'minute' */
  window?: ToldWindow | undefined;
  /**
   * What Limit reports for a token bucket: the plan's requests per minute, or the burst; `burst` only if the minute is a token bucket.
   * @default 'plan'
   */
  limit?: 'plan' | 'burst' | undefined;
  /** Headers that no answer carries. @default none */
  omit?: readonly ('limit' | 'remaining' | 'reset')[] | undefined;
  /** The part of the answers that carry the headers, from 0 to 1; the seed decides which. @default 1 */
  rate?: number | undefined;
  /** Remaining has the value of this many milliseconds ago, at most 1e13, as from a replica that lags behind. @default 0 */
  lagMs?: number | undefined;
  /** Reset as a Unix timestamp in seconds or milliseconds, or as seconds to go. @default 'seconds' */
  reset?: 'seconds' | 'milliseconds' | 'seconds-to-go' | undefined;
  /** How Reset is rounded to a whole number. Rounded down, it may be earlier than the end of the window. @default 'up' */
  rounding?: 'up' | 'down' | undefined;
}

/** The settings with their defaults. */
type ResolvedLimitHeaders = { [Field in keyof LimitHeaders]-?: NonNullable<LimitHeaders[Field]> };

/** Fills in the defaults, which the specification promises. */
export function resolveLimitHeaders(given: ToldWindow | LimitHeaders = {}): ResolvedLimitHeaders {
  const told: LimitHeaders = typeof given === 'string' ? { window: given } : given;
  const { window = 'minute', limit = 'plan', omit = [], rate = 1, lagMs = 0, reset = 'seconds', rounding = 'up' } = told;
  return { window, limit, omit, rate, lagMs, reset, rounding };
}

/** Sets the headers; `nowMs` is the time of the node that answers. */
export function writeLimitHeaders(headers: Headers, { form, told, nowMs }: { form: ResolvedLimitHeaders; told: ToldLimit; nowMs: number }) {
  const values = { limit: told.limit, remaining: told.remaining, reset: resetOf(form, { resetAtMs: told.resetAtMs, nowMs }) };
  const sent = LIMIT_FIELDS.filter((field) => !form.omit.includes(field));
  for (const field of sent) headers.set(RATE_LIMIT_HEADERS[field], String(values[field]));
}

function resetOf({ reset, rounding }: ResolvedLimitHeaders, { resetAtMs, nowMs }: { resetAtMs: number; nowMs: number }): number {
  const round = rounding === 'up' ? Math.ceil : Math.floor;
  if (reset === 'milliseconds') return round(resetAtMs);
  return round((reset === 'seconds' ? resetAtMs : resetAtMs - nowMs) / 1_000);
}
