import type { Int64 } from '../contract/models.ts';
import { BYTE, skipSpace } from './bytes.ts';
import { failureAt, itemTooLarge, MAX_ITEM_BYTES, notJson, type ReadFailure } from './failure.ts';
import { ItemScan } from './item-scan.ts';
import { parseRows } from './parse-rows.ts';
import type { Rows } from './read-rows.ts';

/** Larger groups are no faster. */
const MAX_GROUP_BYTES = 65_536;

/** Reads items in any layout that JSON allows: cuts off a group of whole items and lets `JSON.parse` and the schema judge it. */
export class AnyItems<Ids extends Int64> {
  /** The index behind the items that were read last. */
  end = 0;
  readonly #int64: Ids;
  readonly #scan = new ItemScan();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** The most items of the next group: doubles, so that a single odd item costs little, and many of them cost little each. */
  #groupSize = 1;

  constructor(int64: Ids) {
    this.#int64 = int64;
  }

  /** Whether the beginning of an item was looked at, and its end has not come. */
  get isWithinItem(): boolean {
    return this.#scan.isWithinItem;
  }

  /** Makes the next group a single item: one that was cut in two says nothing about its neighbours. */
  beginSmall(): void {
    this.#groupSize = 1;
  }

  /** The rows from the item at `start` on, whose number is `row`; `undefined` when its end has not come. */
  read(bytes: Uint8Array, start: number, row: number): Rows<Ids> | undefined {
    const firstEnd = this.#scan.findEnd(bytes, start);
    const length = (firstEnd === -1 ? bytes.length : firstEnd) - start;
    if (length > MAX_ITEM_BYTES) return { items: [], failure: itemTooLarge(`[${row}]`) };
    if (firstEnd === -1) return undefined;
    this.end = this.#findGroupEnd(bytes, start, firstEnd);
    const rows = this.#parse(bytes.subarray(start, this.end), row);
    if (rows.failure?.reason === 'schema') return this.#withNeighbours(rows, { bytes, start, row });
    if (this.end === firstEnd || !isUnreadable(rows)) {
      this.#groupSize *= 2;
      return rows;
    }
    // One of them is broken, and those before it are good: read on item by item.
    this.#groupSize = 1;
    this.end = firstEnd;
    return this.#parse(bytes.subarray(start, firstEnd), row);
  }

  /** Rows with a bad one, and what is wrong with those behind it that have come. */
  #withNeighbours(rows: Rows<Ids>, { bytes, start, row }: { bytes: Uint8Array; start: number; row: number }): Rows<Ids> {
    this.#groupSize = Number.POSITIVE_INFINITY;
    const wider = this.#parse(bytes.subarray(start, this.#findGroupEnd(bytes, start, this.end)), row);
    return isUnreadable(wider) ? rows : wider;
  }

  #findGroupEnd(bytes: Uint8Array, start: number, firstEnd: number): number {
    let groupEnd = firstEnd;
    for (let size = 1; size < this.#groupSize && groupEnd - start < MAX_GROUP_BYTES; size += 1) {
      const next = findNextItem(bytes, groupEnd);
      const end = next === -1 ? -1 : this.#scan.findEnd(bytes, next);
      this.#scan.restart();
      if (end === -1 || end - next > MAX_ITEM_BYTES) break;
      groupEnd = end;
    }
    return groupEnd;
  }

  #parse(group: Uint8Array, row: number): Rows<Ids> {
    const text = this.#decode(group);
    if (text === undefined) return { items: [], failure: failureAt(`[${row}]`, 'invalid-utf8', 'is not valid UTF-8') };
    const rows = parseRows(`[${text}]`, this.#int64, row);
    // Between two commas there must be an item.
    return group.length === 0 || isUnreadable(rows) ? { items: [], failure: notJson(`[${row}]`) } : rows;
  }

  #decode(bytes: Uint8Array): string | undefined {
    try {
      return this.#decoder.decode(bytes);
    } catch {
      return undefined;
    }
  }
}

function isUnreadable({ failure }: { failure?: ReadFailure }): boolean {
  return failure !== undefined && failure.reason !== 'schema';
}

/** The index of the item behind the next comma, or -1 when it has not come. */
function findNextItem(bytes: Uint8Array, end: number): number {
  const comma = skipSpace(bytes, end);
  const next = bytes[comma] === BYTE.comma ? skipSpace(bytes, comma + 1) : bytes.length;
  return next < bytes.length ? next : -1;
}
