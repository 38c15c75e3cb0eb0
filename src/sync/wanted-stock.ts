import type { PetId } from '../contract/models.ts';
import { IdTable } from '../stock/id-table.ts';
import { IntColumn } from '../stock/int-column.ts';

/**
 * The wanted stock of one pet: a quantity, or an adjustment of its current quantity. Both are safe integers.
 *
 * @example
 * const entries: WantedEntry[] = [{ petId: 1, quantity: 40 }, { petId: 2, adjust: -1 }];
 * const { changes } = await planSync(petstore, entries);
 * console.log(changes.length); // → 2
 */
export type WantedEntry =
  | {
      /** An int64; a `bigint` if it is beyond ±(2^53−1). */
      petId: PetId;
      /** The quantity to set. */
      quantity: number;
      adjust?: undefined;
    }
  | {
      /** An int64; a `bigint` if it is beyond ±(2^53−1). */
      petId: PetId;
      /** Added to the pet's quantity; may be negative. */
      adjust: number;
      quantity?: undefined;
    };

const RELATIVE = 1;
const GIVEN_AS_BIGINT = 2;

/** The wanted state: one row for each pet, in the order of each pet's first entry. */
export class WantedStock {
  readonly #ids = new IdTable();
  readonly #amounts = new IntColumn();
  readonly #marks = new IntColumn(1);
  #entries = 0;

  /** Number of pets. */
  get size(): number {
    return this.#ids.size;
  }

  /** Number of entries beyond the first of each pet. */
  get duplicates(): number {
    return this.#entries - this.#ids.size;
  }

  /** Adds an entry: a quantity replaces the pet's earlier entries, adjustments add up. Returns the pet's new amount. */
  add({ petId, quantity, adjust }: WantedEntry): number {
    const known = this.size;
    const row = this.#ids.take(petId);
    if (row === known) this.#marks.set(row, RELATIVE | (typeof petId === 'bigint' ? GIVEN_AS_BIGINT : 0));
    if (quantity !== undefined) this.#marks.set(row, this.#marks.get(row) & ~RELATIVE);
    // Adding 0 makes -0 a plain 0.
    const amount = quantity === undefined ? this.amount(row) + adjust : quantity + 0;
    this.#amounts.set(row, amount);
    this.#entries += 1;
    return amount;
  }

  rowOf(petId: PetId): number | undefined {
    return this.#ids.rowOf(petId);
  }

  isRelative(row: number): boolean {
    return (this.#marks.get(row) & RELATIVE) !== 0;
  }

  /** The quantity, or the sum of the adjustments. */
  amount(row: number): number {
    return this.#amounts.get(row);
  }

  /** The wanted quantity of a pet whose quantity is `from`. */
  target(row: number, from: number): number {
    return this.isRelative(row) ? from + this.amount(row) : this.amount(row);
  }

  /** All entries of one pet combined into one. */
  entry(petId: PetId, row: number): WantedEntry {
    return this.isRelative(row) ? { petId, adjust: this.amount(row) } : { petId, quantity: this.amount(row) };
  }

  /** The id of a pet, a bigint if its first entry had one. */
  petIdOf(row: number): PetId {
    const petId = this.#ids.idOf(row);
    return (this.#marks.get(row) & GIVEN_AS_BIGINT) === 0 ? petId : BigInt(petId);
  }

  /** Every pet's id and row (0, 1, 2, ...). */
  *pets(): Generator<[petId: PetId, row: number]> {
    for (let row = 0; row < this.#ids.size; row++) yield [this.petIdOf(row), row];
  }
}
