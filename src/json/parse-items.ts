import type { Int64, InventoryItem } from '../contract/models.ts';
import { failureAt, notJson, type ReadFailure } from './failure.ts';
import { hasLongId, NOT_JSON, parseJson, parseWithLongIds } from './parse-json.ts';
import { type Rows, readRows } from './read-rows.ts';
import { withoutByteOrderMark } from './text.ts';
import { typeName } from './type-name.ts';

export type ItemsResult<Ids extends Int64> = { ok: true; items: InventoryItem<Ids>[] } | ReadFailure;

/** Reads the text of a list of items as a whole: ids are exact, fields are those of the contract. Never throws. */
export function parseItems<Ids extends Int64>(text: string, int64: Ids): ItemsResult<Ids> {
  const { items, failure } = parseRows(withoutByteOrderMark(text), int64);
  return failure ?? { ok: true, items };
}

/** Reads a list, or a part of one whose first item has the number `firstRow`. */
export function parseRows<Ids extends Int64>(json: string, int64: Ids, firstRow = 0): Rows<Ids> {
  const values = parseJson(json);
  if (values === NOT_JSON) return { items: [], failure: notJson('') };
  if (!Array.isArray(values)) return { items: [], failure: failureAt('', 'schema', `must be a list, not ${typeName(values)}`) };
  const rows = readRows(values, int64, firstRow);
  if (rows.failure === undefined || !values.some(hasLongId)) return rows;
  const exactValues = parseWithLongIds(json);
  return Array.isArray(exactValues) ? readRows(exactValues, int64, firstRow) : rows;
}
