import type { PetId } from '../contract/models.ts';
import { IdTable } from '../stock/id-table.ts';

/**
 * The wanted stock of one pet: a quantity, or an adjustment of its current quantity. Both are safe integers.
 *
 * @example
 * const entries: WantedEntry[] = [{ petId: 1, quantity: 40 }, { petId: 2, adjust: -1 }];
 * const { changes } = await planSync(petstore, entries);
 * console.log(changes.length); // → 2
 */
export type WantedEntry =
  | { petId: PetId; quantity: number; adjust?: undefined }
  | {
      petId: PetId;
      /** Added to the pet's quantity; may be negative. */
      adjust: number;
      quantity?: undefined;
    };

const INITIAL_ROWS = 1024;
const RELATIVE = 1;
const GIVEN_AS_BIGINT = 2;

/**
 * The wanted state: one row for each pet, in the order of each pet's first entry.
 *
 * The columns are typed arrays, so that a million rows need little memory.
 */
export class WantedStock {
  readonly #ids = new IdTable();
  #amounts = new Float64Array(INITIAL_ROWS);
  #marks = new Uint8Array(INITIAL_ROWS);
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
    const row = this.#rowFor(petId);
    this.#entries += 1;
    if (quantity !== undefined) return this.#setAbsolute(row, quantity);
    const sum = this.amount(row) + adjust;
    this.#amounts[row] = sum;
    return sum;
  }

  rowOf(petId: PetId): number | undefined {
    return this.#ids.rowOf(petId);
  }

  isRelative(row: number): boolean {
    return ((this.#marks[row] ?? 0) & RELATIVE) !== 0;
  }

  /** The quantity, or the sum of the adjustments. */
  amount(row: number): number {
    return this.#amounts[row] ?? 0;
  }

  /** The wanted quantity of a pet whose quantity is `from`. */
  target(row: number, from: number): number {
    return this.isRelative(row) ? from + this.amount(row) : this.amount(row);
  }

  /** All entries of one pet combined into one. */
  entry(petId: PetId, row: number): WantedEntry {
    return this.isRelative(row) ? { petId, adjust: this.amount(row) } : { petId, quantity: this.amount(row) };
  }

  /** Every pet with its row (0, 1, 2, ...) and its id, a bigint if its first entry had one. */
  *pets(): Generator<[petId: PetId, row: number]> {
    for (let row = 0; row < this.#ids.size; row++) {
      const petId = this.#ids.idOf(row);
      yield [((this.#marks[row] ?? 0) & GIVEN_AS_BIGINT) === 0 ? petId : BigInt(petId), row];
    }
  }

  #setAbsolute(row: number, quantity: number): number {
    // Adding 0 makes -0 a plain 0.
    this.#amounts[row] = quantity + 0;
    this.#marks[row] = (this.#marks[row] ?? 0) & ~RELATIVE;
    return quantity;
  }

  #rowFor(petId: PetId): number {
    const known = this.#ids.size;
    const row = this.#ids.take(petId);
    if (row < known) return row;
    if (row === this.#amounts.length) this.#grow();
    this.#marks[row] = RELATIVE | (typeof petId === 'bigint' ? GIVEN_AS_BIGINT : 0);
    return row;
  }

  #grow(): void {
    const amounts = new Float64Array(this.#amounts.length * 2);
    amounts.set(this.#amounts);
    this.#amounts = amounts;
    const marks = new Uint8Array(this.#marks.length * 2);
    marks.set(this.#marks);
    this.#marks = marks;
  }
}
