import type { PlanLimits } from '../../contract/plans.ts';

/** A number that every store can hold stands for no limit. */
export const UNLIMITED = 1e12;

/** What the options of a client say about the quota of its key. */
export interface QuotaSettings {
  /** Undefined: to be learned from the headers. */
  plan: PlanLimits | 'unlimited' | undefined;
  concurrency: number;
  share: number;
}

/** The limits that a plan sets; none for one that is unlimited or not known. */
export function limitsOf(plan: QuotaSettings['plan']): Partial<PlanLimits> {
  return plan === undefined || plan === 'unlimited' ? {} : plan;
}

/** The stricter of two plans, limit by limit; one that is left to the headers counts for nothing. */
export function stricterPlan(one: QuotaSettings['plan'], other: QuotaSettings['plan']): QuotaSettings['plan'] {
  if (one === undefined || one === 'unlimited') return other ?? one;
  if (other === undefined || other === 'unlimited') return one;
  const requestsPerDay = Math.min(one.requestsPerDay ?? Number.POSITIVE_INFINITY, other.requestsPerDay ?? Number.POSITIVE_INFINITY);
  const requestsPerMinute = Math.min(one.requestsPerMinute, other.requestsPerMinute);
  return Number.isFinite(requestsPerDay) ? { requestsPerMinute, requestsPerDay } : { requestsPerMinute };
}

/** The names of the settings in which two clients of one key contradict each other. One that leaves the plan to the headers does not. */
export function namesOfDifferences(one: QuotaSettings, other: QuotaSettings): string[] {
  const names: string[] = [];
  if (one.plan !== undefined && other.plan !== undefined && !haveSameLimits(limitsOf(one.plan), limitsOf(other.plan))) names.push('plan');
  if (one.concurrency !== other.concurrency) names.push('concurrency');
  if (one.share !== other.share) names.push('share');
  return names;
}

function haveSameLimits(one: Partial<PlanLimits>, other: Partial<PlanLimits>): boolean {
  return one.requestsPerMinute === other.requestsPerMinute && one.requestsPerDay === other.requestsPerDay;
}

/** What a share of a limit is: one request at least; infinite where the plan sets no limit. */
export function shareOf(limit: number | undefined, share: number): number {
  return limit === undefined ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(limit * share));
}
