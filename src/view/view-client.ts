import type { Int64, InventoryItem, PetId } from '../contract/models.ts';

/**
 * What a view asks of each call.
 *
 * @see {@link ViewClient} for an example
 */
export interface ViewCallOptions {
  /**
   * Ends the call.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /** Low for the lists of `changes()`, so that other calls pass. */
  priority?: 'normal' | 'low' | undefined;
}

/**
 * The stock as a list gives it, item by item, and in arrays where the client can; an `InventoryStream` is one.
 *
 * @see {@link ViewClient} for an example
 */
export interface ViewStream<Ids extends Int64> extends AsyncIterable<InventoryItem<Ids>> {
  /** Gives the items in arrays, which costs less. */
  batches?(): AsyncIterable<InventoryItem<Ids>[]>;
}

/**
 * What is known of one window of a key's quota; a `WindowQuota` is one.
 *
 * @see {@link ViewClient} for an example
 */
export interface ViewQuotaWindow {
  /** Requests left in the window; unlimited where undefined. */
  readonly remaining?: number | undefined;
  /** When the window resets. */
  readonly resetAt?: Date | undefined;
}

/**
 * The part of a `PetStoreClient` that a view needs, so that a fake or a client of yours will do. A view of a fake knows of the updates
 * that it made itself, by `adjust()`.
 *
 * @example
 * const stock = new Map([[1, 5]]);
 * const fake: ViewClient = {
 *   streamInventory: async function* () {
 *     for (const [petId, quantity] of stock) yield { petId, quantity, status: 'available' };
 *   },
 *   updateInventory: async (petId, { quantity }) => {
 *     stock.set(Number(petId), quantity);
 *     return { petId: Number(petId), quantity, status: 'available' };
 *   },
 * };
 * const view = new StockView(fake);
 * await view.adjust(1, -2);
 * console.log(stock.get(1)); // → 3
 */
export interface ViewClient<Ids extends Int64 = 'number'> {
  /** As the client's. @throws whatever it likes: it ends the list */
  streamInventory(options: ViewCallOptions): ViewStream<Ids>;
  /** As the client's. @throws whatever it likes: it ends the adjustment */
  updateInventory(petId: PetId, update: { quantity: number }, options: ViewCallOptions): PromiseLike<InventoryItem<Ids>>;
  /** Without it, `maxAgeMs: 'quota'` asks for a list whenever somebody reads and none is under way. */
  readonly quota?: {
    readonly minute: ViewQuotaWindow;
    readonly day: ViewQuotaWindow;
    readonly closedUntil?: Date | undefined;
  };
  /** As the client's. Without it, a list counts as sent when it is asked for. */
  on?(name: 'started' | 'request', listener: (event: { callId: number; operation: string }) => void): () => void;
}
