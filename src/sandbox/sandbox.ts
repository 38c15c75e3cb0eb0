import { API_VERSION, VERSION_SEGMENT } from '../contract/http.ts';
import { PLANS, type PlanLimits, type PlanName } from '../contract/plans.ts';
import { SandboxClock } from './clock.ts';
import { Domains } from './domains.ts';
import { Faults } from './faults.ts';
import { createFetch } from './fetch.ts';
import { Inventory } from './inventory.ts';
import { Keyring } from './keyring.ts';
import { Ledger, type SandboxReport, type SandboxRequest } from './ledger.ts';
import { resolveLimitHeaders } from './limit-headers.ts';
import { type MeterRules, resolveCounting } from './meter.ts';
import { checkEntry, checkSandboxOptions, type SandboxOptions } from './options.ts';
import { createRandom } from './random.ts';
import type { Desk } from './reception.ts';
import { createService, type Environment, type Service } from './service.ts';
import { inventPets, MemoryStock, type Stock, type StockItem, toStockItem } from './stock.ts';

const DEFAULT_PETS = 12;
const DEFAULT_BAN = { after: 10, forMs: 600_000 };

/**
 * A sandbox of the service: it answers, counts, refuses and fails as the specification says or as its options say.
 *
 * @example
 * const own: Sandbox = createSandbox({ pets: 3 });
 * const client = new PetStoreClient({ apiKey: own.keys.pro, baseUrl: own.baseUrl, fetch: own.fetch });
 * console.log((await client.listInventory()).length, own.report().requests); // → 3 1
 */
export interface Sandbox<Plans extends string = never> {
  /** Reaches this sandbox and nothing else; give it to a client as its `fetch`. */
  readonly fetch: typeof globalThis.fetch;
  /** The address of production; every sandbox has its own. */
  readonly baseUrl: string;
  /** The version of the API description that the sandbox implements (specification, Versioning). */
  readonly version: string;
  /** One key for every plan. */
  readonly keys: Readonly<Record<PlanName, string> & Record<Plans, string>>;
  /** The stock of production. */
  readonly inventory: Inventory;
  /** Staging: the same keys, its own address, stock and counts. */
  readonly staging: { readonly baseUrl: string; readonly inventory: Inventory };
  /** The latest requests that the sandbox received, oldest first. A live list: it grows with each request. */
  readonly requests: readonly Readonly<SandboxRequest>[];
  /** The clock by which the sandbox counts and waits. */
  readonly clock: SandboxClock;
  /** The faults that the sandbox injects. */
  readonly faults: Faults;
  /** The custom domains at which it is served. */
  readonly domains: Domains;
  /** A copy of the counts of all requests. */
  report(): SandboxReport;
  /** Forgets requests and counts of the report; stock and quotas stay, and the numbers of requests go on. */
  clear(): void;
  /**
   * Resets the sandbox: the initial stock in both environments, full quotas, no bans, no requests. Keys, faults and the clock stay. Requests
   * count from 1 again and the `times` of faults from 0, so that faults happen as in a new sandbox, though a `rate` goes on drawing.
   * Clients still know until when a key is used up or banned: give the next one another key, see `addKey`.
   */
  reset(): void;
  /**
   * Adds a key for a plan, and returns it. Without `key`, a new one is made.
   * @throws {SandboxError} for an unknown plan, or a key that is malformed or already known.
   */
  addKey(plan: PlanName | Plans, key?: string): string;
  /** Makes a key invalid at once; returns whether it was valid. */
  revokeKey(key: string): boolean;
}

/** A sandbox with the parts that a server needs. */
export interface SandboxParts {
  readonly sandbox: Sandbox<string>;
  readonly service: Service;
  readonly keyring: Keyring;
  readonly ledger: Ledger;
  readonly stock: Stock;
}

let sandboxCount = 0;

/**
 * Makes a sandbox: the whole service as a function, without a socket, in any runtime.
 *
 * @throws {SandboxError} for an option that it cannot use.
 * @example
 * const sandbox = createSandbox({ pets: 3 });
 * const petstore = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
 * console.log((await petstore.listInventory()).length); // → 3
 * @example
 * const answer = await sandbox.fetch(`${sandbox.baseUrl}/inventory`, { headers: { authorization: `Bearer ${sandbox.keys.free}` } });
 */
export function createSandbox<Plans extends string = never>(options?: SandboxOptions<Plans>): Sandbox<Plans>;
export function createSandbox(options: SandboxOptions = {}): Sandbox<string> {
  checkSandboxOptions(options);
  return assembleSandbox(options).sandbox;
}

