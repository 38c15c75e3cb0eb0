import type { Int64, InventoryItem } from '../contract/models.ts';
import { BadRows, failureAt, notJsonText, type ReadFailure } from './failure.ts';
import { readItem } from './item.ts';
import { mayHaveFraction } from './long-integers.ts';
import { hasLongId, NOT_JSON, parseExactly, parseJson } from './parse-json.ts';
import { typeName } from './type-name.ts';

/** The items before the first bad row, and the failure from there on. */
export interface Rows<Ids extends Int64> {
  items: InventoryItem<Ids>[];
  /** Missing if every row is good. */
  failure?: ReadFailure;
}

/** Parses a list, or a part of a list in which the first item has the row number `firstRow`. */
export function parseRows<Ids extends Int64>(json: string, int64: Ids, firstRow = 0): Rows<Ids> {
  const values = parseJson(json);
  if (values === NOT_JSON) return { items: [], failure: notJsonText(json) };
  if (!Array.isArray(values)) return { items: [], failure: failureAt('', 'schema', `must be a list, not ${typeName(values)}`) };
  const rows = mayHaveFraction(json) ? undefined : readRows(values, int64, firstRow);
  if (rows && (rows.failure === undefined || !values.some(hasLongId))) return rows;
  const exactValues = parseExactly(json);
  return readRows(Array.isArray(exactValues) ? exactValues : values, int64, firstRow);
}

/** Checks the values of a list; `firstRow` is the row number of the first one. */
function readRows<Ids extends Int64>(values: readonly unknown[], int64: Ids, firstRow: number): Rows<Ids> {
  const items: InventoryItem<Ids>[] = [];
  for (const value of values) {
    const item = readItem(value, int64);
    const good = items.length;
    if (item === undefined)
      return { items, failure: { reason: 'schema', problems: new BadRows(values.slice(good), int64, firstRow + good) } };
    items.push(item);
  }
  return { items };
}
