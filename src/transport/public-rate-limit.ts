import type { Answer } from '../contract/limits.ts';
import type { RateLimit } from '../errors.ts';

/** What an answer said about the limits, for callers; undefined if a part is missing. */
export function publicRateLimit({ limit, remaining, resetAtMs, resetInMs, dateMs, receivedAtMs }: Answer): RateLimit | undefined {
  const atMs = resetInMs === undefined ? resetAtMs : (dateMs ?? receivedAtMs) + resetInMs;
  return limit === undefined || remaining === undefined || atMs === undefined ? undefined : { limit, remaining, resetAt: new Date(atMs) };
}
