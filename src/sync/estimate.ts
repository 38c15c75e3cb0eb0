import { DAY_MS, MINUTE_MS, PLANS } from '../contract/plans.ts';
import type { Quota, WindowQuota } from '../quota/ledger/quota.ts';

const FREE_QUOTA: Quota = {
  minute: { limit: PLANS.free.requestsPerMinute },
  day: {},
};

/** A window in full: what is left of it now, when it turns, and what each later one admits. */
interface Windows {
  left: number;
  limit: number;
  resetInMs: number;
  lengthMs: number;
}

/**
 * How long requests have to wait for quota, in milliseconds; what the service needs for its answers comes on top.
 *
 * A client that tells no quota is taken to be on the free plan; a window without a limit admits everything.
 */
export function estimateMs(requests: number, quota: Quota = FREE_QUOTA, nowMs: number): number {
  const closedMs = (quota.closedUntil?.getTime() ?? nowMs) - nowMs;
  const day = windows(quota.day, DAY_MS, nowMs);
  const minute = windows(quota.minute, MINUTE_MS, nowMs);
  if (requests <= day.left) return Math.max(closedMs, waitMs(requests, minute));
  // The last day begins with a fresh minute.
  const onLastDay = (requests - day.left) % day.limit || day.limit;
  return waitMs(requests, day) + waitMs(onLastDay, { ...minute, left: minute.limit, resetInMs: MINUTE_MS });
}

/**
 * Whether this many requests fit into what is left of the day; `undefined` where that is not known. Without a reset no header spoke of
 * the day: its `remaining` is the most that the plan can have left, and others may have used it.
 */
export function fitsToday(requests: number, quota: Quota | undefined): boolean | undefined {
  const { remaining, resetAt } = quota?.day ?? {};
  if (remaining === undefined) return undefined;
  if (requests > remaining) return false;
  return resetAt === undefined ? undefined : true;
}

function windows({ limit = Number.POSITIVE_INFINITY, remaining, resetAt }: WindowQuota, lengthMs: number, nowMs: number): Windows {
  const untilReset = resetAt === undefined ? lengthMs : resetAt.getTime() - nowMs;
  // A reset that has passed gave the window back.
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
