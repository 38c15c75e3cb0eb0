/**
 * What is known of one window; undefined where neither plan nor headers tell (specification, Limits).
 *
 * @example
 * await petstore.listInventory();
 * const { limit, remaining, resetAt }: WindowQuota = petstore.quota.minute;
 * console.log(limit, remaining, resetAt instanceof Date); // → 1000 999 true
 */
export interface WindowQuota {
  /** Requests that the window allows. */
  limit?: number | undefined;
  /** Requests that may still be sent in it. */
  remaining?: number | undefined;
  /** When it resets, on the server's clock. */
  resetAt?: Date | undefined;
}

/**
 * What is left of the retries that the calls of a key make together while requests fail.
 *
 * @example
 * const { available, capacity }: RetryBudgetState = petstore.retryBudget;
 * console.log(available, capacity); // → 10 10
 */
export interface RetryBudgetState {
  /** Whole retries that may be made now. */
  available: number;
  /** The most that it holds. */
  capacity: number;
}

/**
 * What is known of the quota of a client's key (specification, Limits).
 *
 * @example
 * const { minute, day, closedUntil }: Quota = petstore.quota;
 * if (closedUntil) console.log(`nothing is sent before ${closedUntil.toISOString()}`);
 */
export interface Quota {
  /** The plan's minute. */
  minute: WindowQuota;
  /** The plan's day. */
  day: WindowQuota;
  /** Until when the service closed the key; undefined while it is open. */
  closedUntil?: Date | undefined;
}
