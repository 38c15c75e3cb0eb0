import * as z from 'zod/mini';
import { InventoryItem, PetId } from '../contract/models.ts';
import type { PlanLimits } from '../contract/plans.ts';
import { checkObject, checkOptions, checkValue, FUNCTION, type OptionRules, POSITIVE, recordOf, SHARE, words } from './check-options.ts';
import { LONGEST_MS, type TimeSource } from './clock.ts';
import type { DomainRedirect } from './domains.ts';
import { checkFault, type Fault } from './faults.ts';
import { LATENCY_RULE, type Latency, latencySchema } from './latency.ts';
import { LIMIT_FIELDS, type LimitHeaders, resolveLimitHeaders, TOLD_WINDOWS, type ToldWindow } from './limit-headers.ts';
import { RETRY_AFTER_FORMS, type RetryAfterForm } from './retry-after.ts';
import { SandboxError } from './sandbox-error.ts';
import type { StockEntry } from './stock.ts';
import { POLICIES, type Policy } from './windows.ts';

/**
 * Answers requests to endpoints of your own. If it returns `undefined`, the sandbox answers the request, as it always does for the
 * inventory. It is called after the key and its quota were checked. If it throws, or returns anything else, the answer is a 500
 * with a message that says why.
 *
 * @example
 * const routes: SandboxRoutes = (request) =>
 *   new URL(request.url).pathname.endsWith('/pets/42') ? Response.json({ id: 42, name: 'Rex' }) : undefined;
 * const own = createSandbox({ routes });
 * const petstore = new PetStoreClient({ apiKey: own.keys.pro, baseUrl: own.baseUrl, fetch: own.fetch });
 * console.log((await (await petstore.fetch('/pets/42')).json()).name); // → Rex
 */
export type SandboxRoutes = (request: Request) => Response | undefined | Promise<Response | undefined>;

/**
 * When a key that keeps sending during a penalty is banned, and for how long: our reading of the specification (Authentication, 4).
 * Only refused requests count towards the ban: a request that is admitted during the penalty may be another program's.
 *
 * @example
 * const ban: Ban = { after: 3, forMs: 5_000 };
 * const strict = createSandbox({ ban });
 */
export interface Ban {
  /** How many requests during a penalty are refused with a 429; the next refused one starts the ban. */
  after: number;
  /** How long the ban lasts, in milliseconds, at most 1e13. */
  forMs: number;
}

/**
 * What costs quota, and when.
 *
 * @example
 * const counting: Counting = { at: 'completion', uncounted: [404, 503] };
 * const lenient = createSandbox({ counting });
 */
export interface Counting {
  /**
   * Whether a request is counted when it arrives or when its answer leaves. With `completion`, requests that are in flight together are
   * all admitted, and all of the latency comes before the answer is written.
   * @default 'arrival'
   */
  at?: 'arrival' | 'completion' | undefined;
  /** Whether a request that the limit refuses costs quota, always from its arrival on. @default false */
  refused?: boolean | undefined;
  /** Statuses of admitted requests that cost no quota. @default none */
  uncounted?: readonly number[] | undefined;
}

/**
 * The difference between the `Date` header and the clock by which the service counts.
 *
 * @example
 * const date: DateHeader = { aheadMs: -1_500 };
 * const late = createSandbox({ date });
 */
export interface DateHeader {
  /** By how many milliseconds the header is ahead, at most 1e13; behind, if negative. */
  aheadMs: number;
}

/**
 * The options of a sandbox; all are optional.
 *
 * @example
 * const options: SandboxOptions = { pets: [{ petId: 42, quantity: 3 }], policy: 'token-bucket', latency: 20 };
 * const own = createSandbox(options);
 * console.log(own.inventory.get(42)?.quantity); // → 3
 */
