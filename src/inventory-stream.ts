import type { Int64, InventoryItem } from './contract/models.ts';
import { InvalidArgumentError } from './errors.ts';
import type { ItemBatches, ListSink } from './operations/item-batches.ts';
import { checkSink } from './operations/stream-inventory.ts';

/** Sends the request and gives the beginning of its answer, unless the reader leaves first. */
type Opening<Ids extends Int64> = (left: AbortSignal) => Promise<ItemBatches<Ids>>;

/** Reads one list: when items are asked for, or as they come. */
interface ListReader<Ids extends Int64> {
  open: Opening<Ids>;
  collect(sink: ListSink<Ids>): Promise<unknown>;
}

/**
 * The stock of all pets in constant memory: item by item, in arrays, or collected. The request is made when the first item is asked for. It
 * can be read once.
 *
 * @example
 * for await (const { petId, status } of petstore.streamInventory()) {
 *   if (status !== 'sold') continue;
 *   console.log(petId); // → 3
 *   break; // closes the connection
 * }
 */
export class InventoryStream<Ids extends Int64 = 'number'> implements AsyncIterable<InventoryItem<Ids>> {
  // Undefined once it is read.
  #reader: ListReader<Ids> | undefined;

  /** @internal */
  constructor(reader: ListReader<Ids>) {
    this.#reader = reader;
  }

  /**
   * Gives the items one by one.
   * @throws InvalidArgumentError at the second iteration; while the stream is read, a PetStoreError or the signal's reason
   */
  [Symbol.asyncIterator](): AsyncIterableIterator<InventoryItem<Ids>> {
    return new Items(new Batches(this.#take().open));
  }

  /**
   * Gives the items in arrays as they come, which costs less than one by one. The size of an array depends on the network.
   * @throws InvalidArgumentError at the second iteration; while the stream is read, a PetStoreError or the signal's reason
   * @example
   * let count = 0;
   * for await (const items of petstore.streamInventory().batches()) count += items.length;
   * console.log(count); // → 12
   */
  batches(): AsyncIterableIterator<InventoryItem<Ids>[]> {
    return new Batches(this.#take().open);
  }

  /**
   * Reads the whole list into a sink. If the answer breaks in the middle, the client reads the list again from its beginning, with the same
   * retries as `listInventory`.
   * @throws InvalidArgumentError at the second reading, and for a value that is no sink; a PetStoreError, the signal's reason or what the
   *   sink throws
   * @example
   * const low: number[] = [];
   * await petstore.streamInventory().collect({
   *   begin: () => { low.length = 0; },
   *   add: (items) => { for (const { petId, quantity } of items) if (quantity < 5) low.push(petId); },
   * });
   * console.log(low.includes(1)); // → true
   */
  async collect(sink: ListSink<Ids>): Promise<void> {
    checkSink(sink);
    await this.#take().collect(sink);
  }

  #take(): ListReader<Ids> {
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) return reader;
    const message = 'Cannot read the stream a second time: call streamInventory() again';
    throw new InvalidArgumentError(message, { argument: 'stream', operation: 'streamInventory' });
  }
}

/**
 * The reads of an iterator, which run one after the other even if its caller does not await them. Nothing else waits for a read, or V8 would
 * not find the caller in the stack of an error, and an iterator begins its first one itself: in that stack, each frame of ours takes the
 * place of one of the caller's.
 */
class Reads {
  /** While any has not ended. */
  latest: Promise<unknown> | undefined;
  #count = 0;
  #endFirst: (() => void) | undefined;

  /**
   * Begins a read once those under way have ended; undefined if there are none: then the caller begins it, which may call a listener that
   * asks for the next one. A read has to call `end` at its end.
   */
  queue<T>(read: () => Promise<T>): Promise<T> | undefined {
    this.#count++;
    if (this.latest) {
      const queued = this.#readAfter(this.latest, read);
      this.latest = queued;
      return queued;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.latest = promise;
    this.#endFirst = resolve;
    return undefined;
  }

  end(): void {
    this.#endFirst?.();
    if (--this.#count === 0) this.latest = undefined;
  }

  /** Counts the read twice, since its promise settles some microtasks after it has ended: one that begins meanwhile must not overtake it. */
  async #readAfter<T>(latest: Promise<unknown>, read: () => Promise<T>): Promise<T> {
    this.#count++;
    try {
      return await latest.then(read, read);
    } finally {
      this.end();
    }
  }
}

class Batches<Ids extends Int64> implements AsyncIterableIterator<InventoryItem<Ids>[]> {
  readonly #open: Opening<Ids>;
  readonly #leaving = new AbortController();
  readonly #reads = new Reads();
  /** Tells how many of the items that it gave are not taken yet. */
  untaken: (() => number) | undefined;
  #opened: ItemBatches<Ids> | undefined;
  #isOver = false;

  constructor(open: Opening<Ids>) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Whether what it gave counts no more, even if a read under way gets it only now. */
  get isOver(): boolean {
    return this.#isOver || (this.#opened?.isAborted ?? false);
  }

  next(): Promise<IteratorResult<InventoryItem<Ids>[], undefined>> {
    return this.#reads.queue(() => this.#read()) ?? this.#read();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isOver = true;
    if (this.#opened) this.#opened.close();
    else this.#leaving.abort(new DOMException('The stream was left', 'AbortError'));
    return { done: true, value: undefined };
  }

  async #read(): Promise<IteratorResult<InventoryItem<Ids>[], undefined>> {
    try {
      if (this.#isOver) return { done: true, value: undefined };
      this.#opened ??= await this.#open(this.#leaving.signal);
      const value = await this.#opened.next(this.untaken);
      if (value !== undefined) return { done: false, value };
    } catch (error) {
      // A reader that left early does not get the failure of the rest.
      if (!this.#isOver) throw this.#over(error);
    } finally {
      this.#reads.end();
    }
    return this.#over({ done: true, value: undefined });
  }

  #over<T>(last: T): T {
    this.#isOver = true;
    return last;
  }
}

/** Not an async generator, since that would double the cost of an item. */
class Items<Ids extends Int64> implements AsyncIterableIterator<InventoryItem<Ids>> {
  readonly #batches: Batches<Ids>;
  readonly #reads = new Reads();
  #batch: InventoryItem<Ids>[] = [];
  #index = 0;

  constructor(batches: Batches<Ids>) {
    this.#batches = batches;
    batches.untaken = () => this.#batch.length - this.#index;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<InventoryItem<Ids>, undefined>> {
    const item = this.#reads.latest ? undefined : this.#take();
    if (item) return Promise.resolve(item);
    return this.#reads.queue(() => this.#read()) ?? this.#read();
  }

  #take(): IteratorYieldResult<InventoryItem<Ids>> | undefined {
    const value = this.#batches.isOver ? undefined : this.#batch[this.#index];
    if (value === undefined) return undefined;
    this.#index++;
    return { done: false, value };
  }

  async #read(): Promise<IteratorResult<InventoryItem<Ids>, undefined>> {
    try {
      for (;;) {
        const item = this.#take();
        if (item) return item;
        const next = await this.#batches.next();
        if (next.done) return next;
        this.#batch = next.value;
        this.#index = 0;
      }
    } finally {
      this.#reads.end();
    }
  }

  return(): Promise<IteratorReturnResult<undefined>> {
    return this.#batches.return();
  }
}
