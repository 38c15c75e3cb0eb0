import type { Answer } from '../contract/limits.ts';
import type { RateLimit } from '../errors.ts';

/** What an answer said of the limits, for callers. */
export function publicRateLimit({ rateLimit }: Answer): RateLimit | undefined {
  return rateLimit && { limit: rateLimit.limit, remaining: rateLimit.remaining, resetAt: new Date(rateLimit.resetAtMs) };
}
