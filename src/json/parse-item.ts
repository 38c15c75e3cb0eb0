import type { Int64, InventoryItem } from '../contract/models.ts';
import { itemTooLarge, MAX_ITEM_BYTES, notJsonText, type ReadFailure } from './failure.ts';
import { hasLongId, NOT_JSON, parseJson, parseWithLongIds } from './parse-json.ts';
import { problemsOf, readRows } from './read-rows.ts';
import { isLongerThan, withoutByteOrderMark } from './text.ts';

export type ItemResult<Ids extends Int64> = { ok: true; item: InventoryItem<Ids> } | ReadFailure;

/** Reads the text of one item: its id is exact, its fields are those of the contract. Never throws. */
export function parseItem<Ids extends Int64>(text: string, int64: Ids): ItemResult<Ids> {
  const json = withoutByteOrderMark(text);
  if (isLongerThan(json, MAX_ITEM_BYTES)) return itemTooLarge('');
  const parsed = parseJson(json);
  if (parsed === NOT_JSON) return notJsonText(json);
  const value = hasLongId(parsed) ? parseWithLongIds(json) : parsed;
  const [item] = readRows([value], int64).items;
  return item === undefined ? { ok: false, reason: 'schema', problems: problemsOf(value, int64, '') } : { ok: true, item };
}
