import type { Int64, InventoryItem } from './contract/models.ts';
import { InvalidArgumentError } from './errors.ts';
import type { ItemBatches } from './operations/stream-inventory.ts';

/** The stock of all pets, item by item, in flat memory; one request, made when the first item is asked for. */
export class InventoryStream<Ids extends Int64 = 'number'> implements AsyncIterable<InventoryItem<Ids>> {
  readonly #open: () => Promise<ItemBatches<Ids>>;
  #isTaken = false;

  /** @internal */
  constructor(open: () => Promise<ItemBatches<Ids>>) {
    this.#open = open;
  }

  /** Gives the items one by one. @throws InvalidArgumentError at the second iteration */
  [Symbol.asyncIterator](): AsyncIterableIterator<InventoryItem<Ids>> {
    return new Items(this.batches());
  }

  /** Gives the items in arrays as they come, which costs less than one by one. @throws InvalidArgumentError at the second iteration */
  batches(): AsyncIterableIterator<InventoryItem<Ids>[]> {
    if (this.#isTaken) {
      const message = 'Cannot read the stream a second time: it is one request; call streamInventory() again';
      throw new InvalidArgumentError(message, { argument: 'stream', operation: 'streamInventory' });
    }
    this.#isTaken = true;
    return new Batches(this.#open);
  }
}

class Batches<Ids extends Int64> implements AsyncIterableIterator<InventoryItem<Ids>[]> {
  readonly #open: () => Promise<ItemBatches<Ids>>;
  #opened: Promise<ItemBatches<Ids>> | undefined;
  #isOver = false;

  constructor(open: () => Promise<ItemBatches<Ids>>) {
    this.#open = open;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<InventoryItem<Ids>[], undefined>> {
    if (this.#isOver) return { done: true, value: undefined };
    this.#opened ??= this.#open();
    try {
      const value = await (await this.#opened).next();
      this.#isOver = value === undefined;
      return value === undefined ? { done: true, value } : { done: false, value };
    } catch (error) {
      this.#isOver = true;
      throw error;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#isOver = true;
    (await this.#opened?.catch(() => undefined))?.close();
    return { done: true, value: undefined };
  }
}

/** Written by hand: an async generator would double the cost of an item. */
class Items<Ids extends Int64> implements AsyncIterableIterator<InventoryItem<Ids>> {
  readonly #batches: AsyncIterableIterator<InventoryItem<Ids>[]>;
  #batch: InventoryItem<Ids>[] = [];
  #index = 0;

  constructor(batches: AsyncIterableIterator<InventoryItem<Ids>[]>) {
    this.#batches = batches;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<InventoryItem<Ids>, undefined>> {
    const value = this.#batch[this.#index];
    if (value === undefined) return this.#nextBatch();
    this.#index++;
    return Promise.resolve({ done: false, value });
  }

  async #nextBatch(): Promise<IteratorResult<InventoryItem<Ids>, undefined>> {
    const { done, value } = await this.#batches.next();
    if (done) return { done, value };
    this.#batch = value;
    this.#index = 0;
    return this.next();
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    await this.#batches.return?.();
    this.#batch = [];
    return { done: true, value: undefined };
  }
}
