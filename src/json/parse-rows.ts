import type { Int64 } from '../contract/models.ts';
import { failureAt, notJsonText } from './failure.ts';
import { mayHaveFraction } from './long-integers.ts';
import { hasLongId, NOT_JSON, parseExactly, parseJson } from './parse-json.ts';
import { type Rows, readRows } from './read-rows.ts';
import { typeName } from './type-name.ts';

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
