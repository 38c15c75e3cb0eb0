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

const LONGEST_WINDOW_MS = 25 * 3_600_000;
/** How far the clock of `Date` and that of the counter may differ. */
const LATE_RESET_MS = 5_000;
/** A longer wait makes no difference to a caller, and a Date could not hold the instant. */
const LONGEST_WAIT_MS = 1e15;

export function readAnswer(status: number, headers: Headers, receivedAtMs: number): Answer {
  const dateMs = readDate(headers.get('date') ?? '', receivedAtMs);
  const answer: Answer = { status, receivedAtMs, ...readRateLimit(headers, dateMs ?? receivedAtMs) };
  if (dateMs !== undefined) answer.dateMs = dateMs;
  // A Retry-After of a successful answer is ignored.
  const retryAfter = status < 300 ? '' : (headers.get(RETRY_AFTER_HEADER) ?? '');
  const retryAfterMs = parseRetryAfter(retryAfter, dateMs ?? receivedAtMs);
  if (retryAfterMs !== undefined) answer.retryAfterMs = retryAfterMs;
  return answer;
}

/** The answers of one second have the same `Date`, so the latest one is kept. */
let latestDate: { text: string; dateMs: number | undefined } = { text: '', dateMs: undefined };

function readDate(text: string, nowMs: number): number | undefined {
  if (text !== latestDate.text) latestDate = { text, dateMs: parseHttpDate(text, nowMs) };
  return latestDate.dateMs;
}

/** Reads X-RateLimit-*. A header that is not an integer counts as missing. `nowMs` is the server's time. */
export function readRateLimit(headers: Headers, nowMs: number): Pick<Answer, 'limit' | 'remaining' | 'resetAtMs' | 'resetInMs'> {
  // A Limit of 0 counts as missing.
  const limit = parseInteger(headers.get(RATE_LIMIT_HEADERS.limit)) || undefined;
  const remaining = parseInteger(headers.get(RATE_LIMIT_HEADERS.remaining));
  return {
    ...(limit !== undefined && { limit }),
    ...(remaining !== undefined && { remaining: Math.min(remaining, limit ?? remaining) }),
    ...readReset(parseInteger(headers.get(RATE_LIMIT_HEADERS.reset)), nowMs),
  };
}

/** By the specification Reset is a Unix timestamp in seconds. Milliseconds, and seconds from now, are recognized by their size. */
function readReset(reset: number | undefined, nowMs: number): Pick<Answer, 'resetAtMs' | 'resetInMs'> {
  if (reset === undefined) return {};
  if (reset < 1e9) return reset * 1000 <= LONGEST_WINDOW_MS ? { resetInMs: reset * 1000 } : {};
  const resetAtMs = reset > 1e11 ? reset : reset * 1000;
  return resetAtMs < nowMs - LATE_RESET_MS || resetAtMs > nowMs + LONGEST_WINDOW_MS ? {} : { resetAtMs };
}

function parseInteger(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** One value of Retry-After: seconds, or a date, which has a comma after the name of the day (RFC 9110 section 10.2.3). */
const RETRY_AFTER_VALUE = /(?:^|,)\s*((?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,\s)?[^,]+)/g;

/** Reads Retry-After: the longest of its values, in milliseconds from `nowMs` (the server's time); undefined if none is valid. */
export function parseRetryAfter(text: string, nowMs: number): number | undefined {
  if (text === '') return undefined;
  const waits = Array.from(text.matchAll(RETRY_AFTER_VALUE), ([, value = '']) => parseWait(value.trim(), nowMs));
  return waits.reduce((longest, wait) => (wait === undefined ? longest : Math.max(longest ?? 0, wait)), undefined);
}

function parseWait(value: string, nowMs: number): number | undefined {
  if (/^\d+(?:\.\d+)?$/.test(value)) return Math.min(Math.ceil(Number(value) * 1000), LONGEST_WAIT_MS);
  const instant = parseHttpDate(value, nowMs);
  return instant === undefined ? undefined : Math.max(0, instant - nowMs);
}
