import { API_VERSION } from '../contract/http.ts';
import { PLANS, type PlanName } from '../contract/plans.ts';
import { SandboxClock } from './clock.ts';
import { Domains } from './domains.ts';
import { BASE_PATHS } from './environments.ts';
import { Faults } from './faults.ts';
import { createFetch } from './fetch.ts';
import { Inventory } from './inventory.ts';
import { Keyring } from './keyring.ts';
import { Ledger, type SandboxReport, type SandboxRequest } from './ledger.ts';
import { checkEntry, checkSandboxOptions, rulesOf, type SandboxOptions } from './options.ts';
import { createRandom } from './random.ts';
import type { Desk } from './reception.ts';
import { createService, type Service } from './service.ts';
import { inventPets, MemoryStock, type Stock, type StockItem, toStockItem } from './stock.ts';

const DEFAULT_PETS = 12;

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
  readonly desk: Desk;
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
  const rules = rulesOf(options);
  const random = createRandom((options.seed ?? 1) + 1);
  const desk: Desk = {
    rules,
    clock: new SandboxClock(options.clock),
    random,
    faults: new Faults(options.faults ?? [], random),
    keyring: new Keyring({ ...PLANS, ...options.plans }, rules),
    ledger: new Ledger(options.history ?? 100_000),
    domains: new Domains(options.domains ?? []),
    stocks: { production: stock, staging: new MemoryStock() },
  };
  const service = createService(desk);
  const first = firstPets(options);
  const sandbox = openSandbox(options, { desk, service, first });
  if (stock.isNew) stock.fill(first.production());
  desk.stocks.staging.fill(first.staging());
  return { sandbox, service, desk };
}

/** Gives a sandbox its address and its keys. */
function openSandbox(
  options: SandboxOptions,
  { desk, service, first }: { desk: Desk; service: Service; first: FirstPets },
): Sandbox<string> {
  const { keyring, ledger, domains, stocks, clock, faults } = desk;
  sandboxCount += 1;
  const host = `sandbox-${sandboxCount}.localhost`;
  const keys = issueKeys(keyring, String(sandboxCount));
  for (const [key, plan] of Object.entries(options.keys ?? {})) keyring.add(plan, key);
  return {
    fetch: createFetch({ service, owns: (url) => url.host === host || domains.has(url.hostname) }),
    baseUrl: `http://${host}${BASE_PATHS.production}`,
    version: API_VERSION,
    keys,
    inventory: new Inventory(stocks.production),
    staging: { baseUrl: `http://${host}${BASE_PATHS.staging}`, inventory: new Inventory(stocks.staging) },
    requests: ledger.requests,
    clock,
    faults,
    domains,
    report: () => ledger.report(),
    clear: () => ledger.clear(),
    reset: () => {
      stocks.production.fill(first.production());
      stocks.staging.fill(first.staging());
      keyring.refill();
      faults.refill();
      ledger.reset();
    },
    addKey: (plan, key) => keyring.add(plan, key),
    revokeKey: (key) => keyring.revoke(key),
  };
}

/** The name of a plan in a key, which is a header's value: another one for each plan. */
function inAscii(plan: string): string {
  return plan.replace(/[^!-}]/gu, (character) => `~${character.codePointAt(0)?.toString(16)}~`);
}

function issueKeys(keyring: Keyring, suffix: string): Sandbox<string>['keys'] {
  const keyOf = (plan: string) => keyring.add(plan, `psk_sandbox_${inAscii(plan)}_${suffix}`);
  const listed = { free: keyOf('free'), pro: keyOf('pro'), business: keyOf('business') };
  const custom = keyring.plans().filter((plan) => !Object.hasOwn(PLANS, plan));
  return { ...Object.fromEntries(custom.map((plan) => [plan, keyOf(plan)])), ...listed };
}

/** Gives the initial pets of each environment. They are made at each call, so that a reset has none of the later changes. */
type FirstPets = Record<keyof Desk['stocks'], () => Iterable<StockItem>>;

/** Staging gets the same list of pets, or a few made-up ones: it shows that environments are separate, and need not be large. */
function firstPets({ pets = DEFAULT_PETS, seed = 1 }: SandboxOptions): FirstPets {
  if (typeof pets === 'number') {
    const invent = (count: number, from: number) => inventPets(count, createRandom(from));
    return { production: () => invent(pets, seed), staging: () => invent(Math.min(pets, DEFAULT_PETS), seed + 2) };
  }
  const listed = Array.from(pets, (pet, index) => toStockItem(checkEntry(pet, index)));
  return { production: () => listed, staging: () => listed };
}
