import type { Int64 } from '../contract/models.ts';
import { PLANS, type PlanLimits, type PlanName } from '../contract/plans.ts';
import { ConfigurationError } from '../errors.ts';
import type { Logger } from '../events.ts';
import type { QuotaStore } from '../quota-store.ts';
import type { Redactor } from '../redactor.ts';
import { isRecord } from '../thrown.ts';
import { type BaseUrl, type Environment, resolveBaseUrl } from './base-url.ts';
import { CALL_DEFAULTS, type CallOptions, checkSharedOptions } from './call-options.ts';
import { isBrowser, readVariable } from './environment.ts';
import { keyFileSource, originOf } from './key-file.ts';
import { badOption, booleanOption, checkNames, functionOption, hasMethods, numberOption, refuseUnknown, wordOption } from './rules.ts';

/**
 * Gives the key when an attempt is about to be sent: visible ASCII (RFC 6750 section 2.1). If it throws, the call rejects with a
 * `ConfigurationError`. Clients share a gate if they have the same function, whatever key it gives.
 *
 * @example
 * const source: ApiKeySource = async () => process.env.PETSTORE_API_KEY ?? '';
 * const items = await new PetStoreClient({ apiKey: source, baseUrl }).listInventory();
 */
export type ApiKeySource = () => string | Promise<string>;

/**
 * Options of a client. An option wins over its variable; an empty variable counts as unset.
 *
 * @example
 * const options: PetStoreClientOptions = { apiKey, baseUrl, plan: 'pro', maxRetries: 3, totalTimeoutMs: 60_000 };
 * const client = new PetStoreClient(options);
 */
export interface PetStoreClientOptions<Ids extends Int64 = 'number'> {
  /**
   * The bearer key (visible ASCII, RFC 6750 section 2.1), or a function that gives it. Required here or as `PETSTORE_API_KEY`, or in the
   * file that `PETSTORE_API_KEY_FILE` names, which is read again when it is replaced.
   */
  apiKey?: string | ApiKeySource | undefined;
  /**
   * Which environment to reach; also `PETSTORE_ENVIRONMENT`. Staging uses the staging address only.
   * @default 'production'
   */
  environment?: Environment | undefined;
  /** The address, ending in `/v1`. Required here or as `PETSTORE_BASE_URL` and `PETSTORE_STAGING_BASE_URL`. */
  baseUrl?: BaseUrl | undefined;
  /**
   * The plan of the key: the ceiling that no header raises (specification, Limits); also `PETSTORE_PLAN`, in which
   * limits are written `5000/1000000`.
   * @default learned from the headers, free until then
   */
  plan?: PlanName | 'unlimited' | PlanLimits | undefined;
  /**
   * The type of ids in answers. A `number` cannot hold every id beyond 2^53; `'bigint'` is exact for all.
   * @default 'number'
   */
  int64?: Ids | undefined;
  /**
   * The most retries after the first attempt, an integer of at least 0, for all kinds of failures together; a wait does not count.
   * @default 5
   */
  maxRetries?: number | undefined;
  /**
   * Milliseconds for one attempt, above 0: connection, headers and the first 4 MiB of body, and again for every further 4 MiB. For a
   * stream: for each part of the body; the time that you take for an item does not count.
   * @default 30000
   */
  attemptTimeoutMs?: number | undefined;
  /**
   * Milliseconds for a whole call, waiting included; above 0.
   * @default none
   */
  totalTimeoutMs?: number | undefined;
  /**
   * The most milliseconds that a call waits for the gate to open, at least 0; a longer wait rejects at once. The number of calls that wait
   * does not matter.
   * @default 120000
   */
  maxWaitMs?: number | undefined;
  /**
   * Sends a later update of a pet in place of an earlier one that has not been sent, so that only the latest quantity is sent.
   * @default false
   */
  latestOnly?: boolean | undefined;
  /**
   * The most requests in flight, an integer of at least 1; fewer when little quota is left. A stream counts until its first items, a
   * `fetch` until its body was read.
   * @default 64
   */
  concurrency?: number | undefined;
  /**
   * The part of the key's quota that this client may use, above 0 and at most 1; `{ low: 0.5 }` for its low-priority calls alone. Other
   * clients of the key may use the rest.
   * @default 1
   */
  share?:
    | number
    | {
        /** The part that the low-priority calls may use, above 0 and at most 1. */
        low: number;
      }
    | undefined;
  /**
   * Where the quota of this key is kept, so that several processes share it: `redisQuotaStore` or `fileQuotaStore`.
   * @default this process's memory
   */
  quotaStore?: QuotaStore | undefined;
  /**
   * The most decoded bytes that `listInventory` accepts, an integer of at least 1. A stream has no such limit.
   * @default 268435456
   */
  maxResponseBytes?: number | undefined;
  /**
   * A fetch implementation. It sees the key. It must send a request once, and reject only if no answer came, not for a status: a rejection
   * is a failed connection, which is tried again. If the last connection was refused, even one for a redirect or a retry of its own, an
   * update counts as `not-sent`, although the service may have applied it.
   * @default globalThis.fetch
   */
  fetch?: ((input: Parameters<typeof globalThis.fetch>[0], init?: Parameters<typeof globalThis.fetch>[1]) => Promise<Response>) | undefined;
  /**
   * Extra headers for every request, but none that the client or the connection sets, such as `Authorization`, `Content-Type` or `Host`.
   * @default none
   */
  headers?: Record<string, string> | Headers | undefined;
  /**
   * A console-like object that gets the log lines; also `PETSTORE_LOG`, a level from `debug` to `error`, for the console.
   * @default none
   */
  logger?: Logger | undefined;
  /** Allows a client in a browser, where every visitor can read the key. @default false */
  dangerouslyAllowBrowser?: boolean | undefined;
}

