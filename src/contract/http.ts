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

/** The header that says how long a key has to wait after a 429 (specification, Errors; RFC 9110 section 10.2.3). */
export const RETRY_AFTER_HEADER = 'retry-after';
