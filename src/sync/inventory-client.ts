import type { PetId } from '../contract/models.ts';

/**
 * What a synchronisation asks of each call: it ends with `signal`, and lets the calls of everybody else pass.
 *
 * @see {@link InventoryClient} for an example
 */
export interface SyncCallOptions {
  /**
   * Ends the call.
   * @default none
   */
  signal?: AbortSignal;
  /** Always low. */
  priority: 'low';
}

/**
 * What is known of one window of a key's quota; a `WindowQuota` is one.
 *
 * @see {@link InventoryClient} for an example
 */
export interface SyncQuotaWindow {
  /** Requests that the window admits. */
  readonly limit?: number | undefined;
  /** Requests left in the window. */
  readonly remaining?: number | undefined;
  /** When the window resets. */
  readonly resetAt?: Date | undefined;
}

/**
 * What a client knows of its key's quota; a `Quota` is one.
 *
 * @see {@link InventoryClient} for an example
 */
export interface SyncQuota {
  /** The plan's minute. */
  readonly minute: SyncQuotaWindow;
  /** The plan's day. */
  readonly day: SyncQuotaWindow;
  /** Nothing is sent before this instant. */
  readonly closedUntil?: Date | undefined;
}

/**
 * The part of a `PetStoreClient` that a synchronisation needs, so that a fake or a client of yours will do.
 *
 * @example
 * const stock = new Map([[1, 5]]);
 * const fake: InventoryClient = {
 *   streamInventory: async function* () {
 *     for (const [petId, quantity] of stock) yield { petId, quantity };
 *   },
 *   updateInventory: async (petId, { quantity }) => stock.set(Number(petId), quantity),
 * };
 * await syncInventory(fake, [{ petId: 1, adjust: 2 }]);
 * console.log(stock.get(1)); // → 7
 */
export interface InventoryClient {
  /** As the client's. @throws whatever it likes: it ends the run */
  streamInventory(options: SyncCallOptions): AsyncIterable<{ petId: PetId; quantity: number }>;
  /** As the client's. @throws whatever it likes: the pet is reported as failed */
  updateInventory(petId: PetId, update: { quantity: number }, options: SyncCallOptions): PromiseLike<unknown>;
  /** Without it, estimates assume the limits of the free plan. */
  readonly quota?: SyncQuota;
  /** Tells this store from others, so that a journal is not used for another one: its address, without secrets. */
  readonly baseUrl?: string;
}
