import { RATE_LIMIT_HEADERS, RETRY_AFTER_HEADER } from './http.ts';
import { parseHttpDate } from './http-date.ts';

/** What the headers of one answer say about the limits. A field is undefined if its header is missing or not valid. */
export interface Answer {
  status: number;
  /** When the headers came, in milliseconds since 1970 on the local clock. */
  receivedAtMs: number;
  /** The server's clock (`Date`, whole seconds), in milliseconds since 1970. */
  dateMs?: number;
  /** X-RateLimit-Limit: requests that a window allows. */
  limit?: number;
  /** X-RateLimit-Remaining: what is left of them. */
  remaining?: number;
  /** X-RateLimit-Reset if it is an instant: in milliseconds since 1970 on the server's clock. */
  resetAtMs?: number;
  /** X-RateLimit-Reset if it is a time from now: in milliseconds. */
  resetInMs?: number;
  /** How long the service asks to wait, in milliseconds from `receivedAtMs`. */
  retryAfterMs?: number;
}

/** No window resets later than this: a day, and an hour for clocks that differ. */
export const LONGEST_WINDOW_MS = 25 * 3_600_000;
/** How far the clock of `Date` or of this machine and that of the counter may differ. */
const LATE_MS = 5_000;
/** A longer wait makes no difference to a caller, and a Date could not hold the instant. */
const LONGEST_WAIT_MS = 1e15;
/** Smaller numbers are times from now in Retry-After, and have no fraction in a Reset. */
const FIRST_TIMESTAMP = 1e9;
/** A Retry-After that reads as an instant at most this far from now is one, and not a wait of decades. */
const INSTANT_WITHIN_MS = 365 * 24 * 3_600_000;
// A literal in a function would be a new object in each call. Node's fetch leaves white space behind a value (RFC 9110 section 5.5).
const INTEGER = /^\d{1,15}\s*$/;
const NUMBER = /^\d+(?:\.\d+)?\s*$/;

export function readAnswer(status: number, headers: Pick<Headers, 'get'>, receivedAtMs: number): Answer {
  const dateMs = readDate(headers.get('date') ?? '', receivedAtMs);
  // How long ago a cache stored the answer (RFC 9111 section 5.1); 0 if no cache says that it did.
  const ageMs = (parseInteger(headers.get('age')) ?? 0) * 1000;
  // What a cached answer says about limits and the time was true when it was stored, and no request was counted.
  const found = ageMs === 0 ? readRateLimit(headers, { dateMs, receivedAtMs }, status >= 400) : undefined;
  const answer: Answer = { status, receivedAtMs, ...found };
  if (found && dateMs !== undefined) answer.dateMs = dateMs;
  // A Retry-After of a successful answer is ignored.
  const retryAfter = status < 300 ? '' : (headers.get(RETRY_AFTER_HEADER) ?? '');
  const retryAfterMs =
    dateMs === undefined ? parseRetryAfter(retryAfter, receivedAtMs, LATE_MS) : parseRetryAfter(retryAfter, dateMs + ageMs);
  if (retryAfterMs !== undefined) answer.retryAfterMs = retryAfterMs;
  return answer;
}

interface Instants {
  dateMs: number | undefined;
  receivedAtMs: number;
}

/** The answers of one second have the same `Date`, so the latest one is kept. */
let latestDate: { text: string; dateMs: number | undefined } = { text: '', dateMs: undefined };

function readDate(text: string, nowMs: number): number | undefined {
  if (text !== latestDate.text) latestDate = { text, dateMs: parseHttpDate(text.trim(), nowMs) };
  return latestDate.dateMs;
}

type RateLimitFields = Pick<Answer, 'limit' | 'remaining' | 'resetAtMs' | 'resetInMs'>;

/**
 * Reads X-RateLimit-*. A header that is not a number counts as missing, as does a Limit of 0 or of a fraction. Zeros on an answer that is no
 * refusal come from a limiter that is switched off.
 */
