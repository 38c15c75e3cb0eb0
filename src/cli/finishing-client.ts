import type { PetId } from '../contract/models.ts';
import type { InventoryClient, SyncCallOptions, SyncQuota } from '../sync/index.ts';
import type { Client } from './connect.ts';

/**
 * A client whose updates are not torn: an abort ends those that wait, and lets the requests that are under way finish.
 *
 * Updates are told apart by their pet, so each pet may have one at a time.
 */
export class FinishingClient implements InventoryClient {
  readonly #client: Client;
  readonly #calls = new Map<string, AbortController>();
  readonly #underWay = new Set<string>();
  #reason: { value: unknown } | undefined;

  constructor(client: Client) {
    this.#client = client;
    client.on('request', ({ petId }) => this.#underWay.add(String(petId)));
    client.on('retry', ({ petId }) => this.#cameBack(String(petId)));
    client.on('wait', ({ petId }) => this.#cameBack(String(petId)));
  }

  get baseUrl(): string {
    return this.#client.baseUrl;
  }

  get quota(): SyncQuota {
    return this.#client.quota;
  }

  streamInventory(options: SyncCallOptions): AsyncIterable<{ petId: PetId; quantity: number }> {
    return this.#client.streamInventory(options);
  }

  async updateInventory(petId: PetId, update: { quantity: number }, { signal, priority }: SyncCallOptions): Promise<void> {
    const key = String(petId);
    const call = new AbortController();
    const onAbort = (): void => this.#abort(signal?.reason);
    this.#calls.set(key, call);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#client.updateInventory(petId, update, { signal: call.signal, priority });
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#calls.delete(key);
      this.#underWay.delete(key);
    }
  }

  #abort(reason: unknown): void {
    this.#reason = { value: reason };
    for (const [key, call] of this.#calls) if (!this.#underWay.has(key)) call.abort(reason);
  }

  #cameBack(key: string): void {
    this.#underWay.delete(key);
    if (this.#reason) this.#calls.get(key)?.abort(this.#reason.value);
  }
}
