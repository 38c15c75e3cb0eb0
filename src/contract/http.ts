/**
 * The version of the interface description (specification, Versioning).
 *
 * @example
 * console.log(API_VERSION); // → 1.0.0
 */
export const API_VERSION = '1.0.0';

/** The segment in which every address of the service ends (specification, Versioning). */
export const VERSION_SEGMENT = 'v1';

/** The path of the inventory below the service's address (specification, Endpoints). */
export const INVENTORY_PATH = 'inventory';

/** Response headers of the limits, in lower case (specification, Limits). */
export const RATE_LIMIT_HEADERS = {
  limit: 'x-ratelimit-limit',
  remaining: 'x-ratelimit-remaining',
  reset: 'x-ratelimit-reset',
} as const;

/** Whether the text of a 401 says that the key is banned: only the service's own words tell (specification, Authentication). */
export function saysBanned(text: string): boolean {
  return /\bbanned\b|_banned/i.test(text);
}

/** Whether a status is good (RFC 9110 section 15.3); the body, which follows, may still fail. */
export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300;
}

/**
 * Whether a status is a temporary failure of the service, after which a change may have been applied: every 5xx, except that the method or
 * version of HTTP is not served (RFC 9110 sections 15.6.2 and 15.6.6). A status above 599 is invalid, and counts as a 5xx (section 15).
 */
export function isServiceFailure(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 505;
}

/** The header that says how long a key has to wait after a 429 (specification, Errors; RFC 9110 section 10.2.3). */
export const RETRY_AFTER_HEADER = 'retry-after';
