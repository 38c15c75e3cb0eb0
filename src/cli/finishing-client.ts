import type { PetStoreApi } from '../api.ts';
import type { InventoryItem, InventoryUpdate, PetId } from '../contract/models.ts';
import type { InventoryStream } from '../inventory-stream.ts';
import type { RequestOptions } from '../options/call-options.ts';
import type { Quota } from '../quota/ledger/quota.ts';
import { type Answered, type ReplyPromise, replyPromise } from '../reply.ts';
import type { Client } from './connect.ts';

/**
 * A client that, when aborted, rejects waiting updates at once and lets requests in flight finish.
 *
 * It identifies an update by its pet, so it supports one update of each pet at a time.
 */
export class FinishingClient implements PetStoreApi<'bigint'> {
  readonly #client: Client;
  readonly #onUpdated: (petId: PetId) => void;
  /** Ends the call of a pet's update if it was aborted. */
  readonly #endings = new Map<string, () => void>();
  readonly #underWay = new Set<string>();

  /** Calls `onUpdated` for each pet of which the service confirms the new quantity. */
  constructor(client: Client, onUpdated: (petId: PetId) => void = () => {}) {
    this.#client = client;
    this.#onUpdated = onUpdated;
    client.on('request', ({ petId }) => this.#underWay.add(String(petId)));
    client.on('retry', ({ petId }) => this.#cameBack(String(petId)));
    client.on('wait', ({ petId }) => this.#cameBack(String(petId)));
  }

  get baseUrl(): string {
    return this.#client.baseUrl;
  }

  get quota(): Quota {
    return this.#client.quota;
  }

  on: NonNullable<PetStoreApi<'bigint'>['on']> = (name, listener) => this.#client.on(name, listener);

  listInventory(options?: RequestOptions): ReplyPromise<InventoryItem<'bigint'>[]> {
    return this.#client.listInventory(options);
  }

  streamInventory(options?: RequestOptions): InventoryStream<'bigint'> {
    return this.#client.streamInventory(options);
  }

  updateInventory(petId: PetId, update: InventoryUpdate, options?: RequestOptions): ReplyPromise<InventoryItem<'bigint'>> {
    return replyPromise(this.#update(petId, update, options));
  }

  async #update(
    petId: PetId,
    update: InventoryUpdate,
    { signal, ...options }: RequestOptions = {},
  ): Promise<Answered<InventoryItem<'bigint'>>> {
    const key = String(petId);
    const call = new AbortController();
    const end = (): void => {
      if (signal?.aborted) call.abort(signal.reason);
    };
    const onAbort = (): void => {
      if (!this.#underWay.has(key)) end();
    };
    this.#endings.set(key, end);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      const { data, ...rest } = await this.#client.updateInventory(petId, update, { ...options, signal: call.signal }).withResponse();
      if (data.quantity === update.quantity) this.#onUpdated(petId);
      return { data, rest: () => rest };
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#endings.delete(key);
      this.#underWay.delete(key);
    }
  }

  #cameBack(key: string): void {
    this.#underWay.delete(key);
    this.#endings.get(key)?.();
  }
}
