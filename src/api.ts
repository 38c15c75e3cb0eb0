import type { Int64, InventoryItem, InventoryUpdate, PetId } from './contract/models.ts';
import type { CallEvent } from './events.ts';
import type { RequestOptions } from './options/call-options.ts';
import type { Quota } from './quota/ledger/quota.ts';
import type { ReplyPromise } from './reply.ts';

/**
 * What a client does. Code that takes this, as `syncInventory` and `StockView` do, runs with a `PetStoreClient`, with a wrapper of yours
 * around one, and in tests with a fake.
 *
 * @typeParam Ids how ids come out
 * @example
 * const stock = new Map<PetId, number>([[1, 5]]);
 * const item = (petId: PetId): InventoryItem => ({ petId: Number(petId), quantity: stock.get(petId) ?? 0, status: 'available' });
 * const fake: PetStoreApi = {
 *   listInventory: () => reply([...stock.keys()].map(item)),
 *   streamInventory: async function* () { yield* [...stock.keys()].map(item); },
 *   updateInventory: (petId, { quantity }) => reply(stock.set(petId, quantity) && item(petId)),
 * };
 * await syncInventory(fake, [{ petId: 1, adjust: 2 }]);
 * console.log(stock.get(1)); // → 7
 */
export interface PetStoreApi<Ids extends Int64 = 'number'> {
  /** As {@link PetStoreClient.listInventory}; `reply(items)` makes what it returns. */
  listInventory(options?: RequestOptions): ReplyPromise<InventoryItem<Ids>[]>;
  /** As {@link PetStoreClient.streamInventory}; a generator will do. */
  streamInventory(options?: RequestOptions): InventoryItems<Ids>;
  /** As {@link PetStoreClient.updateInventory}; `reply(item)` makes what it returns. */
  updateInventory(petId: PetId, update: InventoryUpdate, options?: RequestOptions): ReplyPromise<InventoryItem<Ids>>;
  /**
   * As {@link PetStoreClient.quota}. Without it, estimates assume the limits of the free plan, and a view with
   * `maxAgeMs: 'quota'` asks for a list whenever it is read and none is under way.
   */
  readonly quota?: Quota;
  /** Tells this store from others, so that a journal is not used for another one: its address, without secrets. */
  readonly baseUrl?: string;
  /** As {@link PetStoreClient.on}, of which a view needs these two events. Without it, a list counts as sent when it is asked for. */
  on?(name: 'started' | 'request', listener: (event: CallEvent) => void): () => void;
}

/**
 * The stock of all pets, item by item: an {@link InventoryStream}, or any other iterable of items.
 *
 * @typeParam Ids how ids come out
 * @example
 * const stream: InventoryItems = petstore.streamInventory();
 * for await (const { petId } of stream) if (petId === 12) console.log(petId); // → 12
 */
export interface InventoryItems<Ids extends Int64 = 'number'> extends AsyncIterable<InventoryItem<Ids>> {
  /** The items in arrays; where there is none, they are read one by one. */
  batches?(): AsyncIterable<InventoryItem<Ids>[]>;
}