/** The options of a client, complete and checked. */
export interface ResolvedOptions<Ids extends Int64> {
  apiKey: string | ApiKeySource;
  baseUrl: string;
  /** Undefined if the plan is to be learned from the headers. */
  plan: PlanLimits | 'unlimited' | undefined;
  int64: Ids;
  concurrency: number;
  share: number | { low: number };
  quotaStore: QuotaStore | undefined;
  maxResponseBytes: number;
  fetch: PetStoreClientOptions['fetch'];
  logger: Logger | undefined;
  call: CallOptions;
}

const OPTION_NAMES = [
  'apiKey',
  'environment',
  'baseUrl',
  'plan',
  'int64',
  'maxRetries',
  'attemptTimeoutMs',
  'totalTimeoutMs',
  'maxWaitMs',
  'latestOnly',
  'concurrency',
  'share',
  'maxResponseBytes',
  'fetch',
  'headers',
  'quotaStore',
  'logger',
  'dangerouslyAllowBrowser',
] as const satisfies readonly (keyof PetStoreClientOptions)[];

/** Checks the options and fills in variables and defaults. @throws ConfigurationError that names option, rule and value, never the key */
export function resolveOptions<Ids extends Int64>(options: PetStoreClientOptions<Ids>, redactor?: Redactor): ResolvedOptions<Ids> {
  checkNames(options, OPTION_NAMES);
  if (!booleanOption('dangerouslyAllowBrowser', options.dangerouslyAllowBrowser, false) && isBrowser()) throw publicKey();
  // Variables replace only what is left out: null is refused.
  const { apiKey = keyFromVariables(redactor), plan = planVariable() } = options;
  return {
    apiKey: resolveApiKey(apiKey),
    baseUrl: resolveBaseUrl(options.baseUrl, resolveEnvironment(options.environment), redactor),
    plan: resolvePlan(plan),
    int64: resolveInt64(options.int64),
    concurrency: numberOption('concurrency', options.concurrency, 64, { min: 1, integer: true }),
    share: resolveShare(options.share),
    quotaStore: resolveQuotaStore(options.quotaStore),
    maxResponseBytes: numberOption('maxResponseBytes', options.maxResponseBytes, 268_435_456, { min: 1, integer: true }),
    fetch: functionOption('fetch', options.fetch),
    logger: resolveLogger(options.logger),
    call: resolveDefaults(options),
  };
}

/** The defaults for every call; clients that change none share one object. */
function resolveDefaults(options: PetStoreClientOptions<Int64>): CallOptions {
  const changesNone = Object.keys(CALL_DEFAULTS).every((name) => Reflect.get(options, name) === undefined);
  return changesNone ? CALL_DEFAULTS : checkSharedOptions(options, CALL_DEFAULTS);
}

function resolveEnvironment(given: unknown): Environment {
  const [environment, from] = given === undefined ? [readVariable('PETSTORE_ENVIRONMENT'), 'PETSTORE_ENVIRONMENT'] : [given];
  return wordOption('environment', environment, 'production', ['production', 'staging'], from);
}

function publicKey(): ConfigurationError {
  const message =
    'Cannot make a client in a browser: every visitor could read the key; call the service from your server, or set `dangerouslyAllowBrowser: true` if the key may be public';
  return new ConfigurationError(message, { option: 'dangerouslyAllowBrowser' });
}

const KEY_RULE = 'visible ASCII without white space, "Bearer" or an address';

function resolveApiKey(apiKey: unknown): string | ApiKeySource {
  if (isSource(apiKey)) return apiKey;
  if (apiKey !== undefined) return checkApiKey(apiKey);
  throw new ConfigurationError('Cannot make a client without a key: give `apiKey` or set PETSTORE_API_KEY or PETSTORE_API_KEY_FILE', {
    option: 'apiKey',
  });
}

/** The checked key, or a function that reads it from a file; the file is checked at once, and its key is known to the redactor from then on. */
export function keyFromVariables(redactor?: Redactor): string | ApiKeySource | undefined {
  const [key, file] = [readVariable('PETSTORE_API_KEY'), readVariable('PETSTORE_API_KEY_FILE')];
  if (file === undefined) return key && checkApiKey(key, 'PETSTORE_API_KEY');
  if (key !== undefined)
    throw new ConfigurationError('Cannot choose between PETSTORE_API_KEY and PETSTORE_API_KEY_FILE: unset one', { option: 'apiKey' });
  const source = keyFileSource(file);
  const read = checkApiKey(source(), originOf(source));
  redactor?.learn(read);
  return source;
}