/** Makes a sandbox of checked options with its stock in `stock`, such as a file. If that was filled before, it keeps its pets. */
export function assembleSandbox(options: SandboxOptions, stock: Stock = new MemoryStock()): SandboxParts {
  const stagingStock = new MemoryStock();
  const plans = new Map<string, PlanLimits>(Object.entries({ ...PLANS, ...options.plans }));
  const rules = meterRules(options);
  const keyring = new Keyring(plans, rules);
  const ledger = new Ledger(options.history ?? 100_000);
  const random = createRandom((options.seed ?? 1) + 1);
  const desk: Desk = {
    clock: new SandboxClock(options.clock),
    keyring,
    ledger,
    random,
    faults: new Faults(options.faults ?? [], random),
    latency: options.latency ?? 0,
    retryAfter: rules.retryAfter,
    rateLimitBody: options.rateLimitBody ?? 'error',
    limitHeaders: rules.limitHeaders,
    counting: rules.counting,
    nodes: options.nodes ?? [0],
    date: options.date ?? { aheadMs: 0 },
  };
  const domains = new Domains(options.domains ?? []);
  const service = createService({ ...desk, domains, routes: options.routes, environments: environmentsOf({ stock, stagingStock }) });
  const first = firstStocks(options);
  const reset = () => {
    stock.fill(first.pets());
    stagingStock.fill(first.staging());
    keyring.refill();
    desk.faults.refill();
    ledger.reset();
  };
  const sandbox = openSandbox(options, { ...desk, domains, service, stock, stagingStock, plans: [...plans.keys()], reset });
  if (stock.isNew) stock.fill(first.pets());
  stagingStock.fill(first.staging());
  return { sandbox, service, keyring, ledger, stock };
}

function environmentsOf({ stock, stagingStock }: Stocks): Environment[] {
  return [
    { environment: 'production', basePath: `/${VERSION_SEGMENT}`, stock },
    { environment: 'staging', basePath: `/staging/${VERSION_SEGMENT}`, stock: stagingStock },
  ];
}

interface Opened extends Desk, Stocks {
  readonly service: Service;
  readonly domains: Domains;
  readonly plans: readonly string[];
  readonly reset: () => void;
}

/** Gives a sandbox its address and its keys. */
function openSandbox(options: SandboxOptions, { keyring, ledger, domains, ...opened }: Opened): Sandbox<string> {
  sandboxCount += 1;
  const host = `sandbox-${sandboxCount}.localhost`;
  const keys = issueKeys(keyring, { plans: opened.plans, suffix: String(sandboxCount) });
  for (const [key, plan] of Object.entries(options.keys ?? {})) keyring.add(plan, key);
  return {
    fetch: createFetch({ service: opened.service, owns: (url) => url.host === host || domains.has(url.hostname) }),
    baseUrl: `http://${host}/${VERSION_SEGMENT}`,
    version: API_VERSION,
    keys,
    inventory: new Inventory(opened.stock),
    staging: { baseUrl: `http://${host}/staging/${VERSION_SEGMENT}`, inventory: new Inventory(opened.stagingStock) },
    requests: ledger.requests,
    clock: opened.clock,
    faults: opened.faults,
    domains,
    report: () => ledger.report(),
    clear: () => ledger.clear(),
    reset: opened.reset,
    addKey: (plan, key) => keyring.add(plan, key),
    revokeKey: (key) => keyring.revoke(key),
  };
}

function meterRules({ policy = 'fixed-clock', window = 60_000, ban = DEFAULT_BAN, ...told }: SandboxOptions): MeterRules {
  const both = typeof policy === 'string' ? { minute: policy, day: policy === 'token-bucket' ? ('fixed-clock' as const) : policy } : policy;
  return {
    minutePolicy: both.minute,
    dayPolicy: both.day,
    minuteMs: window,
    ban,
    burst: told.burst,
    counting: resolveCounting(told.counting),
    retryAfter: told.retryAfter ?? 'seconds',
    limitHeaders: resolveLimitHeaders(told.limitHeaders),
  };
}

/** The name of a plan in a key, which is a header's value. */
function inAscii(plan: string): string {
  return plan.replaceAll(' ', '_').replace(/[^!-~]/gu, (character) => character.codePointAt(0)?.toString(16) ?? '');
}

function issueKeys(keyring: Keyring, { plans, suffix }: { plans: readonly string[]; suffix: string }): Sandbox<string>['keys'] {
  const keyOf = (plan: string) => keyring.add(plan, `psk_sandbox_${inAscii(plan)}_${suffix}`);
  const listed = { free: keyOf('free'), pro: keyOf('pro'), business: keyOf('business') };
  const custom = plans.filter((plan) => !Object.hasOwn(PLANS, plan));
  return { ...Object.fromEntries(custom.map((plan) => [plan, keyOf(plan)])), ...listed };
}

interface Stocks {
  readonly stock: Stock;
  readonly stagingStock: Stock;
}

/** The initial pets of each stock. They are made at each call, so that a reset has none of the later changes. */
interface FirstStocks {
  pets: () => Iterable<StockItem>;
  staging: () => Iterable<StockItem>;
}

/** Staging gets the same list of pets, or a few made-up ones: it shows that environments are separate, and need not be large. */
function firstStocks({ pets = DEFAULT_PETS, seed = 1 }: SandboxOptions): FirstStocks {
  if (typeof pets === 'number') {
    const invent = (count: number, from: number) => inventPets(count, createRandom(from));
    return { pets: () => invent(pets, seed), staging: () => invent(Math.min(pets, DEFAULT_PETS), seed + 2) };
  }
  const listed = Array.from(pets, (pet, index) => toStockItem(checkEntry(pet, index)));
  return { pets: () => listed, staging: () => listed };
}
