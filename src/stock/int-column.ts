const PART_BITS = 16;
const PART_ROWS = 1 << PART_BITS;
const INDEX_MASK = PART_ROWS - 1;
const SMALLEST_PART_ROWS = 16;

type Part = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

const NO_ROWS = new Uint8Array();
const NO_ROWS_32 = new Int32Array();

/**
 * A column of safe integers, each in 4 or 8 bytes, or in 1 byte in a column of small integers. Rows are kept in parts of their own length
 * and width, so that a column of millions is never copied as a whole. A row that was never written is 0.
 */
export class IntColumn {
  #parts: Part[] = [];
  readonly #leastBytes: 1 | 4;
  // Parts shared with the column that was forked. They are copied before they are written to.
  #borrowed: Set<Part> | undefined;

  constructor(leastBytes: 1 | 4 = 4) {
    this.#leastBytes = leastBytes;
  }

  get(row: number): number {
    return this.#parts[row >>> PART_BITS]?.[row & INDEX_MASK] ?? 0;
  }

  /** Sets a row. New rows have to be written in their order. */
  set(row: number, value: number): void {
    const part = this.#parts[row >>> PART_BITS];
    const index = row & INDEX_MASK;
    if (part && index < part.length && isWideEnough(part, value) && !this.#isBorrowed(part)) part[index] = value;
    else this.#remake(row, value);
  }

  /**
   * A column with the same rows. It can be written to, while this one must not be. Parts are only copied when they are written to.
   */
  fork(): IntColumn {
    const fork = new IntColumn(this.#leastBytes);
    fork.#parts = [...this.#parts];
    fork.#borrowed = new Set(this.#parts);
    return fork;
  }

  /** A copy of the first rows. */
  first(rows: number): IntColumn {
    const copy = new IntColumn(this.#leastBytes);
    const parts = this.#parts.slice(0, Math.ceil(rows / PART_ROWS));
    copy.#parts = parts.map((part, at) => part.slice(0, Math.max(SMALLEST_PART_ROWS, rows - at * PART_ROWS)));
    return copy;
  }

  /**
   * The rows from `row` to the end of its part, as an array, if they have 32 bits each; else an empty array. `own` rows may be written to;
   * `borrowed` rows, which are still shared with the forked column, may only be read. A loop over the array costs a fraction of `set` and
   * `get`.
   */
  rows32(row: number, of: 'own' | 'borrowed' = 'own'): Int32Array<ArrayBuffer> {
    const part = this.#parts[row >>> PART_BITS];
    return part instanceof Int32Array && this.#isBorrowed(part) === (of === 'borrowed') ? part.subarray(row & INDEX_MASK) : NO_ROWS_32;
  }

  /** Like `rows32`, for rows of 8 bits, with values from 0 to 255. */
  rows8(row: number, of: 'own' | 'borrowed' = 'own'): Uint8Array<ArrayBuffer> {
    const part = this.#parts[row >>> PART_BITS];
    return part instanceof Uint8Array && this.#isBorrowed(part) === (of === 'borrowed') ? part.subarray(row & INDEX_MASK) : NO_ROWS;
  }

  /** The first row, from `row` on, that this column does not share with another. */
  endOfShared(row: number, other: IntColumn): number {
    let at = row >>> PART_BITS;
    while (this.#parts[at] && this.#parts[at] === other.#parts[at]) at += 1;
    return Math.max(row, at << PART_BITS);
  }

  #isBorrowed(part: Part): boolean {
    return this.#borrowed?.has(part) ?? false;
  }

  #remake(row: number, value: number): void {
    const at = row >>> PART_BITS;
    const part = this.#parts[at] ?? NO_ROWS;
    // A new part is at least as wide as the part before it.
    const bytes = Math.max(this.#leastBytes, bytesFor(value), part.BYTES_PER_ELEMENT, this.#parts[at - 1]?.BYTES_PER_ELEMENT ?? 1);
    const copy = makePart(bytes, at > 0 ? PART_ROWS : lengthFor(row, part.length));
    copy.set(part);
    copy[row & INDEX_MASK] = value;
    this.#borrowed?.delete(part);
    this.#parts[at] = copy;
  }
}

function lengthFor(row: number, length: number): number {
  return row < length ? length : Math.min(PART_ROWS, Math.max(SMALLEST_PART_ROWS, row + 1, length * 2));
}

function isWideEnough({ BYTES_PER_ELEMENT: bytes }: Part, value: number): boolean {
  if (bytes === 1) return value >= 0 && value <= 255;
  return bytes === 8 || (value | 0) === value;
}

function bytesFor(value: number): number {
  if (value >= 0 && value <= 255) return 1;
  return (value | 0) === value ? 4 : 8;
}

function makePart(bytes: number, length: number): Part {
  if (bytes === 1) return new Uint8Array(length);
  return bytes === 4 ? new Int32Array(length) : new Float64Array(length);
}
