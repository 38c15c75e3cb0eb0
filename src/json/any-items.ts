import type { Int64 } from '../contract/models.ts';
import { BYTE, skipSpace } from './bytes.ts';
import { failureAt, itemTooLarge, MAX_ITEM_BYTES, notJson, type ReadFailure } from './failure.ts';
import { ItemScan } from './item-scan.ts';
import { parseRows, type Rows } from './parse-rows.ts';

/** Larger groups are no faster. */
const MAX_GROUP_BYTES = 65_536;

/** Reads items in any layout that JSON allows: cuts off a group of complete items, and checks it with `JSON.parse` and the schema. */
export class AnyItems<Ids extends Int64> {
  /** The index after the items that were read last. */
  end = 0;
  readonly #int64: Ids;
  readonly #scan = new ItemScan();
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Most items of the next group. It doubles each time, so that a single item is read at little cost, and many at little cost each. */
  #groupSize = 1;

  constructor(int64: Ids) {
    this.#int64 = int64;
  }

  /** Whether an item was begun whose end has not arrived. */
  get isWithinItem(): boolean {
    return this.#scan.isWithinItem;
  }

  /** Makes the next group a single item: if only the end of a chunk cut it, the items after it are probably in the plain layout. */
  beginSmall(): void {
    this.#groupSize = 1;
  }

  /** Reads items from the one at `start` on, whose number is `row`; `undefined` if its end has not arrived. */
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
    // An item of the group is broken. Reads item by item, to return the good ones before it.
    this.#groupSize = 1;
    this.end = firstEnd;
    return this.#parse(bytes.subarray(start, firstEnd), row);
  }

  /** Rows with a bad one, and the problems of the rows after it that have arrived. */
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
    // Two commas without an item between them are not valid.
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

/** The index of the item after the next comma, or -1 if it has not arrived. */
function findNextItem(bytes: Uint8Array, end: number): number {
  const comma = skipSpace(bytes, end);
  const next = bytes[comma] === BYTE.comma ? skipSpace(bytes, comma + 1) : bytes.length;
  return next < bytes.length ? next : -1;
}
