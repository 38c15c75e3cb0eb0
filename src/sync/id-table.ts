import type { PetId } from '../contract/models.ts';

const INITIAL_SLOTS = 2048;

/**
 * Numbers the ids that it is given 0, 1, 2 and so on, in a fraction of a Map's memory: a hash table with linear probing over
 * typed arrays. Ids that no double holds exactly are rare, and go into a map beside it.
 */
export class IdTable {
  /** The row of each slot plus 1; 0 is free. At most half of them are taken. */
  #slots = new Int32Array(INITIAL_SLOTS);
  /** The id of each row; NaN for a long one. */
  #ids = new Float64Array(INITIAL_SLOTS / 2);
  readonly #longRows = new Map<bigint, number>();
  readonly #longIds = new Map<number, bigint>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** 5 and 5n are one id. */
  rowOf(petId: PetId): number | undefined {
    const id = Number(petId);
    if (!Number.isSafeInteger(id)) return this.#longRows.get(BigInt(petId));
    const row = (this.#slots[this.#slotFor(id)] ?? 0) - 1;
    return row < 0 ? undefined : row;
  }

  /** Gives the row of an id, a new one if need be. */
  take(petId: PetId): number {
    const known = this.rowOf(petId);
    if (known !== undefined) return known;
    if (this.#size === this.#ids.length) this.#grow();
    const row = this.#size;
    this.#size += 1;
    const id = Number(petId);
    if (Number.isSafeInteger(id)) this.#place(id, row);
    else this.#keepLong(BigInt(petId), row);
    return row;
  }

  /** The id of a row: a number wherever that is exact. */
  idOf(row: number): PetId {
    return this.#longIds.get(row) ?? this.#ids[row] ?? 0;
  }

  #place(id: number, row: number): void {
    // Adding 0 makes -0 a plain 0.
    this.#ids[row] = id + 0;
    this.#slots[this.#slotFor(id)] = row + 1;
  }

  #keepLong(id: bigint, row: number): void {
    this.#ids[row] = Number.NaN;
    this.#longRows.set(id, row);
    this.#longIds.set(row, id);
  }

  /** The slot that holds an id, or the free one where it belongs. */
  #slotFor(id: number): number {
    const last = this.#slots.length - 1;
    let slot = hash(id) & last;
    for (let taken = this.#slots[slot]; taken; taken = this.#slots[slot]) {
      if (this.#ids[taken - 1] === id) break;
      slot = (slot + 1) & last;
    }
    return slot;
  }

  #grow(): void {
    const ids = new Float64Array(this.#ids.length * 2);
    ids.set(this.#ids);
    this.#ids = ids;
    this.#slots = new Int32Array(ids.length * 2);
    for (let row = 0; row < this.#size; row++) {
      const id = ids[row] ?? Number.NaN;
      if (!Number.isNaN(id)) this.#slots[this.#slotFor(id)] = row + 1;
    }
  }
}

/** MurmurHash3's last steps, over both halves of the id: consecutive ids, and multiples of a power of two, spread alike. */
function hash(id: number): number {
  let bits = (id | 0) ^ Math.imul(Math.floor(id / 4_294_967_296), 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
