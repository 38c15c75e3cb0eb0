import { type Stock, type StockEntry, type StockItem, toStockItem } from './stock.ts';

/**
 * A live handle on the stock of a sandbox: what is written here is what the next answer says.
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
   * The entry of a pet, as a copy; ids come out as bigint.
   * @throws RangeError for a number that is no integer
   */
  get(petId: number | bigint): StockItem | undefined {
    const item = this.#stock.get(BigInt(petId));
    return item && { ...item };
  }

  /**
   * Adds a pet or replaces its entry; the status defaults to the one it had, else `available`.
   * @throws {SandboxError} for an id that is no int64, or a quantity that is no safe integer.
   */
  set(petId: number | bigint, entry: Omit<StockEntry, 'petId'>): void {
    const status = entry.status ?? this.get(petId)?.status ?? 'available';
    this.#stock.set(toStockItem({ petId, quantity: entry.quantity, status }));
  }

  /**
   * Takes a pet out; tells whether it was there.
   * @throws RangeError for a number that is no integer
   */
  delete(petId: number | bigint): boolean {
    return this.#stock.delete(BigInt(petId));
  }

  /** All entries, in the order in which the list gives them. */
  *values(): Generator<StockItem> {
    for (const item of this.#stock.values()) yield { ...item };
  }

  /** As `values`. */
  [Symbol.iterator](): Generator<StockItem> {
    return this.values();
  }
}
