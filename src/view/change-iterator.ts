import { type Deferred, defer } from '../clock/deferred.ts';
import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import { keyOf } from './held-stock.ts';
import type { AnyChange, AnyItem } from './stock-columns.ts';

/**
 * A change of one pet.
 *
 * @example
 * const describe = ({ petId, before, after }: StockChange) => `${petId}: ${before?.quantity ?? 'new'} to ${after?.quantity ?? 'gone'}`;
 * const view = new StockView(petstore, { maxAgeMs: 1_000 });
 * await view.refresh();
 * const changes = view.changes()[Symbol.asyncIterator]();
 * await petstore.updateInventory(3, { quantity: 2 });
 * const { value } = await changes.next();
 * console.log(value && describe(value)); // → 3: 28 to 2
 * await changes.return?.();
 */
export interface StockChange<Ids extends Int64 = 'number'> {
  /** The pet's id. */
  petId: InventoryItem<Ids>['petId'];
  /** The pet as it was in its last change, or when the iteration began; missing for a new pet. */
  before?: InventoryItem<Ids>;
  /** The pet as it is now; missing for a pet that is gone. */
  after?: InventoryItem<Ids>;
}

/** Returns an item whose id has the client's type. */
export type FormItem<Ids extends Int64> = (item: AnyItem) => InventoryItem<Ids>;

interface IteratorParts<Ids extends Int64> {
  form: FormItem<Ids>;
  signal: AbortSignal | undefined;
  maxAgeMs: number | 'quota' | undefined;
  /** Called when the iteration begins. */
  onBegin(iterator: ChangeIterator<Ids>): void;
  /** Called when the consumer begins or ends to wait for a change. */
  onWait: () => void;
  onEnd(iterator: ChangeIterator<Ids>): void;
}

/** The changes of one consumer, merged by pet while it is busy. */
export class ChangeIterator<Ids extends Int64> implements AsyncIterableIterator<StockChange<Ids>, undefined> {
  readonly #parts: IteratorParts<Ids>;
  readonly #changes = new Map<PetId, AnyChange>();
  readonly #walk = this.#takeAll();
  readonly #takers: Deferred<IteratorResult<StockChange<Ids>, undefined>>[] = [];
  readonly #onAbort: () => void;
  #failed: { error: unknown } | undefined;
  #hasJoined = false;
  #isOver = false;
  /** Whether a change was ever asked for. */
  hasBegun = false;

  constructor(parts: IteratorParts<Ids>) {
    this.#parts = parts;
    const { signal } = parts;
    this.#onAbort = () => this.fail(signal?.reason);
  }

  get maxAgeMs(): number | 'quota' | undefined {
    return this.#parts.maxAgeMs;
  }

  /** Whether the consumer waits for the next change. */
  get isWaiting(): boolean {
    return this.#takers.length > 0;
  }

  [Symbol.asyncIterator](): this {
    this.#join();
    return this;
  }

  /** Adds a change, merged with an earlier one of the same pet that was not given out yet. */
  push({ before, after }: AnyChange): void {
    const petId = (after ?? before)?.petId;
    if (petId === undefined) return;
    const known = this.#changes.get(keyOf(petId));
    const change = { before: known ? known.before : before, after };
    if (isNone(change)) this.#changes.delete(keyOf(petId));
    else this.#changes.set(keyOf(petId), change);
  }

  /** Resolves pending reads with the changes. */
  flush(): void {
    const count = this.#takers.length;
    while (this.#takers.length > 0 && this.#changes.size > 0)
      this.#takers.shift()?.resolve({ done: false, value: this.#form(this.#walk.next().value) });
    if (count > this.#takers.length) this.#parts.onWait();
  }

  async next(): Promise<IteratorResult<StockChange<Ids>, undefined>> {
    this.#join();
    if (this.#failed) return this.#rejectOnce(this.#failed);
    if (this.#isOver) return { done: true, value: undefined };
    const taker = defer<IteratorResult<StockChange<Ids>, undefined>>();
    this.hasBegun = true;
    this.#takers.push(taker);
    this.flush();
    if (this.isWaiting) this.#parts.onWait();
    return taker.promise;
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.#end();
    for (const taker of this.#takers.splice(0)) taker.resolve({ done: true, value: undefined });
    return { done: true, value: undefined };
  }

  /** Ends the iteration with an error: the first pending read rejects with it, or else the next read. */
  fail(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    const [first, ...others] = this.#takers.splice(0);
    if (!first) this.#failed = { error };
    first?.reject(error);
    for (const taker of others) taker.resolve({ done: true, value: undefined });
  }

  /**
   * To be asked only while there are changes. It walks the ids of one moment: each new walk of a Map passes all entries that were deleted,
   * and a walk that waits for a slow consumer keeps all that the Map grew out of meanwhile.
   */
  *#takeAll(): Generator<AnyChange, never> {
    for (;;) {
      const petIds = [...this.#changes.keys()].reverse();
      for (let petId = petIds.pop(); petId !== undefined; petId = petIds.pop()) {
        const change = this.#changes.get(petId);
        this.#changes.delete(petId);
        if (change) yield change;
      }
    }
  }

  #join(): void {
    if (this.#hasJoined || this.#isOver) return;
    this.#hasJoined = true;
    const { signal } = this.#parts;
    if (signal?.aborted) return this.fail(signal.reason);
    signal?.addEventListener('abort', this.#onAbort);
    this.#parts.onBegin(this);
  }

  #rejectOnce({ error }: { error: unknown }): Promise<never> {
    this.#failed = undefined;
    return Promise.reject(error);
  }

  #end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#parts.signal?.removeEventListener('abort', this.#onAbort);
    this.#parts.onEnd(this);
  }

  #form({ before, after }: AnyChange): StockChange<Ids> {
    const { form } = this.#parts;
    // Copies, since other consumers get the same change.
    const [old, now] = [before && { ...form(before) }, after && { ...form(after) }];
    if (now) return { petId: now.petId, ...(old && { before: old }), after: now };
    if (old) return { petId: old.petId, before: old };
    throw new TypeError('A change has no pet');
  }
}

function isNone({ before, after }: AnyChange): boolean {
  return before?.quantity === after?.quantity && before?.status === after?.status;
}
