import type { PlanLimits } from '../../contract/plans.ts';

/** Stands for no limit, as a number that every store can hold. */
export const UNLIMITED = 1e12;

/** What the options of a client say about the quota of its key. */
export interface QuotaSettings {
  /** Undefined if the plan is to be learned from the headers. */
  plan: PlanLimits | 'unlimited' | undefined;
  concurrency: number;
  share: number | { low: number };
}

/** The limits that a plan sets; none for one that is unlimited or not known. */
export function limitsOf(plan: QuotaSettings['plan']): Partial<PlanLimits> {
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
export function areOtherPlans(one: QuotaSettings['plan'], other: QuotaSettings['plan']): boolean {
  if (one === undefined || other === undefined) return false;
  const [limits, others] = [limitsOf(one), limitsOf(other)];
  return limits.requestsPerMinute !== others.requestsPerMinute || limits.requestsPerDay !== others.requestsPerDay;
}

/** The share that limits all calls of a client together. */
export function commonShare({ share }: Pick<QuotaSettings, 'share'>): number {
  return typeof share === 'number' ? share : 1;
}

/** By how much a share may fall short of a whole request and still count as one: 0.57 of 100 is 56.99999999999999. */
const ROUNDING = 1e-6;

/** A share of a limit, in requests: at least one; infinite if the plan sets no limit. */
export function shareOf(limit: number | undefined, share: number): number {
  return limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(limit * share + ROUNDING));
}
