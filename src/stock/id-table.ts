import type { PetId } from '../contract/models.ts';
import { IntColumn } from './int-column.ts';

const TWO_TO_32 = 4_294_967_296;
const FEWEST_SLOTS = 64;

/**
 * Numbers ids 0, 1, 2 and so on, in a fraction of a Map's memory. Each id is held exactly, as two halves of 32 bits. As long as ids come in
 * ascending order, as services list them, a row is found by binary search; after the first id out of order, by a hash table with linear
 * probing.
 */
export class IdTable {
  /** The lower 32 bits of each row's id. */
  #low = new IntColumn();
  /** The upper 32 bits of each row's id; undefined as long as they only repeat the sign. */
  #high: IntColumn | undefined;
  /** The hash table: each slot holds a row plus 1, or 0 if it is free. At most two thirds are taken. Undefined while the ids ascend. */
  #slots: Int32Array | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The row of an id, if it has one; 5 and 5n are the same id. */
  rowOf(petId: PetId): number | undefined {
    const row = this.#find(lowOf(petId), highOf(petId));
    return row < 0 ? undefined : row;
  }

  /** Whether a row has this id. */
  isAt(row: number, petId: PetId): boolean {
    return row < this.#size && this.#is(row, lowOf(petId), highOf(petId));
  }