function isSource(apiKey: unknown): apiKey is ApiKeySource {
  return typeof apiKey === 'function';
}

/** Gives a key that is fit for an Authorization header; `from` says where it comes from. @throws ConfigurationError that does not show it */
export function checkApiKey(apiKey: unknown, from?: string): string {
  if (typeof apiKey !== 'string') throw badOption('apiKey', 'a string or a function that gives one', { from });
  if (apiKey === '')
    throw new ConfigurationError('Cannot use an empty key as `apiKey`: is the variable that it comes from set?', { option: 'apiKey' });
  // An address in place of the key means that the key is in place of the address, whose error would show it.
  if (!/^(?!https?:)[\x21-\x7e]+$/i.test(apiKey)) throw badOption('apiKey', KEY_RULE, { from });
  return apiKey;
}

/** Reads `5000/1000000` as requests a minute and a day, `5000` as requests a minute; undefined for any other text. */
export function parsePlanLimits(text: string): PlanLimits | undefined {
  const [, perMinute, perDay] = /^([1-9]\d{0,14})(?:\/([1-9]\d{0,14}))?$/.exec(text) ?? [];
  if (perMinute === undefined) return undefined;
  return { requestsPerMinute: Number(perMinute), ...(perDay !== undefined && { requestsPerDay: Number(perDay) }) };
}

const PLAN_WORDS = '"free", "pro", "business", "unlimited" or';

function planVariable(): unknown {
  const text = readVariable('PETSTORE_PLAN');
  if (text === undefined || text === 'unlimited' || Object.hasOwn(PLANS, text)) return text;
  const limits = parsePlanLimits(text);
  if (!limits)
    throw badOption('plan', `${PLAN_WORDS} requests a minute and a day, such as PETSTORE_PLAN=5000/1000000`, {
      shown: text,
      from: 'PETSTORE_PLAN',
    });
  return limits;
}

function resolvePlan(plan: unknown): PlanLimits | 'unlimited' | undefined {
  if (plan === undefined || plan === 'unlimited') return plan;
  const named = Object.entries(PLANS).find(([name]) => name === plan);
  if (named) return named[1];
  if (isRecord(plan)) return resolveLimits(plan);
  throw badOption('plan', `${PLAN_WORDS} { requestsPerMinute, requestsPerDay }`, { shown: plan });
}

function resolveLimits(limits: Record<string, unknown>): PlanLimits {
  refuseUnknown(limits, ['requestsPerMinute', 'requestsPerDay'], 'plan');
  const read = (name: string) => numberOption(`plan.${name}`, limits[name], undefined, { min: 1, integer: true });
  const [requestsPerMinute, requestsPerDay] = [read('requestsPerMinute'), read('requestsPerDay')];
  if (requestsPerMinute === undefined) throw badOption('plan.requestsPerMinute', 'an integer of at least 1', { shown: undefined });
  return requestsPerDay === undefined ? { requestsPerMinute } : { requestsPerMinute, requestsPerDay };
}

const SHARE_RULE = { min: 0, above: true, max: 1 } as const;

function resolveShare(share: unknown): number | { low: number } {
  if (!isRecord(share)) return numberOption('share', share, 1, SHARE_RULE);
  if (Object.keys(share).join() !== 'low') throw badOption('share', 'a finite number above 0 and at most 1, or { low } with one');
  return { low: numberOption('share.low', share.low, 1, SHARE_RULE) };
}

function resolveInt64<Ids extends Int64>(int64: Ids | undefined): Ids;
function resolveInt64(int64: Int64 | undefined): Int64 {
  return wordOption('int64', int64, 'number', ['number', 'bigint']);
}

function resolveQuotaStore(store: QuotaStore | undefined): QuotaStore | undefined {
  if (store === undefined) return store;
  const rule = 'what redisQuotaStore() of petstore-inventory/redis or fileQuotaStore() of petstore-inventory/node gives';
  if (!hasMethods(store, ['join'])) throw badOption('quotaStore', rule, { shown: store });
  numberOption('quotaStore.processes', store.processes, undefined, { min: 1, integer: true });
  return store;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
type Level = (typeof LEVELS)[number];

function resolveLogger(logger: Logger | undefined): Logger | undefined {
  if (logger !== undefined) {
    if (hasMethods(logger, LEVELS)) return logger;
    throw badOption('logger', 'an object with the functions debug, info, warn and error', { shown: logger });
  }
  const lowest = wordOption('PETSTORE_LOG', readVariable('PETSTORE_LOG'), 'off', [...LEVELS, 'off']);
  return lowest === 'off' ? undefined : consoleFrom(lowest);
}

/** A logger that writes to the console, from a level on. */
function consoleFrom(lowest: Level): Logger {
  const at = (level: Level) => (message: string) => {
    if (LEVELS.indexOf(level) >= LEVELS.indexOf(lowest)) console[level](message);
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}
