import type { PetStoreApi } from './api.ts';
import type { Int64, InventoryItem, InventoryUpdate, PetId } from './contract/models.ts';
import { PLANS, type PlanLimits, type PlanName } from './contract/plans.ts';
import { type ClientEvents, Emitter } from './events.ts';
import { hidingKey, redactorOf } from './hiding-key.ts';
import { InventoryStream } from './inventory-stream.ts';
import { createLog } from './log-lines.ts';
import { fetchOperation } from './operations/fetch.ts';
import { listInventory } from './operations/list-inventory.ts';
import type { Operation } from './operations/operation.ts';
import { collectInventory, streamInventory } from './operations/stream-inventory.ts';
import { updateInventory } from './operations/update-inventory.ts';
import { type CallOptions, type RequestOptions, resolveCallOptions } from './options/call-options.ts';
import { type PetStoreClientOptions, type ResolvedOptions, resolveOptions } from './options/client-options.ts';
import { Pipeline } from './pipeline.ts';
import type { ClientLimits } from './quota/gate/client-limits.ts';
import type { Gate } from './quota/gate/gate.ts';
import { gateOf } from './quota/gate/registry.ts';
import type { Quota, RetryBudgetState } from './quota/ledger/quota.ts';
import { Redactor } from './redactor.ts';
import { type Answered, type ReplyPromise, replyPromise } from './reply.ts';
import { createCredentials, learnKey } from './transport/credentials.ts';
import { http } from './transport/http.ts';
import { Transport } from './transport/transport.ts';

// The method that Node, Bun, Deno and workerd call to print an object.
const INSPECT = Symbol.for('nodejs.util.inspect.custom');
const PRINTED = {
  value(this: object): string {
    return String(this);
  },
};

/**
 * A `fetch` for the other endpoints of the service. With `priority: 'low'`, waiting normal calls of the key go first.
 *
 * @example
 * const low: PetStoreFetch = (input, init) => petstore.fetch(input, { ...init, priority: 'low' });
 * console.log((await low('/store/orders')).status); // → 501
 */
export type PetStoreFetch = typeof globalThis.fetch &
  ((
    input: Parameters<typeof globalThis.fetch>[0],
    init?: Parameters<typeof globalThis.fetch>[1] & {
      /** With `'low'`, waiting normal calls of the key go first. */
      priority?: 'high' | 'low' | 'auto';
    },
  ) => Promise<Response>);

/**
 * The client of the pet store's inventory. Make one and share it: clients of one process with the same address and key keep to the
 * limits together.
 *
 * @typeParam Ids the type of ids in answers, as the option `int64` says
 * @example
 * const petstore = new PetStoreClient({ apiKey, baseUrl, plan: 'pro' });
 * const items = await petstore.listInventory();
 * const item = await petstore.updateInventory(1, { quantity: 12 });
 */
export class PetStoreClient<Ids extends Int64 = 'number'> implements PetStoreApi<Ids>, AsyncDisposable {
  readonly #options: Pick<ResolvedOptions<Ids>, 'baseUrl' | 'plan' | 'int64' | 'maxResponseBytes' | 'call'> & { redactor: Redactor };
  readonly #emitter: Emitter;
  readonly #gate: Gate;
  readonly #limits: ClientLimits;
  readonly #pipeline: Pipeline<InventoryItem<Ids>>;
  // Created when it is first used.
  #fetch: PetStoreFetch | undefined;

  // `PetStoreClient<'bigint'>` compiles only with `int64: 'bigint'`, so that the type never claims bigints which the client does not give.
  /**
   * Takes every setting from the `PETSTORE_...` variables. Sends nothing.
   * @throws ConfigurationError that names the variable that is missing, or the option whose variable is bad
   */
  constructor(...none: { number: []; bigint: [options: never] }[Ids]);
  /**
   * Sends nothing. Options that are left out are read from the `PETSTORE_...` variables, where the runtime has variables.
   * @throws ConfigurationError that names the option, the rule and the value
   */
  constructor(options: (PetStoreClientOptions<Ids> | undefined) & { number: unknown; bigint: { int64: Ids } }[Ids]);
  constructor(options: PetStoreClientOptions<Ids> = {}) {
    const redactor = new Redactor();
    redactorOf.set(this, redactor);
    learnKey(options, redactor);
    const { baseUrl, int64, maxResponseBytes, call, ...made } = hidingKey(this, () => resolveOptions(options, redactor));
    const { apiKey, plan, concurrency, share, quotaStore, fetch, logger } = made;
    this.#options = { baseUrl, plan, int64, maxResponseBytes, call, redactor };
    const credentials = createCredentials(apiKey, redactor);
    this.#emitter = new Emitter(logger && createLog(logger, redactor), this);
    const warn = (message: string) => this.#emitter.warn(message);
    const settings = { plan, concurrency, share };
    this.#gate = gateOf({ address: baseUrl, apiKey }, { settings, warn, quotaStore });
    const transport = new Transport({ client: this, http, fetch, baseUrl, credentials, redactor });
    this.#limits = this.#gate.limitsOf(settings);
    this.#pipeline = new Pipeline({ client: this, gate: this.#gate, limits: this.#limits, transport, emitter: this.#emitter });
    Object.defineProperty(this, INSPECT, PRINTED);
  }

