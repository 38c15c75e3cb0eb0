import { ConfigurationError } from '../errors.ts';
import { badOption, booleanOption, checkNames, numberOption, signalOption, wordOption } from './rules.ts';

/**
 * Options of one call; the client's options apply to what is left out. A bad one rejects the call with a `ConfigurationError`.
 *
 * @example
 * const patient: RequestOptions = { totalTimeoutMs: 600_000, maxWaitMs: 600_000, priority: 'low' };
 * const items = await petstore.listInventory(patient);
 */
export interface RequestOptions {
  /**
   * Ends the call within milliseconds, whatever step it has reached; the call then rejects with `signal.reason`.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Milliseconds for one attempt.
   * @default as the client has it
   */
  attemptTimeoutMs?: number | undefined;
  /**
   * Milliseconds for the whole call, waiting included.
   * @default as the client has it
   */
  totalTimeoutMs?: number | undefined;
  /**
   * The most retries after the first attempt.
   * @default as the client has it
   */
  maxRetries?: number | undefined;
  /**
   * The most milliseconds that the call waits for the gate to open.
   * @default as the client has it
   */
  maxWaitMs?: number | undefined;
  /**
   * Every waiting normal call is sent before the low ones.
   * @default 'normal'
   */
  priority?: 'normal' | 'low' | undefined;
  /**
   * Lets the client send a later update of the same pet in place of this one, as long as this one has not been sent. This one then costs
   * no request and settles as the later one does; see `supersededBy` of its reply. If the later one ends unsent, this one is still sent.
   * @default as the client has it
   */
  latestOnly?: boolean | undefined;
  /**
   * Extra headers for this call's requests; they win over the client's.
   * @default none
   */
  headers?: Record<string, string> | Headers | undefined;
}

/** The options of one call, complete. */
export interface CallOptions {
  signal: AbortSignal | undefined;
  attemptTimeoutMs: number;
  totalTimeoutMs: number | undefined;
  maxRetries: number;
  maxWaitMs: number;
  priority: 'normal' | 'low';
  latestOnly: boolean;
  headers: Record<string, string>;
}

export const CALL_DEFAULTS: CallOptions = {
  signal: undefined,
  attemptTimeoutMs: 30_000,
  totalTimeoutMs: undefined,
  maxRetries: 5,
  maxWaitMs: 120_000,
  priority: 'normal',
  latestOnly: false,
  headers: {},
};

/** Checks what the caller gave and fills in the rest from `defaults`. @throws ConfigurationError that names the option */
export function resolveCallOptions(given: RequestOptions | undefined, defaults: CallOptions): CallOptions {
  if (given === undefined) return defaults;
  checkNames(given, Object.keys(CALL_DEFAULTS));
  return {
    ...checkSharedOptions(given, defaults),
    signal: signalOption(given.signal),
    priority: wordOption('priority', given.priority, defaults.priority, ['normal', 'low']),
  };
}

/** Checks the options of a call that a client has too, and fills in the rest from `defaults`. The object may have others. */
export function checkSharedOptions(given: Omit<RequestOptions, 'signal' | 'priority'>, defaults: CallOptions): CallOptions {
  return {
    ...defaults,
    attemptTimeoutMs: numberOption('attemptTimeoutMs', given.attemptTimeoutMs, defaults.attemptTimeoutMs, { min: 0, above: true }),
    totalTimeoutMs: numberOption('totalTimeoutMs', given.totalTimeoutMs, defaults.totalTimeoutMs, { min: 0, above: true }),
    maxRetries: numberOption('maxRetries', given.maxRetries, defaults.maxRetries, { min: 0, integer: true }),
    maxWaitMs: numberOption('maxWaitMs', given.maxWaitMs, defaults.maxWaitMs, { min: 0 }),
    latestOnly: booleanOption('latestOnly', given.latestOnly, defaults.latestOnly),
    headers: given.headers === undefined ? defaults.headers : { ...defaults.headers, ...headersOption(given.headers) },
  };
}

/** Headers that the client or the connection sets: given by a caller, they could send the key elsewhere or split one message into two. */
export const RESERVED_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'content-type',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'expect',
  'host',
  'te',
  'trailer',
]);

/** Gives extra headers with names in lower case (RFC 9110 section 5). */
export function headersOption(headers: unknown): Record<string, string> {
  if (!isPlain(headers) && !(headers instanceof Headers))
    throw badOption('headers', 'a plain object of strings, or a Headers', { shown: headers });
  const entries: [string, unknown][] = headers instanceof Headers ? [...headers] : Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => checkHeader(name.toLowerCase(), value)));
}

/** Whether it is a plain object, of whatever realm. The entries of a Map or a promise would be missing without notice. */
function isPlain(headers: unknown): headers is object {
  return Object.prototype.toString.call(headers) === '[object Object]';
}

function checkHeader(name: string, value: unknown): [string, string] {
  // Not shown: it may be the key, or in a line such as `authorization: bearer …` contain it.
  if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/.test(name)) throw badOption('headers', 'an object whose names are header names (RFC 9110 section 5.1)');
  if (RESERVED_HEADERS.has(name))
    throw new ConfigurationError(`Cannot set "${name}" in \`headers\`: the client sets it itself`, { option: 'headers' });
  if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw badOption('headers', `an object of Latin-1 strings without control characters, which "${name}" is not`);
  return [name, value];
}