  /** Counts items, from index `from` on, that have the ids of the rows from `row` on. It may stop before the first difference. */
  countSame(items: readonly { petId: PetId }[], from: number, row: number): number {
    const lows = this.#low.rows32(row);
    const highs = this.#high?.rows32(row);
    const most = Math.min(items.length - from, lows.length, this.#size - row);
    for (let count = 0; count < most; count++) {
      const petId = items[from + count]?.petId;
      if (petId === undefined) return count;
      const isSame = highs ? highs[count] === highOf(petId) && lows[count] === lowOf(petId) : isNumber(petId, lows[count]);
      if (!isSame) return count;
    }
    return most;
  }

  /**
   * Adds the ids of items, from index `from` on, as long as they ascend and fit into the existing columns. Returns how many; it may stop
   * before the first id that does not.
   */
  takeAscending(items: readonly { petId: PetId }[], from: number): number {
    if (this.#slots || this.#size === 0) return 0;
    const count = this.#high ? this.#takeLong(items, from, this.#high) : this.#takeShort(items, from);
    this.#size += count;
    return count;
  }

  #takeShort(items: readonly { petId: PetId }[], from: number): number {
    const ids = this.#low.rows32(this.#size);
    const most = Math.min(items.length - from, ids.length);
    let last = this.#low.get(this.#size - 1);
    for (let count = 0; count < most; count++) {
      // `Number()` only rounds ids of more than 53 bits, which the next check refuses anyway.
      const petId = Number(items[from + count]?.petId ?? last);
      if ((petId | 0) !== petId || petId <= last) return count;
      ids[count] = petId;
      last = petId;
    }
    return most;
  }

  #takeLong(items: readonly { petId: PetId }[], from: number, column: IntColumn): number {
    const [lows, highs] = [this.#low.rows32(this.#size), column.rows32(this.#size)];
    const most = Math.min(items.length - from, lows.length, highs.length);
    let [lastLow, lastHigh] = [this.#low.get(this.#size - 1) >>> 0, column.get(this.#size - 1)];
    for (let count = 0; count < most; count++) {
      const petId = items[from + count]?.petId;
      if (petId === undefined) return count;
      const [low, high] = [lowOf(petId) >>> 0, highOf(petId)];
      if (high < lastHigh || (high === lastHigh && low <= lastLow)) return count;
      lows[count] = low;
      highs[count] = high;
      lastLow = low;
      lastHigh = high;
    }
    return most;
  }

  /** Returns the row of an id; adds a row for a new id. */
  take(petId: PetId): number {
    const [low, high] = [lowOf(petId), highOf(petId)];
    if (this.#isBehindAll(low, high)) return this.#append(low, high);
    const known = this.#find(low, high);
    if (known >= 0) return known;
    const row = this.#append(low, high);
    this.#index(row);
    return row;
  }

  /** The id of a row: a number if that is exact, else a bigint. */
  idOf(row: number): PetId {
    const low = this.#low.get(row);
    if (!this.#high) return low;
    const high = this.#high.get(row);
    const id = high * TWO_TO_32 + (low >>> 0);
    return Number.isSafeInteger(id) ? id : BigInt(high) * BigInt(TWO_TO_32) + BigInt(low >>> 0);
  }

  /** A new table with the first rows of this one. */
  first(rows: number): IdTable {
    const table = new IdTable();
    table.#low = this.#low.first(rows);
    table.#high = this.#high?.first(rows);
    table.#size = rows;
    if (this.#slots) table.#indexAll();
    return table;
  }

  #highAt(row: number): number {
    return this.#high ? this.#high.get(row) : this.#low.get(row) >> 31;
  }

  #is(row: number, low: number, high: number): boolean {
    return this.#low.get(row) === low && this.#highAt(row) === high;
  }

  /** Whether the id of a row is smaller than another. */
  #isBefore(row: number, low: number, high: number): boolean {
    const ownHigh = this.#highAt(row);
    return ownHigh === high ? this.#low.get(row) >>> 0 < low >>> 0 : ownHigh < high;
  }

  #isBehindAll(low: number, high: number): boolean {
    return this.#slots === undefined && (this.#size === 0 || this.#isBefore(this.#size - 1, low, high));
  }

  #append(low: number, high: number): number {
    const row = this.#size;
    if (!this.#high && high !== low >> 31) this.#high = this.#signs();
    this.#low.set(row, low);
    this.#high?.set(row, high);
    this.#size += 1;
    return row;
  }

  #signs(): IntColumn {
    const signs = new IntColumn();
    for (let row = 0; row < this.#size; row++) signs.set(row, this.#low.get(row) >> 31);
    return signs;
  }

  /** The row of an id; negative if there is none. */
  #find(low: number, high: number): number {
    if (this.#slots) return (this.#slots[this.#slotFor(this.#slots, low, high)] ?? 0) - 1;
    let [from, to] = [0, this.#size];
    // Ids often have no gaps; then the first guess is right.
    let middle = this.#guess(low);
    for (; from < to; middle = (from + to) >>> 1) {
      if (this.#is(middle, low, high)) return middle;
      if (this.#isBefore(middle, low, high)) from = middle + 1;
      else to = middle;
    }
    return -1;
  }

  /** The row of an id if there are no gaps. */
  #guess(low: number): number {
    return Math.min(Math.max(0, low - this.#low.get(0)), Math.max(0, this.#size - 1));
  }

  /** The slot that holds an id, or the free one where it belongs. */
  #slotFor(slots: Int32Array, low: number, high: number): number {
    const last = slots.length - 1;
    let slot = hash(low, high) & last;
    for (let taken = slots[slot]; taken; taken = slots[slot]) {
      if (this.#is(taken - 1, low, high)) break;
      slot = (slot + 1) & last;
    }
    return slot;
  }

  #index(row: number): void {
    if (this.#slots && this.#size * 3 <= this.#slots.length * 2) this.#place(this.#slots, row);
    else this.#indexAll();
  }

  #indexAll(): void {
    let length = FEWEST_SLOTS;
    while (length * 2 < this.#size * 3) length *= 2;
    const slots = new Int32Array(length);
    for (let row = 0; row < this.#size; row++) this.#place(slots, row);
    this.#slots = slots;
  }

  #place(slots: Int32Array, row: number): void {
    slots[this.#slotFor(slots, this.#low.get(row), this.#highAt(row))] = row + 1;
  }
}

// Used to split a bigint into two halves; arithmetic costs far more, since it makes more bigints.
const BITS = new DataView(new ArrayBuffer(8));

function lowOf(petId: PetId): number {
  if (typeof petId === 'number') return petId | 0;
  BITS.setBigInt64(0, petId);
  return BITS.getInt32(4);
}

function highOf(petId: PetId): number {
  if (typeof petId === 'number') return Math.floor(petId / TWO_TO_32);
  BITS.setBigInt64(0, petId);
  return BITS.getInt32(0);
}

/** MurmurHash3's last steps over both halves of the id. It spreads consecutive ids and multiples of a power of two equally well. */
function hash(low: number, high: number): number {
  let bits = low ^ Math.imul(high, 0x9e3779b1);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

/** Whether an id equals a number. Compares without `Number()` first, which would double the cost for each id. */
function isNumber(petId: PetId, number: number | undefined): boolean {
  return petId === number || (typeof petId === 'bigint' && Number(petId) === number);
}
