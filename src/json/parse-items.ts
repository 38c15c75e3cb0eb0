import type { Int64, InventoryItem } from '../contract/models.ts';
import type { ReadFailure } from './failure.ts';
import { parseRows } from './parse-rows.ts';

export type ItemsResult<Ids extends Int64> = { ok: true; items: InventoryItem<Ids>[] } | ReadFailure;

/** Reads the text of a list of items as a whole: ids are exact, fields are those of the contract. Never throws. */
export function parseItems<Ids extends Int64>(text: string, int64: Ids): ItemsResult<Ids> {
  const { items, failure } = parseRows(text, int64);
  return failure ?? { ok: true, items };
}
