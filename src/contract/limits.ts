import { RATE_LIMIT_HEADERS, RETRY_AFTER_HEADER } from './http.ts';
import { parseHttpDate } from './http-date.ts';

/** What the three X-RateLimit headers say (specification, Limits). */
export interface RateLimitHeaders {
  limit: number;
  remaining: number;
  /** On the server's clock, in milliseconds since 1970. */
  resetAtMs: number;
}

/** What the headers of one answer say about the limits, read once, in milliseconds. */
export interface Answer {
  status: number;
  /** When the headers came, on our clock. */
  receivedAtMs: number;
  /** The server's clock (`Date`, whole seconds), in milliseconds since 1970. */
  dateMs?: number;
  /** Undefined where the headers are missing or make no sense. */
  rateLimit?: RateLimitHeaders;
  /** How long the service asks to wait, counted from `receivedAtMs`; undefined where it does not say. */
  retryAfterMs?: number;
}

const LONGEST_WINDOW_MS = 25 * 3_600_000;
/** Waits beyond this are the same to everybody, and a Date could not hold the instant. */
const LONGEST_WAIT_MS = 1e15;

export function readAnswer(status: number, headers: Headers, receivedAtMs: number): Answer {
  const answer: Answer = { status, receivedAtMs };
  const dateMs = readDate(headers.get('date') ?? '', receivedAtMs);
  if (dateMs !== undefined) answer.dateMs = dateMs;
  const rateLimit = parseRateLimit(headers, dateMs ?? receivedAtMs);
  if (rateLimit) answer.rateLimit = rateLimit;
  // It means nothing on an answer that did what was asked.
  const retryAfter = status < 300 ? '' : (headers.get(RETRY_AFTER_HEADER) ?? '');
  const retryAfterMs = parseRetryAfter(retryAfter, dateMs ?? receivedAtMs);
  if (retryAfterMs !== undefined) answer.retryAfterMs = retryAfterMs;
  return answer;
}

/** The answers of one second have the same `Date`. */
let latestDate: { text: string; dateMs: number | undefined } = { text: '', dateMs: undefined };

function readDate(text: string, nowMs: number): number | undefined {
  if (text !== latestDate.text) latestDate = { text, dateMs: parseHttpDate(text, nowMs) };
  return latestDate.dateMs;
}

/** Reads X-RateLimit-*: three integers, or nothing at all. `nowMs` is the server's time. */
export function parseRateLimit(headers: Headers, nowMs: number): RateLimitHeaders | undefined {
  const limit = parseInteger(headers.get(RATE_LIMIT_HEADERS.limit));
  const remaining = parseInteger(headers.get(RATE_LIMIT_HEADERS.remaining));
  const reset = parseInteger(headers.get(RATE_LIMIT_HEADERS.reset));
  if (limit === undefined || remaining === undefined || reset === undefined) return undefined;
  const resetAtMs = toInstant(reset, nowMs);
  if (resetAtMs < nowMs || resetAtMs > nowMs + LONGEST_WINDOW_MS) return undefined;
  return { limit, remaining: Math.min(remaining, limit), resetAtMs };
}

/** A Unix timestamp in seconds by specification; milliseconds and seconds to go are told by their size. */
function toInstant(reset: number, nowMs: number): number {
  if (reset > 1e11) return reset;
  return reset < 1e9 ? nowMs + reset * 1000 : reset * 1000;
}

function parseInteger(text: string | null): number | undefined {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** One value of Retry-After: seconds, or a date (RFC 9110 section 10.2.3). A date has a comma of its own after the day's name. */
const RETRY_AFTER_VALUE = /(?:^|,)\s*((?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,\s)?[^,]+)/g;

/** Reads Retry-After: the longest of its values, in milliseconds from `nowMs` (the server's time); undefined where none makes sense. */
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
