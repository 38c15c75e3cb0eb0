/**
 * What is known about one window; a field is undefined if neither the plan nor a header says it (specification, Limits).
 *
 * @example
 * await petstore.listInventory();
 * const { limit, remaining, resetAt }: WindowQuota = petstore.quota.minute;
 * console.log(limit, remaining, resetAt instanceof Date); // → 1000 999 true
 */
export interface WindowQuota {
  /** Requests that the window allows. */
  limit?: number | undefined;
  /**
   * Requests that may still be sent in it. If no header reports the window, it counts the requests of this process alone, with a
   * `quotaStore` as well.
   */
  remaining?: number | undefined;
  /** When it resets, on the server's clock. */
  resetAt?: Date | undefined;
}

/**
 * The retry budget of a key: how many retries its calls may still make, all together, while requests fail.
 *
 * @example
 * const { available, capacity }: RetryBudgetState = petstore.retryBudget;
 * console.log(available, capacity); // → 10 10
 */
export interface RetryBudgetState {
  /** Whole retries that may be made now. */
  available: number;
  /** The most retries that the budget holds. */
  capacity: number;
}

/**
 * What is known about the quota of a client's key (specification, Limits).
 *
 * @example
 * const { minute, day, closedUntil }: Quota = petstore.quota;
 * if (closedUntil) console.log(`nothing is sent before ${closedUntil.toISOString()}`);
 */
export interface Quota {
  /** The quota of the minute. */
  minute: WindowQuota;
  /** The quota of the day. */
  day: WindowQuota;
  /**
   * What the client's `share` leaves of both windows: to all its calls, or with `share: { low }` to those of low priority. Undefined without
   * a share, and also if the share is a number and the client has been alone on its key so far: then `minute` and `day` are the share.
   */
  share?: Pick<Quota, 'minute' | 'day'> | undefined;
  /** Until when the service has closed the key; undefined while it is open. */
  closedUntil?: Date | undefined;
}