export interface SandboxOptions<Plans extends string = string> {
  /** The stock: a number of made-up pets with ids from 1, at most 1e7, or a list of pets. @default 12 */
  pets?: number | Iterable<StockEntry> | undefined;
  /** Keys of your own, each with the name of its plan. Every plan also has a key from the start. @default none */
  keys?: Readonly<Record<string, string>> | undefined;
  /** More plans than free, pro and business, or other limits for these (specification, Limits: Enterprise is custom). @default none */
  plans?: Readonly<Record<Plans, PlanLimits>> | undefined;
  /**
   * Length of the minute's window in whole milliseconds, from 1 to 1e13, so that tests of other clients can shorten it. A `PetStoreClient`
   * counts whole minutes, and sends at most twice the limit in one.
   * @default 60000
   */
  window?: number | undefined;
  /**
   * How requests are counted; the specification does not say how the service does it. A single policy applies to minute and day, but with
   * `token-bucket` the day is counted as `fixed-clock`.
   * @default 'fixed-clock'
   */
  policy?: Policy | { minute: Policy; day: Policy } | undefined;
  /**
   * Most tokens that the minute's `token-bucket` holds, at least 1, whatever the plan; only with that policy.
   * @default the plan's requests per minute
   */
  burst?: number | undefined;
  /** What costs quota, and when. @default { at: 'arrival', refused: false, uncounted: [] } */
  counting?: Counting | undefined;
  /** The source of the time, in milliseconds since 1970. @default the global Date.now, read at every call */
  clock?: TimeSource | undefined;
  /**
   * How long a request takes in milliseconds, half of it before it is counted and half after. If a function throws or returns no number,
   * the request rejects with a `SandboxError`; on a port it is answered with 500 and the message.
   * @default 0
   */
  latency?: Latency | undefined;
  /** The faults to inject. @default none */
  faults?: readonly Fault[] | undefined;
  /** Endpoints of your own, below the address of each environment; counted and limited like the others. @default none */
  routes?: SandboxRoutes | undefined;
  /** The seed of everything random: statuses, quantities, latencies, rates. A whole number. @default 1 */
  seed?: number | undefined;
  /** The ban of a key that keeps sending during a penalty; our reading of the specification. @default { after: 10, forMs: 600000 } */
  ban?: Ban | false | undefined;
  /** The form of a 429's Retry-After. @default 'seconds' */
  retryAfter?: RetryAfterForm | undefined;
  /** Whether a 429 has an Error body; the specification does not say. @default 'error' */
  rateLimitBody?: 'error' | 'empty' | undefined;
  /** The X-RateLimit headers: only which limit they report, or all their settings. @default 'minute' */
  limitHeaders?: ToldWindow | LimitHeaders | undefined;
  /** The `Date` header, or `false` for none. @default { aheadMs: 0 } */
  date?: DateHeader | false | undefined;
  /**
   * A service of several nodes: by how many milliseconds the clock of each is ahead, up to ±1e13. The seed decides which node answers a
   * request. Date, Reset and a date in Retry-After follow that node's clock; all nodes share one count, which follows the sandbox's clock.
   * @default [0]
   */
  nodes?: readonly number[] | undefined;
  /** Custom domains and redirects between domains. @default none */
  domains?: readonly (string | DomainRedirect)[] | undefined;
  /** How many of the latest requests are kept in full, at least 1; at times up to a quarter more. The counts include all. @default 100000 */
  history?: number | undefined;
}

/** The options that apply to every request, with their defaults. */
export type Rules = ReturnType<typeof rulesOf>;

export function rulesOf({
  policy = 'fixed-clock',
  counting: { at = 'arrival', refused = false, uncounted = [] } = {},
  ...given
}: SandboxOptions) {
  const { minute, day }: { minute: Policy; day: Policy } =
    typeof policy === 'string' ? { minute: policy, day: policy === 'token-bucket' ? 'fixed-clock' : policy } : policy;
  return {
    minutePolicy: minute,
    dayPolicy: day,
    minuteMs: given.window ?? 60_000,
    burst: given.burst,
    counting: { at, refused, uncounted },
    ban: given.ban ?? { after: 10, forMs: 600_000 },
    retryAfter: given.retryAfter ?? 'seconds',
    rateLimitBody: given.rateLimitBody ?? 'error',
    limitHeaders: resolveLimitHeaders(given.limitHeaders),
    date: given.date ?? { aheadMs: 0 },
    nodes: given.nodes ?? [0],
    latency: given.latency ?? 0,
    routes: given.routes,
  };
}

const whole = z.int().check(z.gte(0));
/** They take half a minute and more than a gigabyte; a Map has room for 1.6 times as many. */
export const MOST_PETS = 1e7;
const time = z.number().check(z.gte(0), z.lte(LONGEST_MS));
const aheadMs = z.number().check(z.gte(-LONGEST_MS), z.lte(LONGEST_MS));

const ENTRY_RULE = [
  z.strictObject({ petId: PetId, quantity: InventoryItem.shape.quantity, status: z.optional(z.string()) }),
  'it must be { petId, quantity, status? } with safe integers (or a bigint as petId)',
] as const;
const PLAN_RULE = [
  z.strictObject({ requestsPerMinute: POSITIVE, requestsPerDay: z.optional(POSITIVE) }),
  'it must be { requestsPerMinute, requestsPerDay? }, whole numbers from 1',
] as const;
const policy = z.enum(POLICIES);
const counting = z.strictObject({
  at: z.optional(z.enum(['arrival', 'completion'])),
  refused: z.optional(z.boolean()),
  uncounted: z.optional(z.array(z.int().check(z.gte(200), z.lte(599)))),
});
const limitHeaders = z.strictObject({
  window: z.optional(z.enum(TOLD_WINDOWS)),
  limit: z.optional(z.enum(['plan', 'burst'])),
  omit: z.optional(z.array(z.enum(LIMIT_FIELDS))),
  rate: z.optional(SHARE),
  lagMs: z.optional(time),
  reset: z.optional(z.enum(['seconds', 'milliseconds', 'seconds-to-go'])),
  rounding: z.optional(z.enum(['up', 'down'])),
});
const redirect = z.strictObject({ from: z.string(), to: z.string(), status: z.optional(z.int()) });

