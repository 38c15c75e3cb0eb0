import { DAY_MS, MINUTE_MS, PLANS } from '../contract/plans.ts';
import type { Quota, WindowQuota } from '../quota/ledger/quota.ts';

/** The quota that limits calls of a priority: a share may be that of low ones alone. */
export function quotaFor(priority: 'normal' | 'low', quota: Quota | undefined): Quota | undefined {
  return priority === 'low' ? quota : quota && { ...quota, share: undefined };
}

/** The windows of a quota that limit its calls: those of the share, if there is one. */
export function limitsOf(quota: Quota | undefined): Pick<Quota, 'minute' | 'day'> | undefined {
  return quota?.share ?? quota;
}

/** The current window and those after it: the requests left now, the time until the reset, and the limit of each later window. */
interface Windows {
  left: number;
  limit: number;
  resetInMs: number;
  lengthMs: number;
}

/**
 * How long requests have to wait for quota, in milliseconds, without the time that the service needs to answer.
 *
 * Without a quota, the free plan is assumed. A window without a limit admits everything.
 */
export function estimateMs(requests: number, quota: Quota | undefined, nowMs: number): number {
  const { minute, day } = limitsOf(quota) ?? { minute: { limit: PLANS.free.requestsPerMinute }, day: {} };
  const closedMs = (quota?.closedUntil?.getTime() ?? nowMs) - nowMs;
  const days = windows(day, DAY_MS, nowMs);
  const minutes = windows(minute, MINUTE_MS, nowMs);
  if (requests <= days.left) return Math.max(closedMs, waitMs(requests, minutes));
  // The last day begins with a fresh minute.
  const onLastDay = (requests - days.left) % days.limit || days.limit;
  return Math.max(closedMs, waitMs(requests, days)) + waitMs(onLastDay, { ...minutes, left: minutes.limit, resetInMs: MINUTE_MS });
}

/**
 * Whether the day has this many requests left; `undefined` if that is not known. Without a `resetAt`, no header has reported the day:
 * then `remaining` is the most that the plan can have left, and other programs may have used it.
 */
export function fitsToday(requests: number, quota: Quota | undefined): boolean | undefined {
  const { remaining, resetAt } = limitsOf(quota)?.day ?? {};
  if (remaining === undefined) return undefined;
  if (requests > remaining) return false;
  return resetAt === undefined ? undefined : true;
}

function windows({ limit = Number.POSITIVE_INFINITY, remaining, resetAt }: WindowQuota, lengthMs: number, nowMs: number): Windows {
  const untilReset = resetAt === undefined ? lengthMs : resetAt.getTime() - nowMs;
  // After the reset, the window is full again.
  const hasTurned = untilReset <= 0;
  return {
    left: hasTurned ? limit : (remaining ?? limit),
    limit: Math.max(1, limit),
    resetInMs: hasTurned ? lengthMs : untilReset,
    lengthMs,
  };
}

function waitMs(requests: number, { left, limit, resetInMs, lengthMs }: Windows): number {
  if (requests <= left) return 0;
  return resetInMs + (Math.ceil((requests - left) / limit) - 1) * lengthMs;
}
