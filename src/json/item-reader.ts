import type { Int64, InventoryItem } from '../contract/models.ts';
import type { InvalidResponseReason } from '../errors.ts';
import { AnyItems } from './any-items.ts';
import { BYTE, skipSpace } from './bytes.ts';
import { failureAt, MAX_ITEM_BYTES, type ReadFailure } from './failure.ts';
import type { Rows } from './parse-rows.ts';
import { PendingBytes } from './pending-bytes.ts';
import { PlainItems } from './plain-items.ts';

/** What has to begin at the next byte that is not white space. */
type Expected = 'document' | 'list' | 'item or end' | 'item' | 'comma or end' | 'nothing';

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf] as const;
/** The first four letters of each word that is a JSON value. A text such as `not found` is none. */
const WORDS = ['true', 'fals', 'null'];

/**
 * Reads a list of items from bytes as they arrive, in the memory of one chunk and one item, however long the list is.
 *
 * It accepts what `JSON.parse` (RFC 8259) and the schema of an item accept, with exact ids, and nothing else. An item is returned as soon
 * as its last byte has arrived. An item has at most {@link MAX_ITEM_BYTES}. The chunks are copied and may be cut anywhere.
 *
 * @example
 * const reader = new ItemReader('number');
 * const { items, failure } = reader.push(new TextEncoder().encode('[{"petId":1,"quantity":2,"status":"sold"}]'));
 */
export class ItemReader<Ids extends Int64> {
  readonly #pending = new PendingBytes();
  readonly #plainItems: PlainItems<Ids>;
  readonly #anyItems: AnyItems<Ids>;
  #expected: Expected = 'document';
  /** The number of the next item. */
  #row = 0;
  #failure: ReadFailure | undefined;
  /** Whether all items so far had the plain form, of which a list is read faster than by `JSON.parse`. */
  isPlain = true;

  /** `int64` is the type of ids in the items. */
  constructor(int64: Ids) {
    this.#plainItems = new PlainItems(int64);
    this.#anyItems = new AnyItems(int64);
  }

  /** Adds the items that end within these bytes to `items`, and returns `items`. After a failure, each call returns the same failure. */
  push(bytes: Uint8Array, items: InventoryItem<Ids>[] = []): Rows<Ids> {
    this.#pending.append(bytes);
    this.#plainItems.look(this.#pending.padded);
    this.#anyItems.beginSmall();
    while (this.#failure === undefined && this.#step(items)) {}
    return this.#rows(items);
  }

  /** To be called after the last bytes. Returns a failure if the list is not closed. */
  end(): Rows<Ids> {
    if (this.#failure === undefined && this.#expected !== 'nothing') this.#fail('invalid-json', this.#early);
    return this.#rows([]);
  }

  /** What is wrong if the bytes end here, before the list does. */
  get #early(): string {
    if (this.#expected !== 'document' && this.#expected !== 'list') return `ends within the list, items so far: ${this.#row}`;
    return this.#pending.view.length === this.#pending.at ? 'is empty' : 'is not valid JSON';
  }

  #rows(items: InventoryItem<Ids>[]): Rows<Ids> {
    return this.#failure === undefined ? { items } : { items, failure: this.#failure };
  }

  /** Reads a token or items; `false` if it needs more bytes, or failed. */
  #step(items: InventoryItem<Ids>[]): boolean {
    if (this.#expected === 'document') return this.#skipByteOrderMark();
    const { view, at } = this.#pending;
    this.#pending.at = skipSpace(view, at);
    const byte = view[this.#pending.at];
    if (byte === undefined) return false;
    if (this.#expected === 'list') return this.#enter(byte);
    if (this.#expected === 'nothing') return this.#fail('invalid-json', 'continues after the list');
    if (byte === BYTE.closeList && this.#expected !== 'item') return this.#skip('nothing');
    if (this.#expected !== 'comma or end') return this.#readItems(items);
    return byte === BYTE.comma ? this.#skip('item') : this.#fail('invalid-json', `has no comma after item ${this.#row}`);
  }

  #skipByteOrderMark(): boolean {
    const { view } = this.#pending;
    const isMark = BYTE_ORDER_MARK.every((byte, index) => view.length <= index || view[index] === byte);
    if (isMark && view.length < BYTE_ORDER_MARK.length) return false;
    if (isMark) this.#pending.at = BYTE_ORDER_MARK.length;
    this.#expected = 'list';
    return true;
  }

  #enter(byte: number): boolean {
    if (byte === BYTE.openList) return this.#skip('item or end');
    const { view, at } = this.#pending;
    const begun = String.fromCharCode(...view.subarray(at, at + 4));
    if (/^["{\d-]/.test(begun) || WORDS.includes(begun)) return this.#fail('schema', 'must be a list');
    // A word may arrive in parts.
    if (begun.length < 4 && WORDS.some((word) => word.startsWith(begun))) return false;
    return this.#fail('invalid-json', 'is not valid JSON');
  }

  #readItems(items: InventoryItem<Ids>[]): boolean {
    if (this.#anyItems.isWithinItem) return this.#readAnyItems(items);
    const before = items.length;
    const { at, lastClose } = this.#pending;
    this.#plainItems.read(items, { start: at, lastClose });
    const count = items.length - before;
    if (count > 0) return this.#pass(count, this.#plainItems.end);
    return this.#isCutObject ? false : this.#readAnyItems(items);
  }

  /** Whether an object begins here whose end has certainly not arrived. */
  get #isCutObject(): boolean {
    const { view, at, lastClose } = this.#pending;
    return view[at] === BYTE.openObject && at > lastClose && view.length - at <= MAX_ITEM_BYTES;
  }

  #readAnyItems(items: InventoryItem<Ids>[]): boolean {
    this.isPlain = false;
    const rows = this.#anyItems.read(this.#pending.view, this.#pending.at, this.#row);
    if (rows === undefined) return false;
    for (const item of rows.items) items.push(item);
    this.#failure = rows.failure;
    return this.#pass(rows.items.length, this.#anyItems.end);
  }

  #pass(count: number, end: number): true {
    this.#row += count;
    this.#pending.at = end;
    this.#expected = 'comma or end';
    return true;
  }

  #skip(expected: Expected): true {
    this.#pending.at += 1;
    this.#expected = expected;
    return true;
  }

  #fail(reason: InvalidResponseReason, message: string): false {
    this.#failure = failureAt('', reason, message);
    return false;
  }
}
