/** What is known of one window; undefined where neither plan nor headers tell. */
export interface WindowQuota {
  /** Requests that the window allows. */
  limit: number | undefined;
  /** Requests that may still be sent in it. */
  remaining: number | undefined;
  /** When it resets, on the server's clock. */
  resetAt: Date | undefined;
}

/** What is known of the quota of a client's key. */
export interface Quota {
  minute: WindowQuota;
  day: WindowQuota;
  /** Until when the service closed the key; undefined while it is open. */
  closedUntil: Date | undefined;
}
