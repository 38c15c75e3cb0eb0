import { type PetStoreApi, type Quota, type ReplyPromise, type RequestOptions, reply } from 'petstore-inventory';
import type { Int64, InventoryItem, PetId } from '../../../src/contract/models.ts';
import { BadRequestError, ConnectionError } from '../../../src/errors.ts';

/** What the store does with one update. */
export type Treatment = 'apply' | 'refuse' | 'drop' | 'lose' | { reject: unknown } | 'hang';

interface Settings {
  /** Asked for every update. @default always 'apply' */
  treat?: (petId: PetId, options: RequestOptions) => Treatment;
  /** Called before every step that a crash could come before. */
  step?: () => Promise<void>;
  /** Called when the next item of the list is asked for. */
  listed?: (petId: PetId) => void;
  quota?: Quota;
  listError?: unknown;
}

/** A client and its service in one: a list of pets, and a log of what was asked of it. */
export class FakeStore implements PetStoreApi<Int64> {
  readonly stock: Map<PetId, number>;
  readonly requests: string[] = [];
  readonly options: RequestOptions[] = [];
  /** Rows that the list shows a second time. */
  readonly twice = new Set<PetId>();
  settings: Settings;
  baseUrl?: string;

  constructor(stock: Iterable<readonly [PetId, number]>, settings: Settings = {}) {
    this.stock = new Map(stock);
    this.settings = settings;
  }

  get quota(): Quota {
    return this.settings.quota ?? { minute: { limit: 1e9, remaining: 1e9 }, day: {} };
  }

  /** The client of another process. */
  get elsewhere(): PetStoreApi<Int64> {
    return {
      ...(this.baseUrl !== undefined && { baseUrl: this.baseUrl }),
      quota: this.quota,
      listInventory: (options) => this.listInventory(options),
      streamInventory: (options) => this.streamInventory(options),
      updateInventory: (petId, update, options) => this.updateInventory(petId, update, options),
    };
  }

  listInventory(options?: RequestOptions): ReplyPromise<InventoryItem<Int64>[]> {
    return reply(this.#list(options));
  }

  async #list(options?: RequestOptions): Promise<InventoryItem<Int64>[]> {
    const items: InventoryItem<Int64>[] = [];
    for await (const item of this.streamInventory(options)) items.push(item);
    return items;
  }

  async *streamInventory(options: RequestOptions = {}): AsyncGenerator<InventoryItem<Int64>> {
    this.requests.push('GET');
    this.options.push(options);
    await this.settings.step?.();
    if (this.settings.listError !== undefined) throw this.settings.listError;
    for (const [petId, quantity] of [...this.stock, ...[...this.stock].filter(([petId]) => this.twice.has(petId))]) {
      yield { petId, quantity, status: 'available' };
      this.settings.listed?.(petId);
    }
  }

  updateInventory(petId: PetId, { quantity }: { quantity: number }, options: RequestOptions = {}): ReplyPromise<InventoryItem<Int64>> {
    return reply(this.#update(petId, quantity, options));
  }

  async #update(petId: PetId, quantity: number, options: RequestOptions): Promise<InventoryItem<Int64>> {
    this.requests.push(`PATCH ${petId} ${quantity}`);
    this.options.push(options);
    const treatment = this.settings.treat?.(petId, options) ?? 'apply';
    await this.settings.step?.();
    if (treatment === 'hang') await abortOf(options.signal);
    if (typeof treatment === 'object') throw treatment.reject;
    if (treatment === 'refuse')
      throw new BadRequestError(`Cannot update pet ${petId}: refused`, { outcome: 'rejected', status: 400, code: 'refused' });
    if (treatment === 'lose') throw new ConnectionError('Cannot update: no connection', { outcome: 'not-sent', code: 'ECONNREFUSED' });
    this.stock.set(petId, quantity);
    await this.settings.step?.();
    if (treatment === 'drop') throw new ConnectionError('Cannot update: no answer', { outcome: 'unknown', code: 'ECONNRESET' });
    return { petId, quantity, status: 'available' };
  }
}

function abortOf(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Pets 1 to `count`, all at the same quantity. */
export function pets(count: number, quantity: number): [number, number][] {
  return Array.from({ length: count }, (_, index) => [index + 1, quantity]);
}