export function readRateLimit(headers: Pick<Headers, 'get'>, { dateMs, receivedAtMs }: Instants, isRefused = false): RateLimitFields {
  const limit = parseInteger(headers.get(RATE_LIMIT_HEADERS.limit));
  const remaining = parseInteger(headers.get(RATE_LIMIT_HEADERS.remaining));
  if (limit === 0 && remaining === 0 && !isRefused) return {};
  // Without `Date`, as on a page whose service does not expose it, the machine's clock stands in, which may be a day off. A doubtful Reset
  // must not hold up calls, so something must remain.
  const offMs = dateMs === undefined && remaining ? LONGEST_WINDOW_MS : 0;
  const found: RateLimitFields = readReset(parseNumber(headers.get(RATE_LIMIT_HEADERS.reset)), dateMs ?? receivedAtMs, offMs);
  if (limit) found.limit = limit;
  if (remaining !== undefined) found.remaining = Math.min(remaining, limit || remaining);
  return found;
}

/**
 * By the specification Reset is a Unix timestamp in seconds; some limiters add a fraction to it. Milliseconds, and whole seconds from now,
 * are recognized by their size. Where the clock shows 1970, as with fake timers, timestamps are as small as seconds from now.
 */
function readReset(reset: number | undefined, nowMs: number, offMs: number): Pick<Answer, 'resetAtMs' | 'resetInMs'> {
  if (reset === undefined || (reset < FIRST_TIMESTAMP && !Number.isInteger(reset))) return {};
  const resetAtMs = Math.ceil(reset > 1e11 ? reset : reset * 1000);
  if (resetAtMs <= LONGEST_WINDOW_MS && resetAtMs < nowMs - LATE_MS) return { resetInMs: resetAtMs };
  return resetAtMs < nowMs - LATE_MS - offMs || resetAtMs > nowMs + LONGEST_WINDOW_MS + offMs ? {} : { resetAtMs };
}

function parseInteger(text: string | null): number | undefined {
  return parseNumber(text, INTEGER);
}

function parseNumber(text: string | null, pattern = NUMBER): number | undefined {
  return text !== null && pattern.test(text) ? Number(text) : undefined;
}

/** One value of Retry-After: seconds, or a date, which has a comma after the name of the day (RFC 9110 section 10.2.3). */
const RETRY_AFTER_VALUE = /(?:^|,)\s*((?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,\s)?[^,]+)/g;

/**
 * Reads Retry-After: the longest of its values, in milliseconds from `nowMs` (the server's time); undefined if none is valid. An instant in
 * the past is no wait, but not valid if it lies back more than `mostPastMs`: then the clock that gave `nowMs` is ahead.
 */
export function parseRetryAfter(text: string, nowMs: number, mostPastMs = Number.POSITIVE_INFINITY): number | undefined {
  if (text === '') return undefined;
  const waits = Array.from(text.matchAll(RETRY_AFTER_VALUE), ([, value = '']) => parseWait(value.trim(), nowMs, mostPastMs));
  return waits.reduce((longest, wait) => (wait === undefined ? longest : Math.max(longest ?? 0, wait)), undefined);
}

function parseWait(value: string, nowMs: number, mostPastMs: number): number | undefined {
  const number = parseNumber(value);
  const instant = number === undefined ? parseHttpDate(value, nowMs) : timestampOf(number, nowMs);
  if (instant !== undefined) return instant < nowMs - mostPastMs ? undefined : Math.max(0, instant - nowMs);
  return number === undefined ? undefined : Math.min(Math.ceil(number * 1000), LONGEST_WAIT_MS);
}

/** Some services send a Unix timestamp, in seconds or milliseconds, where a number of seconds belongs. */
function timestampOf(number: number, nowMs: number): number | undefined {
  if (number < FIRST_TIMESTAMP) return undefined;
  return [number * 1000, number].find((instant) => Math.abs(instant - nowMs) <= INSTANT_WITHIN_MS);
}