const OPTION_RULES: OptionRules<SandboxOptions> = {
  pets: [
    z.union([whole.check(z.lte(MOST_PETS)), z.custom(isList)]),
    'it must be a number of pets, at most 1e7, or a list of { petId, quantity, status? } with numbers (or a bigint as petId)',
  ],
  keys: [recordOf(z.string()), 'it must be an object of keys, each with the name of its plan'],
  plans: [recordOf(z.unknown()), 'it must be an object of plans { requestsPerMinute, requestsPerDay? }'],
  window: [z.int().check(z.gte(1), z.lte(LONGEST_MS)), 'it must be a whole number of milliseconds, from 1 to 1e13'],
  policy: [z.union([policy, z.strictObject({ minute: policy, day: policy })]), `it must be one of ${words(POLICIES)} or { minute, day }`],
  burst: [POSITIVE, 'it must be a whole number, 1 or more'],
  counting: [counting, 'it must be { at?: "arrival" or "completion", refused?: boolean, uncounted?: a list of statuses }'],
  clock: [z.union([FUNCTION, z.looseObject({ now: FUNCTION })]), 'it must be a function that returns the time, or an object with now()'],
  latency: [latencySchema, LATENCY_RULE],
  faults: [z.array(z.unknown()), 'it must be a list of faults'],
  routes: [FUNCTION, 'it must be a function that returns a Response or undefined'],
  seed: [z.int(), 'it must be a whole number'],
  ban: [
    z.union([z.literal(false), z.strictObject({ after: whole, forMs: time })]),
    'it must be { after, forMs } with at most 1e13 milliseconds, or false',
  ],
  retryAfter: [z.enum(RETRY_AFTER_FORMS), `it must be one of ${words(RETRY_AFTER_FORMS)}`],
  rateLimitBody: [z.enum(['error', 'empty']), 'it must be "error" or "empty"'],
  limitHeaders: [
    z.union([z.enum(TOLD_WINDOWS), limitHeaders]),
    `it must be one of ${words(TOLD_WINDOWS)} or { window?, limit?, omit?, rate?, lagMs?, reset?, rounding? }, each as LimitHeaders says`,
  ],
  date: [z.union([z.literal(false), z.strictObject({ aheadMs })]), 'it must be { aheadMs } with at most 1e13 milliseconds, or false'],
  nodes: [z.array(aheadMs).check(z.minLength(1)), 'it must be a list of milliseconds, at most 1e13, one for each node'],
  domains: [z.array(z.union([z.string(), redirect])), 'it must be a list of host names and redirects { from, to, status? }'],
  history: [POSITIVE, 'it must be a whole number, 1 or more'],
};

function isList(pets: unknown): boolean {
  return typeof pets === 'object' && pets !== null && Symbol.iterator in pets;
}

/**
 * Checks one entry of `pets` as it is taken from the list, since a generator gives its entries only once.
 * @throws {SandboxError} that names the entry and the rule.
 */
export function checkEntry(pet: StockEntry, index: number): StockEntry {
  checkValue(pet, `pets[${index}]`, ENTRY_RULE);
  return pet;
}

/** Checks the options of a sandbox, with `more` rules for the options of its server. @throws {SandboxError} */
export function checkSandboxOptions(options: SandboxOptions, more: OptionRules<object> = {}): void {
  checkObject(options, { place: 'the options of a sandbox', example: '{ pets: 3 }' });
  checkOptions(options, { ...more, ...OPTION_RULES });
  for (const [name, limits] of Object.entries(options.plans ?? {})) checkValue(limits, `plans.${name}`, PLAN_RULE);
  checkBurst(options);
  for (const [index, fault] of (options.faults ?? []).entries()) checkFault(fault, `faults[${index}]`);
}

function checkBurst(options: SandboxOptions): void {
  const { burst, limitHeaders, minutePolicy } = rulesOf(options);
  if ((burst === undefined && limitHeaders.limit === 'plan') || minutePolicy === 'token-bucket') return;
  const option = burst === undefined ? 'limitHeaders.limit: "burst"' : 'burst';
  throw new SandboxError(`Cannot use \`${option}\` with the policy "${minutePolicy}": only the minute's "token-bucket" has one`);
}
