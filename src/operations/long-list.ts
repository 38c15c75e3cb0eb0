import type { Int64, InventoryItem } from '../contract/models.ts';
import { failureAt } from '../json/failure.ts';
import { ItemReader } from '../json/item-reader.ts';
import type { Rows } from '../json/parse-rows.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import type { Fault } from './operation.ts';

/** Up to this size, decoding and parsing a whole list at once is always fastest. Larger ones are looked at in parts of this size. */
const SMALLEST_LIST_BYTES = 16_384;

/** Items are collected in arrays of about this size, joined at the end: an array that grows to millions is copied again and again. */
const PART_ITEMS = 8192;

/** A list whose first bytes have come. */
export interface BegunList<Ids extends Int64> {
  begun: Uint8Array;
  int64: Ids;
  maxBytes: number;
}

/**
 * Reads a list that has arrived whole. Undefined if it is very small, not valid, or leaves the plain form: `JSON.parse` reads other forms
 * faster, and the error is to be that of the whole text.
 */
export function readPlainList<Ids extends Int64>(bytes: Uint8Array, int64: Ids): InventoryItem<Ids>[] | undefined {
  if (bytes.byteLength <= SMALLEST_LIST_BYTES) return undefined;
  const reader = new ItemReader(int64);
  const items: InventoryItem<Ids>[] = [];
  for (let at = 0; at < bytes.byteLength; at += SMALLEST_LIST_BYTES) {
    const { failure } = reader.push(bytes.subarray(at, at + SMALLEST_LIST_BYTES), items);
    if (failure || !reader.isPlain || items.length === 0) return undefined;
  }
  return reader.end().failure ? undefined : items;
}

/** Reads the rest of a list as it arrives. Fails if the list is longer than `maxBytes`. */
export async function readLongList<Ids extends Int64>(
  { body }: OpenAnswer,
  { begun, int64, maxBytes }: BegunList<Ids>,
): Promise<Rows<Ids> & Pick<Fault, 'isCut'>> {
  const reader = new ItemReader(int64);
  const parts: InventoryItem<Ids>[][] = [[]];
  let size = 0;
  for (let chunk: Uint8Array | undefined = begun; chunk; chunk = await body.next()) {
    size += chunk.byteLength;
    if (size > maxBytes)
      return { items: [], failure: failureAt('', 'too-large', `is longer than the \`maxResponseBytes\` of ${maxBytes}`) };
    const { items, failure } = reader.push(chunk, parts.at(-1));
    if (failure) return { items, failure };
    if (items.length >= PART_ITEMS) parts.push([]);
  }
  const { failure } = reader.end();
  return failure ? { items: [], failure, isCut: true } : { items: join(parts) };
}

function join<Item>([first = [], ...others]: readonly Item[][]): Item[] {
  return first.concat(...others);
}
