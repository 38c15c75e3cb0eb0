/** Headers are cut to whole seconds. */
export const SECOND_MS = 1_000;
/** The windows of a plan's limits (specification, Limits). */
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/**
 * The most requests that a key may send, by windows of the service's clock (specification, Limits).
 *
 * @example
 * const enterprise: PlanLimits = { requestsPerMinute: 5_000, requestsPerDay: 1_000_000 };
 * const client = new PetStoreClient({ apiKey, baseUrl, plan: enterprise });
 */
export interface PlanLimits {
  /** Requests in one minute; a positive integer. */
  requestsPerMinute: number;
  /**
   * Requests in one day; a positive integer.
   * @default no limit per day
   */
  requestsPerDay?: number | undefined;
}

/**
 * The plans whose limits the specification shows (specification, Limits). Enterprise is custom: give its limits.
 *
 * @example
 * console.log(PLANS.pro); // → { requestsPerMinute: 300, requestsPerDay: 10000 }
 */
export const PLANS = {
  free: { requestsPerMinute: 60, requestsPerDay: 1_000 },
  pro: { requestsPerMinute: 300, requestsPerDay: 10_000 },
  business: { requestsPerMinute: 1_000, requestsPerDay: 100_000 },
} as const satisfies Record<string, Required<PlanLimits>>;

/**
 * A plan whose limits are known (specification, Limits).
 *
 * @example
 * const plan: PlanName = 'pro';
 * const client = new PetStoreClient({ apiKey, baseUrl, plan });
 */
export type PlanName = keyof typeof PLANS;
