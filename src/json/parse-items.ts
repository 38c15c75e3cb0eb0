import type { Int64, InventoryItem } from '../contract/models.ts';
import { MAX_ITEM_BYTES, type ReadFailure } from './failure.ts';
import { ItemReader } from './item-reader.ts';
import { parseRows } from './parse-rows.ts';
import type { Rows } from './read-rows.ts';
import { isLongerThan, withoutByteOrderMark } from './text.ts';

export type ItemsResult<Ids extends Int64> = { ok: true; items: InventoryItem<Ids>[] } | ReadFailure;

/** Reads the text of a list of items as a whole: ids are exact, fields are those of the contract. Never throws. */
export function parseItems<Ids extends Int64>(text: string, int64: Ids): ItemsResult<Ids> {
  const json = withoutByteOrderMark(text);
  const { items, failure } = isLongerThan(json, MAX_ITEM_BYTES) ? readLongText(json, int64) : parseRows(json, int64);
  return failure ?? { ok: true, items };
}

// Only here can an item be too large.
function readLongText<Ids extends Int64>(json: string, int64: Ids): Rows<Ids> {
  const reader = new ItemReader(int64);
  const batch = reader.push(new TextEncoder().encode(json));
  return { ...reader.end(), items: batch.items };
}
