import type { Int64, InventoryItem } from '../contract/models.ts';
import { notJsonText, type ReadFailure } from './failure.ts';
import { hasLongId, NOT_JSON, parseJson, parseWithLongIds } from './parse-json.ts';
import { problemsOf, readRows } from './read-rows.ts';

export type ItemResult<Ids extends Int64> = { ok: true; item: InventoryItem<Ids> } | ReadFailure;

/** Reads the text of one item: its id is exact, its fields are those of the contract. Never throws. */
export function parseItem<Ids extends Int64>(text: string, int64: Ids): ItemResult<Ids> {
  const parsed = parseJson(text);
  if (parsed === NOT_JSON) return notJsonText(text);
  const value = hasLongId(parsed) ? parseWithLongIds(text) : parsed;
  const [item] = readRows([value], int64).items;
  return item === undefined ? { ok: false, reason: 'schema', problems: problemsOf(value, int64, '') } : { ok: true, item };
}
