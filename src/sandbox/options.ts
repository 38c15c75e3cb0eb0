import * as z from 'zod/mini';
import { InventoryItem, PetId } from '../contract/models.ts';
import type { PlanLimits } from '../contract/plans.ts';
import type { TimeSource } from './clock.ts';
import type { DomainRedirect } from './domains.ts';
import { FAULT_RULE, type Fault, faultSchema } from './fault.ts';
import { type Latency, latencySchema } from './latency.ts';
import { type Ban, RETRY_AFTER_FORMS, type RetryAfterForm, TOLD_WINDOWS, type ToldWindow } from './meter.ts';
import { SandboxError, show } from './sandbox-error.ts';
import type { StockEntry } from './stock.ts';
import { POLICIES, type Policy } from './windows.ts';

/** How a sandbox is set up; every option may be left out. */
export interface SandboxOptions<Plans extends string = string> {
  /** The stock: that many made-up pets with the ids from 1, or these. @default 12 */
  pets?: number | Iterable<StockEntry>;
  /** Keys of your own, each with the name of its plan, beside the one that every plan has out of the box. */
  keys?: Readonly<Record<string, string>>;
  /** Plans beside free, pro and business, or other limits for these (specification, Limits: Enterprise is custom). */
  plans?: Readonly<Record<Plans, PlanLimits>>;
  /** Length of the minute's window in milliseconds, so that tests can shorten it. @default 60000 */
  window?: number;
  /**
   * How requests are counted; the specification does not show the service's way. A single one is for both windows, except that
   * the day beside a token bucket is counted as `fixed-clock`.
   * @default 'fixed-clock'
   */
  policy?: Policy | { minute: Policy; day: Policy };
  /** Where the time comes from, in milliseconds since 1970. @default the global Date.now, read at every call */
  clock?: TimeSource;
  /** How long a request takes, half of it before it is counted and half after. @default 0 */
  latency?: Latency;
  /** What goes wrong on purpose. @default nothing */
  faults?: readonly Fault[];
  /** Decides everything that is random: statuses, quantities, latencies, rates. A whole number. @default 1 */
  seed?: number;
  /** The ban of a key that keeps asking during a penalty; our reading of the specification. @default { after: 10, forMs: 600000 } */
  ban?: Ban | false;
  /** How a 429 tells its wait. @default 'seconds' */
  retryAfter?: RetryAfterForm;
  /** Whether a 429 has an Error body; the specification does not show it. @default 'error' */
  rateLimitBody?: 'error' | 'empty';
  /** Which limit the X-RateLimit headers tell. @default 'minute' */
  limitHeaders?: ToldWindow;
  /** Custom domains and redirects between domains. @default none */
  domains?: readonly (string | DomainRedirect)[];
  /** How many of the latest requests are kept in full; counts are kept of all. @default 100000 */
  history?: number;
}

/** What each option accepts, and the sentence that says so. */
export type OptionRules<Options> = Readonly<Record<keyof Options, readonly [schema: z.ZodMiniType, rule: string]>>;

const whole = z.int().check(z.gte(0));
const positive = z.int().check(z.gte(1));
const time = z.number().check(z.gte(0));
const call = z.custom<() => unknown>((value) => typeof value === 'function');

const entry = z.strictObject({ petId: PetId, quantity: InventoryItem.shape.quantity, status: z.optional(z.string()) });
const plan = z.strictObject({ requestsPerMinute: positive, requestsPerDay: z.optional(positive) });
const policy = z.enum(POLICIES);
const redirect = z.strictObject({ from: z.string(), to: z.string(), status: z.optional(z.int()) });

const words = (names: readonly string[]) => names.map((name) => `"${name}"`).join(', ');
const OPTION_RULES: OptionRules<SandboxOptions> = {
  pets: [z.union([whole, z.array(entry), z.custom(isLazy)]), 'it must be a number of pets or a list of { petId, quantity, status? }'],
  keys: [z.record(z.string(), z.string()), 'it must be an object of keys, each with the name of its plan'],
  plans: [z.record(z.string(), plan), 'it must be an object of plans { requestsPerMinute, requestsPerDay? }, whole numbers from 1'],
  window: [positive, 'it must be a whole number of milliseconds, 1 or more'],
  policy: [z.union([policy, z.strictObject({ minute: policy, day: policy })]), `it must be one of ${words(POLICIES)} or { minute, day }`],
  clock: [z.union([call, z.looseObject({ now: call })]), 'it must be a function that tells the time, or an object with now()'],
  latency: [latencySchema, 'it must be milliseconds, { fromMs, toMs }, { medianMs, p99Ms } or a function'],
  faults: [z.array(faultSchema), `of each fault: ${FAULT_RULE}`],
  seed: [z.int(), 'it must be a whole number'],
  ban: [z.union([z.literal(false), z.strictObject({ after: whole, forMs: time })]), 'it must be { after, forMs } or false'],
  retryAfter: [z.enum(RETRY_AFTER_FORMS), `it must be one of ${words(RETRY_AFTER_FORMS)}`],
  rateLimitBody: [z.enum(['error', 'empty']), 'it must be "error" or "empty"'],
  limitHeaders: [z.enum(TOLD_WINDOWS), `it must be one of ${words(TOLD_WINDOWS)}`],
  domains: [z.array(z.union([z.string(), redirect])), 'it must be a list of host names and redirects { from, to, status? }'],
  history: [positive, 'it must be a whole number, 1 or more'],
};

function isLazy(pets: unknown): boolean {
  return typeof pets === 'object' && pets !== null && !Array.isArray(pets) && Symbol.iterator in pets;
}

/**
 * Checks options against their rules; an option that is undefined counts as left out.
 * @throws {SandboxError} that names the option, the rule and the value.
 */
export function checkOptions<Options extends object>(
  options: Options,
  rules: Readonly<Record<string, readonly [z.ZodMiniType, string]>>,
): void {
  for (const [name, value] of Object.entries(options)) {
    const [schema, rule] = (Object.hasOwn(rules, name) ? rules[name] : undefined) ?? [];
    if (schema === undefined) {
      throw new SandboxError(`Cannot use \`${name}\`: there is no such option, only ${Object.keys(rules).join(', ')}`);
    }
    if (value === undefined || schema.safeParse(value).success) continue;
    throw new SandboxError(`Cannot use ${show(value)} as \`${name}\`: ${rule}`);
  }
}

/** Checks the options of a sandbox. */
export function checkSandboxOptions(options: SandboxOptions): void {
  checkOptions(options, OPTION_RULES);
}
