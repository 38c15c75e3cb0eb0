import type { PetId } from '../contract/models.ts';

/** What a synchronisation asks of each call: it ends with `signal`, and lets the calls of everybody else pass. */
export interface SyncCallOptions {
  signal?: AbortSignal;
  priority: 'low';
}

/** What is known of one window of a key's quota. */
export interface SyncQuotaWindow {
  /** Requests that the window admits. */
  readonly limit?: number | undefined;
  /** Requests left in the window. */
  readonly remaining?: number | undefined;
  readonly resetAt?: Date | undefined;
}

/** What a client knows of its key's quota. */
export interface SyncQuota {
  readonly minute: SyncQuotaWindow;
  readonly day: SyncQuotaWindow;
  /** Nothing is sent before this instant. */
  readonly closedUntil?: Date | undefined;
}

/** The part of a `PetStoreClient` that a synchronisation needs. */
export interface InventoryClient {
  /** As the client's. */
  streamInventory(options: SyncCallOptions): AsyncIterable<{ petId: PetId; quantity: number }>;
  /** As the client's. */
  updateInventory(petId: PetId, update: { quantity: number }, options: SyncCallOptions): PromiseLike<unknown>;
  /** Without it, estimates assume the limits of the free plan. */
  readonly quota?: SyncQuota;
  /** Tells this store from others, so that a journal is not used for another one: its address, without secrets. */
  readonly baseUrl?: string;
}
