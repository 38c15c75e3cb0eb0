import { checkClient, checkUpdated, type PetStoreApi } from '../api.ts';
import { eitherSignal } from '../clock/either-signal.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import { type FailureDetails, InvalidArgumentError, NotFoundError } from '../errors.ts';
import { hidingKey } from '../hiding-key.ts';
import { checkPetId } from '../options/rules.ts';
import { PetTurns } from '../order/pet-turns.ts';
import { fieldOf } from '../thrown.ts';
import { UpdateNews } from '../update-news.ts';
import type { StockChange } from './change-iterator.ts';
import { ChangePoller, pauseMsAfter } from './change-poller.ts';
import { HeldStock } from './held-stock.ts';
import { QuotaPace } from './quota-pace.ts';
import { SharedLists } from './shared-lists.ts';
import type { AnyItem } from './stock-columns.ts';
import {
  type AdjustOptions,
  checkAdjustOptions,
  checkDelta,
  checkItemsOptions,
  checkReadOptions,
  checkRefreshOptions,
  type ResolvedViewOptions,
  resolveViewOptions,
  type StockViewOptions,
  type ViewItemsOptions,
  type ViewReadOptions,
} from './view-options.ts';

const ALWAYS = Number.NEGATIVE_INFINITY;
/** The shortest time between two lists of `changes()`, even with a smaller `maxAgeMs`. */
const LEAST_BETWEEN_LOOKS_MS = 100;
/** An adjustment that ends before its update. */
const UNSENT = { operation: 'updateInventory', outcome: 'not-sent' } as const;

/** One read: its greatest age, and its pet; undefined for all pets. */
interface Read {
  maxAgeMs: number | 'quota';
  petId: PetId | undefined;
  signal: AbortSignal | undefined;
}

interface Adjustment {
  delta: number;
  min: number;
  max: number;
  signal: AbortSignal;
}

/**
 * The whole stock in memory, no older than the options allow, for any number of readers. It sends one list at a time.
 *
 * A view contains the updates of the same client as soon as the service has confirmed them. If a list names a pet twice, the last values
 * count. A view keeps the process alive only while a caller waits for it.
 *
 * @typeParam Ids the type of ids, as in the client
 * @example
 * const stock = new StockView(petstore, { maxAgeMs: 5_000 });
 * const pets = await Promise.all([1, 2, 3].map((petId) => stock.get(petId)));
 * console.log(pets[2], sandbox.requests.length); // → { petId: 3, quantity: 28, status: 'sold' } 1
 */
export class StockView<Ids extends Int64 = 'number'> implements Disposable {
  readonly #client: PetStoreApi<Ids>;
  readonly #options: ResolvedViewOptions;
  readonly #held = new HeldStock();
  readonly #pace: QuotaPace;
  readonly #lists: SharedLists<Ids>;
  readonly #news: UpdateNews;
  readonly #stopFollowing: () => void;
  #onAbort: (() => void) | undefined;
  #poller: ChangePoller<Ids> | undefined;
  #ending: AbortController | undefined;
  #closed: { reason: unknown } | undefined;
  // The failures in a row, while the held stock is stale.
  #failure: Failure = { error: undefined, times: 0, atMs: 0 };
  // Set when the client was closed. The held stock can still be read, but no longer changes.
  #clientClosed: { reason: unknown } | undefined;