  /**
   * Reads the current stock of all pets into one array, at most `maxResponseBytes` of it (specification, listInventory).
   * @throws PetStoreError, or the signal's reason
   * @example
   * const items = await petstore.listInventory({ totalTimeoutMs: 60_000 });
   * console.log(items.length, items[0]?.petId); // → 12 1
   */
  listInventory(options?: RequestOptions): ReplyPromise<InventoryItem<Ids>[]> {
    const makeOperation = () => listInventory(this.#options.int64, this.#options.maxResponseBytes);
    return this.#call(makeOperation, options, (operation, resolved) => this.#pipeline.send(operation, resolved));
  }

  /**
   * Reads the current stock of all pets as it comes, in constant memory, however many there are (specification, listInventory).
   * The request is made when the first item is asked for; leaving the loop early closes the connection.
   * @throws PetStoreError that says how many items came before, or the signal's reason; the loop throws it, not this method
   * @example
   * let total = 0;
   * for await (const { quantity } of petstore.streamInventory()) total += quantity;
   * console.log(total > 0); // → true
   */
  streamInventory(options?: RequestOptions): InventoryStream<Ids> {
    const { int64 } = this.#options;
    const resolve = () => this.#resolveFor({ name: 'streamInventory' }, options);
    return new InventoryStream({
      open: (left) => this.#pipeline.open(streamInventory(int64), resolve(), left),
      collect: (sink) => this.#pipeline.send(collectInventory(int64, sink), resolve()),
    });
  }

  /**
   * Sets the stock of one pet (specification, updateInventory). Updates of one pet are sent in the order of their calls.
   * @param petId an int64; a `bigint` if it is beyond ±(2^53−1)
   * @param update the new stock count, a safe integer; the service may have narrower bounds
   * @experimental The service may still change the shape of this request.
   * @throws InvalidArgumentError before anything is sent; PetStoreError with `outcome`, or the signal's reason
   * @example
   * const item = await petstore.updateInventory(1, { quantity: 12 });
   * console.log(item.quantity); // → 12
   */
  updateInventory(petId: PetId, update: InventoryUpdate, options?: RequestOptions): ReplyPromise<InventoryItem<Ids>> {
    const makeOperation = () => updateInventory(petId, update, this.#options.int64);
    return this.#call(makeOperation, options, (operation, resolved) => this.#pipeline.update(operation, resolved));
  }

  /**
   * Fetches from any other endpoint below the client's address: `/pets/42`, `pets/42` or a whole address. It adds the key, waits for quota
   * like every call (with `priority: 'low'`, normal calls go first), and gives the service's Response whatever its status. After a 429, or
   * a 503 with Retry-After, the request is sent again when that has passed, whatever its method; other failures are retried if the method
   * is idempotent (RFC 9110 section 9.2.2).
   * Redirects are not followed. The request counts as in flight until the body of the Response is read or cancelled.
   * @throws InvalidArgumentError before anything is sent, for another address, an `Authorization` header, `integrity` or a bad body;
   *   PetStoreError if no answer comes; or the signal's reason
   * @example
   * const response = await petstore.fetch('/pets/42');
   * console.log(response.status, (await response.json()).code); // → 501 not_shown
   */
  get fetch(): PetStoreFetch {
    this.#fetch ??= (input, init) => this.#fetchBelow(input, init);
    return this.#fetch;
  }

  /** The address that the client uses, without a trailing slash and without credentials. */
  get baseUrl(): string {
    return this.#options.baseUrl;
  }

  /**
   * What is known about the key's quota now. Sends nothing.
   * @example
   * await petstore.listInventory();
   * console.log(petstore.quota.minute.limit, petstore.quota.closedUntil); // → 1000 undefined
   */
  get quota(): Quota {
    return this.#gate.quotaOf(this.#limits);
  }

  /**
   * The retries that the calls of this key may still make: each retry takes one, and seven good answers give one back. At 0, a call that
   * fails is not retried. First attempts cost nothing, nor do retries in an outage or after a wait that the service asked for.
   * @example
   * sandbox.faults.add({ times: 1, status: 500 });
   * await petstore.listInventory();
   * console.log(petstore.retryBudget); // → { available: 9, capacity: 10 }
   */
  get retryBudget(): RetryBudgetState {
    return this.#gate.retries.state;
  }

  /**
   * Calls `listener` at every event of this name. Returns a function that removes the listener. Errors of a listener are ignored.
   * @throws InvalidArgumentError for a name that no event has, or a listener that is not a function
   * @example
   * petstore.on('retry', ({ operation, delayMs }) => console.log(`${operation} again in ${delayMs} ms`));
   */
  on<Name extends keyof ClientEvents>(name: Name, listener: (event: ClientEvents[Name]) => void): () => void {
    return hidingKey(this, () => this.#emitter.on(name, listener));
  }

  /**
   * Ends everything that the client started: calls that are under way, and later ones, reject with an AbortError.
   * @example
   * petstore.close();
   * console.log(await petstore.listInventory().catch(({ name }) => name)); // → AbortError
   */
  close(): void {
    this.#pipeline.close(new DOMException('The client was closed', 'AbortError'));
  }

  /** Like `close`, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }

  /**
   * Class, address and plan, for logs; never the key, even if it is part of the address. A plan that is learned from the headers is shown
   * as `learned`.
   */
  toJSON(): { name: 'PetStoreClient'; baseUrl: string; plan: PlanName | 'unlimited' | 'learned' | PlanLimits } {
    const { baseUrl, plan, redactor } = this.#options;
    return { name: 'PetStoreClient', baseUrl: redactor.hide(baseUrl), plan: nameOf(plan) };
  }

  /**
   * Class, address and plan as text; `console.log(petstore)` shows it too.
   * @example
   * const client = new PetStoreClient({ apiKey, baseUrl: 'https://shop.example/v1', plan: 'pro' });
   * console.log(client); // → PetStoreClient {"baseUrl":"https://shop.example/v1","plan":"pro"}
   */
  toString(): string {
    const { name, ...shown } = this.toJSON();
    return `${name} ${JSON.stringify(shown)}`;
  }

  #call<T>(
    makeOperation: () => Operation<T>,
    options: RequestOptions | undefined,
    send: (operation: Operation<T>, resolved: CallOptions) => Promise<Answered<T>>,
  ): ReplyPromise<T> {
    try {
      const operation = hidingKey(this, makeOperation);
      return replyPromise(send(operation, this.#resolveFor(operation, options)));
    } catch (error) {
      return replyPromise(Promise.reject(error));
    }
  }

  async #fetchBelow(input: string | URL | Request, init: RequestInit | undefined): Promise<Response> {
    const { baseUrl, call, redactor } = this.#options;
    const target = { baseUrl, maxRetries: call.maxRetries, redactor };
    const { operation, options } = hidingKey(this, () => fetchOperation(input, init, target));
    return this.#pipeline.open(operation, this.#resolveFor(operation, options));
  }

  #resolveFor({ name, petId }: Pick<Operation<unknown>, 'name' | 'petId'>, options: RequestOptions | undefined): CallOptions {
    const { call } = this.#options;
    const change = petId === undefined && name !== 'fetch' ? {} : ({ petId, outcome: 'not-sent' } as const);
    return hidingKey(this, () => resolveCallOptions(options, call), { operation: name, ...change });
  }
}

/** The name of a plan; its limits if it has no name. Named plans are the objects of `PLANS` themselves. */
function nameOf(plan: ResolvedOptions<Int64>['plan']): ReturnType<PetStoreClient['toJSON']>['plan'] {
  if (plan === undefined || plan === 'unlimited') return plan ?? 'learned';
  const { free, pro, business } = PLANS;
  return plan === free ? 'free' : plan === pro ? 'pro' : plan === business ? 'business' : { ...plan };
}
