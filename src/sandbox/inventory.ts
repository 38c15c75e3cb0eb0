import { type Stock, type StockEntry, type StockItem, toStockItem } from './stock.ts';

/**
 * The stock of a sandbox, to read and to change. Changes are in the sandbox's next answer.
 *
 * @example
 * sandbox.inventory.set(42, { quantity: 3 });
 * await petstore.updateInventory(42, { quantity: 15 });
 * console.log(sandbox.inventory.get(42)); // → { petId: 42n, quantity: 15, status: 'available' }
 */
export class Inventory {
  readonly #stock: Stock;

  constructor(stock: Stock) {
    this.#stock = stock;
  }

  /** Number of pets. */
  get size(): number {
    return this.#stock.size;
  }

  /**
   * A copy of a pet's entry, with the id as a bigint; undefined if there is no such pet.
   * @throws RangeError for a number that is not an integer
   */
  get(petId: number | bigint): StockItem | undefined {
    const item = this.#stock.get(BigInt(petId));
    return item && { ...item };
  }

  /**
   * Adds a pet or replaces its entry. Without a status, a known pet keeps its own, and a new one is `available`.
   * @throws {SandboxError} for an id that is not an int64, or a quantity that is not a safe integer.
   */
  set(petId: number | bigint, entry: Omit<StockEntry, 'petId'>): void {
    const item = toStockItem({ ...entry, petId });
    this.#stock.set(item.petId, { ...item, status: entry.status ?? this.#stock.get(item.petId)?.status ?? item.status });
  }

  /**
   * Removes a pet; returns whether it existed.
   * @throws RangeError for a number that is not an integer
   */
  delete(petId: number | bigint): boolean {
    return this.#stock.delete(BigInt(petId));
  }

  /** All entries, in the order of the list. */
  *values(): Generator<StockItem> {
    for (const item of this.#stock.values()) yield { ...item };
  }

  /** As `values`. */
  [Symbol.iterator](): Generator<StockItem> {
    return this.values();
  }
}
