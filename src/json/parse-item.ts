import type { Int64, InventoryItem } from '../contract/models.ts';
import { BadRows, notJsonText, type ReadFailure } from './failure.ts';
import { readItem } from './item.ts';
import { mayHaveFraction } from './long-integers.ts';
import { hasLongId, NOT_JSON, parseExactly, parseJson } from './parse-json.ts';

export type ItemResult<Ids extends Int64> = { item: InventoryItem<Ids> } | { failure: ReadFailure };

/** Parses the text of one item, with an exact id and only the fields of the contract. Never throws. */
export function parseItem<Ids extends Int64>(text: string, int64: Ids): ItemResult<Ids> {
  const parsed = parseJson(text);
  if (parsed === NOT_JSON) return { failure: notJsonText(text) };
  const value = mayHaveFraction(text) || hasLongId(parsed) ? parseExactly(text) : parsed;
  const item = readItem(value, int64);
  return item === undefined ? { failure: { reason: 'schema', problems: new BadRows([value], int64) } } : { item };
}