  /**
   * Makes a view; sends nothing.
   * @param client a `PetStoreClient`, or a fake. With a fake, the view only knows the updates of its own `adjust()`.
   * @throws InvalidArgumentError for a value that is not a client; ConfigurationError that names the option
   */
  constructor(client: PetStoreApi<Ids>, options: StockViewOptions = {}) {
    checkClient(client);
    this.#client = client;
    this.#options = hidingKey(client, () => resolveViewOptions(options));
    this.#pace = new QuotaPace(client, this.#options.quotaShare);
    this.#lists = new SharedLists({
      client,
      held: this.#held,
      onLeave: () => this.#pace.noteRequest(),
      onEnd: (failed) => this.#takeEnd(failed),
    });
    this.#held.onClientClosed = (reason) => this.#endChanges(reason);
    this.#news = UpdateNews.from(client);
    this.#stopFollowing = this.#news.follow(this.#held);
    this.#endWith(this.#options.signal);
  }

  /**
   * Returns a pet, at most `maxAgeMs` old; undefined if the list does not name it.
   * @throws InvalidArgumentError or ConfigurationError, nothing sent; the error of the client's list, if no stock is held that
   *   `maxStaleMs` allows; the signal's reason; an AbortError once the view is closed
   * @example
   * const item = await new StockView(petstore).get(3);
   * console.log(item?.quantity); // → 28
   */
  async get(petId: PetId, options?: ViewReadOptions): Promise<InventoryItem<Ids> | undefined> {
    const pet = this.#check(() => checkPetId(petId));
    const read = this.#readOf(
      this.#check(() => checkReadOptions(options)),
      pet,
    );
    if (!this.#isFresh(read)) await this.#renewOrStale(read);
    this.#throwIfOver();
    return this.#find(pet);
  }

  /**
   * Returns the pets, at most `maxAgeMs` old, in the list's order. The result can be iterated more than once; later updates and lists
   * do not change it.
   * @throws as `get` does
   * @example
   * for (const { petId, quantity } of await new StockView(petstore).items({ status: 'sold' })) console.log(petId, quantity); // → 3 28
   */
  async items(options?: ViewItemsOptions): Promise<Iterable<InventoryItem<Ids>>> {
    const { status, ...others } = this.#check(() => checkItemsOptions(options));
    const read = this.#readOf(others, undefined);
    if (!this.#isFresh(read)) await this.#renewOrStale(read);
    this.#throwIfOver();
    const columns = this.#held.columns?.lend();
    const form = (item: AnyItem) => this.#form(item);
    return {
      *[Symbol.iterator]() {
        if (columns) for (const row of columns.rows(status)) yield form(columns.itemAt(row));
      },
    };
  }

  /**
   * Reads a list that begins after this call, or joins one that has not been sent yet.
   * @throws the error of the client's list, even if a stock is held; else as `get` does
   * @example
   * const stock = new StockView(petstore);
   * await stock.refresh();
   * console.log(stock.size); // → 12
   */
  async refresh(options?: Pick<ViewReadOptions, 'signal'>): Promise<void> {
    const signal = this.#check(() => checkRefreshOptions(options));
    this.#throwIfOver(signal);
    await this.#lists.wait({ sinceMs: ALWAYS, afterStamp: this.#held.mark() }, { signal, isLow: false });
  }

  /**
   * Yields the changes of pets since the iteration began, whenever a list or an update of the same client reports one, until `signal`
   * aborts, or the view or its client is closed. An empty view first reads a list. While the loop is busy, several changes of a pet are
   * merged into one. Its lists have low priority, at most ten a second, and continue after outages.
   * @throws the signal's reason; an AbortError once the view or its client is closed; an error that no later list can avoid, such as an
   *   AuthenticationError
   * @example
   * const stock = new StockView(petstore, { maxAgeMs: 1_000 });
   * await stock.refresh();
   * sandbox.inventory.set(3, { quantity: 1 });
   * for await (const { petId, before, after } of stock.changes()) {
   *   console.log(petId, before?.quantity, after?.quantity); // → 3 28 1
   *   break;
   * }
   */
  changes(options?: ViewReadOptions): AsyncIterableIterator<StockChange<Ids>, undefined> {
    const checked = this.#check(() => checkReadOptions(options));
    const iterator = this.#pollerForAll().iterate(checked);
    const ended = this.#closed ?? this.#clientClosed;
    if (ended) iterator.fail(ended.reason);
    return iterator;
  }

  /**
   * Sets a pet's quantity to the held quantity plus `delta`. Adjustments of one pet by the views and jobs of one client run one after the
   * other. If the held stock is older than `maxAgeMs`, or the outcome of the pet's last update is unknown, a list is read first. The result
   * is right as long as nobody else writes, since the service has no conditional update.
   * @param delta a safe integer; may be negative
   * @throws InvalidArgumentError (`code` `'out_of_bounds'`) if the quantity would be below `min` or above `max`, NotFoundError for a pet that
   *   the list does not name, both without an update; the error of the list or the update, whose `outcome` may be `unknown`
   * @example
   * const sold = await new StockView(petstore).adjust(3, -1, { min: 0 });
   * console.log(sold.quantity); // → 27
   */
  async adjust(petId: PetId, delta: number, options?: AdjustOptions): Promise<InventoryItem<Ids>> {
    const pet = this.#check(() => checkPetId(petId, UNSENT));
    const details = { ...UNSENT, petId: pet };
    const change = this.#check(() => checkDelta(delta, details));
    const { signal: own, ...bounds } = this.#check(() => checkAdjustOptions(options), details);
    this.#throwIfOver(own);
    this.#ending ??= new AbortController();
    const { signal, stop } = eitherSignal(this.#ending.signal, own);
    const adjust = () => this.#adjust(pet, { ...bounds, delta: change, signal });
    return PetTurns.of(this.#client).run(pet, { signal }, adjust).finally(stop);
  }

  /**
   * Returns a pet from the held stock, however old, without a request.
   * @throws InvalidArgumentError for a value that is not an int64
   * @example
   * const stock = new StockView(petstore);
   * console.log(stock.peek(3)); // → undefined
   */
  peek(petId: PetId): InventoryItem<Ids> | undefined {
    return this.#find(this.#check(() => checkPetId(petId)));
  }

  /** Number of pets that are held. */
  get size(): number {
    return this.#held.columns?.size ?? 0;
  }

  /** When the held list was sent, by this machine's clock; undefined before the first. */
  get asOf(): Date | undefined {
    return this.#held.departure?.at;
  }

  /** Whether the last list failed, so that the held stock may be older than `maxAgeMs`. */
  get isStale(): boolean {
    return this.#held.isStale;
  }

  /**
   * Ends the view and forgets the stock. Waiting and later calls reject with an AbortError. The client stays open.
   * @example
   * const stock = new StockView(petstore);
   * stock.close();
   * console.log(await stock.get(1).catch(({ name }) => name)); // → AbortError
   */
  close(): void {
    this.#close(new DOMException('The view was closed', 'AbortError'));
  }

  /** As `close`, for `using`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /** Checks arguments of the caller. */
  #check<T>(check: () => T, details?: FailureDetails): T {
    return hidingKey(this.#client, check, details);
  }

  #close(reason: unknown): void {
    if (this.#closed) return;
    this.#closed = { reason };
    this.#stopFollowing();
    if (this.#onAbort) this.#options.signal?.removeEventListener('abort', this.#onAbort);
    // Closed before the lists, since the end of a list lets the poller start the next one.
    this.#poller?.close(reason);
    this.#lists.close(reason);
    this.#ending?.abort(reason);
    this.#held.clear();
  }

  #endChanges(reason: unknown): void {
    this.#clientClosed = { reason };
    this.#poller?.close(reason);
  }

  #endWith(signal: AbortSignal | undefined): void {
    if (!signal) return;
    if (signal.aborted) return this.#close(signal.reason);
    this.#onAbort = () => this.#close(signal.reason);
    signal.addEventListener('abort', this.#onAbort);
  }

  /** To be called after each wait too: the view may have been closed in the same tick in which a list ended. */
  #throwIfOver(signal?: AbortSignal): void {
    if (this.#closed) throw this.#closed.reason;
    signal?.throwIfAborted();
  }

  #readOf({ signal, maxAgeMs = this.#options.maxAgeMs }: ViewReadOptions, petId: PetId | undefined): Read {
    this.#throwIfOver(signal);
    return { maxAgeMs, petId, signal };
  }

  #isFresh({ maxAgeMs, petId }: Read): boolean {
    const held = this.#held;
    if (!held.columns || held.isDoubted(petId)) return false;
    if (maxAgeMs === 'quota') return !this.#lists.isReading && this.#pace.dueInMs > 0 && (!held.isStale || this.#isYoung);
    return maxAgeMs > 0 && held.ageMs <= maxAgeMs;
  }

  async #renewOrStale(read: Read): Promise<void> {
    try {
      if (read.maxAgeMs === 'quota' && !this.#lists.isReading && this.#tryAgainInMs > 0) throw this.#failure.error;
      await this.#renew(read, false);
    } catch (error) {
      if (this.#closed || read.signal?.aborted || !this.#mayStay(error)) throw error;
    }
  }

  /** Whether `maxStaleMs` allows reading the held stock although the last list failed. */
  get #isYoung(): boolean {
    const { maxStaleMs } = this.#options;
    return maxStaleMs > 0 && this.#held.ageMs <= maxStaleMs;
  }

  /** After failed lists, the time until `'quota'` allows another one: at most until one is due anyway. */
  get #tryAgainInMs(): number {
    const { times, atMs } = this.#failure;
    return this.#held.isStale ? Math.min(atMs + pauseMsAfter(times) - monotonicMs(), this.#pace.dueInMs) : 0;
  }

  /** Whether the held list may still be read after this failure. A closed client never gives a newer one. */
  #mayStay(error: unknown): boolean {
    return this.#isYoung && fieldOf(error, 'name') !== 'AbortError';
  }

  #renew({ maxAgeMs, petId, signal }: Read, isLow: boolean): Promise<void> {
    const afterStamp = maxAgeMs === 0 ? this.#held.mark() : this.#held.doubtedAt(petId);
    const sinceMs = maxAgeMs === 'quota' ? ALWAYS : monotonicMs() - maxAgeMs;
    return this.#lists.wait({ sinceMs, afterStamp }, { signal, isLow });
  }

  #takeEnd(failed: { error: unknown } | undefined): void {
    if (failed) {
      const times = this.#held.isStale ? this.#failure.times + 1 : 1;
      this.#failure = { error: failed.error, times, atMs: monotonicMs() };
      this.#held.isStale = true;
    }
    this.#poller?.arm();
  }

  #pollerForAll(): ChangePoller<Ids> {
    if (this.#poller) return this.#poller;
    const poller = new ChangePoller<Ids>({
      form: (item) => this.#form(item),
      dueInMs: (maxAgeMs = this.#options.maxAgeMs) => this.#dueInMs(maxAgeMs),
      isStale: () => this.#held.isStale,
      look: (maxAgeMs = this.#options.maxAgeMs, signal) => this.#renew({ maxAgeMs, petId: undefined, signal }, true),
    });
    this.#poller = poller;
    this.#held.onChange = (changes) => poller.tell(changes);
    return poller;
  }

  #dueInMs(maxAgeMs: number | 'quota'): number {
    if (!this.#held.columns) return maxAgeMs === 'quota' ? this.#tryAgainInMs : 0;
    if (maxAgeMs !== 'quota') return Math.max(maxAgeMs, LEAST_BETWEEN_LOOKS_MS) - this.#held.ageMs;
    return Math.max(this.#pace.dueInMs, LEAST_BETWEEN_LOOKS_MS - this.#held.ageMs);
  }

  async #adjust(petId: PetId, { delta, min, max, signal }: Adjustment): Promise<InventoryItem<Ids>> {
    const read = { maxAgeMs: this.#options.maxAgeMs, petId, signal };
    if (!this.#isFresh(read) || this.#held.isStale) await this.#renew(read, false);
    this.#throwIfOver();
    const { quantity } = this.#find(petId) ?? missing(petId);
    const wanted = quantity + delta;
    if (wanted < min || wanted > max || !Number.isSafeInteger(wanted)) throw outOfBounds({ petId, quantity, delta, min, max });
    return this.#update(petId, wanted, signal);
  }

  /** A PetStoreClient reports the outcome of its updates to all its views; for any other client the view reports them here. */
  async #update(petId: PetId, quantity: number, signal: AbortSignal): Promise<InventoryItem<Ids>> {
    try {
      const item = await this.#client.updateInventory(petId, { quantity }, { signal, latestOnly: false });
      checkUpdated(item, petId);
      if (!this.#news.isTold) this.#held.confirmed(item);
      return item;
    } catch (error) {
      const outcome = fieldOf(error, 'outcome');
      if (!this.#news.isTold && outcome !== 'not-sent' && outcome !== 'rejected') this.#held.inDoubt(petId);
      throw error;
    }
  }

  #find(petId: PetId): InventoryItem<Ids> | undefined {
    const item = this.#held.columns?.find(petId);
    return item && this.#form(item);
  }

  #form(item: AnyItem): InventoryItem<Ids> {
    const { areIdsBigint } = this.#held;
    const formed = areIdsBigint ? { ...item, petId: BigInt(item.petId) } : item;
    if (hasForm<Ids>(formed, areIdsBigint)) return formed;
    throw new TypeError(`The client gives ids of two types: ${item.petId} is not a number`);
  }
}

/** The last of the lists that failed, and how many have. */
interface Failure {
  error: unknown;
  times: number;
  atMs: number;
}

/** Whether the item's id has the type that the client gives. */
function hasForm<Ids extends Int64>(item: AnyItem, areIdsBigint: boolean): item is InventoryItem<Ids> {
  return (typeof item.petId === 'bigint') === areIdsBigint;
}

function missing(petId: PetId): never {
  throw new NotFoundError(`Cannot adjust pet ${petId}: the list of the stock has no such pet`, { ...UNSENT, petId });
}

interface Bounds {
  petId: PetId;
  quantity: number;
  delta: number;
  min: number;
  max: number;
}

function outOfBounds({ petId, quantity, delta, min, max }: Bounds): InvalidArgumentError {
  const rule = quantity + delta < min ? `at least ${min}` : `at most ${max}`;
  const message = `Cannot adjust pet ${petId} by ${delta}: its quantity is ${quantity}, and the new one must be ${rule}`;
  return new InvalidArgumentError(message, { ...UNSENT, code: 'out_of_bounds', argument: 'delta', petId });
}
