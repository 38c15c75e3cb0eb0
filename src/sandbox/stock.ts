import type { InventoryItem, PetStatus } from '../contract/models.ts';
import { isInt64, isPetId } from '../contract/pet-id.ts';
import type { Random } from './random.ts';
import { SandboxError, show } from './sandbox-error.ts';

/**
 * An entry of the stock, with the exact id as a bigint.
 *
 * @example
 * const items: StockItem[] = [...sandbox.inventory];
 * console.log(items.length, items[0]?.petId); // → 12 1n
 */
export type StockItem = InventoryItem<'bigint'>;

/**
 * An entry of the stock as callers write it.
 *
 * @example
 * const pets: StockEntry[] = [{ petId: 2n ** 53n + 1n, quantity: 3, status: 'sold' }];
 * const own = createSandbox({ pets });
 */
export interface StockEntry {
  /** An int64; beyond ±(2^53−1) a bigint. */
  petId: number | bigint;
  /** A safe integer. */
  quantity: number;
  /** A status of the specification, or any other text. @default 'available' */
  status?: StockItem['status'] | undefined;
}

/** Where a sandbox keeps its pets. */
export interface Stock {
  readonly size: number;
  /** Whether it was never filled, in this run or an earlier one. A stock whose pets were all removed is not new. */
  readonly isNew: boolean;
  get(petId: bigint): StockItem | undefined;
  set(petId: bigint, item: StockItem): void;
  /** Replaces all pets by these. */
  fill(items: Iterable<StockItem>): void;
  delete(petId: bigint): boolean;
  values(): IterableIterator<StockItem>;
}

/** The default: pets in this process's memory, in the order in which they were added. */
export class MemoryStock extends Map<bigint, StockItem> implements Stock {
  isNew = true;

  fill(items: Iterable<StockItem>): void {
    this.isNew = false;
    this.clear();
    for (const item of items) this.set(item.petId, item);
  }
}

const STATUS_MIX: readonly PetStatus[] = ['available', 'available', 'available', 'available', 'pending', 'sold'];

/** Makes up pets with the ids 1 to `count` and quantities from 0 to 99; about two thirds are available. */
export function* inventPets(count: number, random: Random): Generator<StockItem> {
  for (let id = 1; id <= count; id += 1) {
    const status = STATUS_MIX[Math.floor(random() * STATUS_MIX.length)] ?? 'available';
    yield { petId: BigInt(id), quantity: Math.floor(random() * 100), status };
  }
}

/** Checks a caller's entry. @throws {SandboxError} for an id that is not an int64, or a quantity that is not a safe integer */
export function toStockItem({ petId, quantity, status = 'available' }: StockEntry): StockItem {
  if (!isPetId(petId)) throw new SandboxError(`Cannot stock pet ${show(petId)}: its id must be an int64 (a bigint beyond ±(2^53−1))`);
  if (!Number.isSafeInteger(quantity))
    throw new SandboxError(`Cannot stock pet ${petId}: its quantity must be an integer within ±(2^53−1), not ${show(quantity)}`);
  // A stock has no -0.
  return { petId: BigInt(petId), quantity: quantity + 0, status };
}

/** Parses a petId from a path; undefined if it is not an int64. */
export function parsePetId(digits: string): bigint | undefined {
  if (!/^-?\d{1,19}$/.test(digits)) return undefined;
  const petId = BigInt(digits);
  return isInt64(petId) ? petId : undefined;
}
