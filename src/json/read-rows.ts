import type { Int64, InventoryItem } from '../contract/models.ts';
import { BadRows, type ReadFailure } from './failure.ts';
import { readItem } from './item.ts';

/** The items before the first bad row, and the failure from there on. */
export interface Rows<Ids extends Int64> {
  items: InventoryItem<Ids>[];
  /** Missing if every row is good. */
  failure?: ReadFailure;
}

/** Validates the values of a list; `firstRow` is the row number of the first one. */
export function readRows<Ids extends Int64>(values: readonly unknown[], int64: Ids, firstRow = 0): Rows<Ids> {
  const items: InventoryItem<Ids>[] = [];
  for (const value of values) {
    const item = readItem(value, int64);
    const good = items.length;
    if (item === undefined) {
      const problems = new BadRows(values.slice(good), int64, firstRow + good);
      return { items, failure: { reason: 'schema', problems } };
    }
    items.push(item);
  }
  return { items };
}
