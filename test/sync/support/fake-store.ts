import type { PetId } from '../../../src/contract/models.ts';
import { BadRequestError, ConnectionError } from '../../../src/errors.ts';
import type { InventoryClient, SyncCallOptions, SyncQuota } from '../../../src/sync/index.ts';

/** What the store does with one update. */
export type Treatment = 'apply' | 'refuse' | 'drop' | 'lose' | { reject: unknown } | 'hang';

interface Settings {
  /** Asked for every update. @default always 'apply' */
  treat?: (petId: PetId, options: SyncCallOptions) => Treatment;
  /** Called before every step that a crash could come before. */
  step?: () => Promise<void>;
  /** Called when the next item of the list is asked for. */
  listed?: (petId: PetId) => void;
  quota?: SyncQuota;
  listError?: unknown;
}

/** A client and its service in one: a list of pets, and a log of what was asked of it. */
export class FakeStore implements InventoryClient {
  readonly stock: Map<PetId, number>;
  readonly requests: string[] = [];
  readonly options: SyncCallOptions[] = [];
  /** Rows that the list shows a second time. */
  readonly twice = new Set<PetId>();
  settings: Settings;
  baseUrl?: string;

  constructor(stock: Iterable<readonly [PetId, number]>, settings: Settings = {}) {
    this.stock = new Map(stock);
    this.settings = settings;
  }

  get quota(): SyncQuota {
    return this.settings.quota ?? { minute: { limit: 1e9, remaining: 1e9 }, day: {} };
  }

  async *streamInventory(options: SyncCallOptions): AsyncGenerator<{ petId: PetId; quantity: number }> {
    this.requests.push('GET');
    this.options.push(options);
    await this.settings.step?.();
    if (this.settings.listError !== undefined) throw this.settings.listError;
    for (const [petId, quantity] of [...this.stock, ...[...this.stock].filter(([petId]) => this.twice.has(petId))]) {
      yield { petId, quantity };
      this.settings.listed?.(petId);
    }
  }

  async updateInventory(petId: PetId, { quantity }: { quantity: number }, options: SyncCallOptions): Promise<void> {
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
