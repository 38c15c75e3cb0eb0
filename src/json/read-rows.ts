import * as z from 'zod/mini';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { MAX_PROBLEMS, type Problem, type ReadFailure } from './failure.ts';
import { itemSchema, readItem } from './item.ts';

/** The items before the first bad one, and what is wrong from there on. */
export interface Rows<Ids extends Int64> {
  items: InventoryItem<Ids>[];
  /** Absent when every row is good. */
  failure?: ReadFailure;
}

/** Validates the values of a list; `firstRow` is the row number of the first one. */
export function readRows<Ids extends Int64>(values: readonly unknown[], int64: Ids, firstRow = 0): Rows<Ids> {
  const items: InventoryItem<Ids>[] = [];
  for (const value of values) {
    const item = readItem(value, int64);
    if (item === undefined) return { items, failure: collectProblems(values, { int64, firstRow, from: items.length }) };
    items.push(item);
  }
  return { items };
}

interface BadRows {
  int64: Int64;
  firstRow: number;
  /** The index of the first bad value. */
  from: number;
}

function collectProblems(values: readonly unknown[], { int64, firstRow, from }: BadRows): ReadFailure {
  const problems: Problem[] = [];
  for (let index = from; index < values.length && problems.length < MAX_PROBLEMS; index += 1) {
    problems.push(...problemsOf(values[index], int64, `[${firstRow + index}]`));
  }
  return { ok: false, reason: 'schema', problems: problems.slice(0, MAX_PROBLEMS) };
}

/** What is wrong with one item; `path` is where it stands in its list, empty when it stands alone. */
export function problemsOf(value: unknown, int64: Int64, path: string): Problem[] {
  const issues = z.safeParse(itemSchema[int64], value).error?.issues ?? [];
  return issues.map((issue) => ({ path: [path, ...issue.path].filter((part) => part !== '').join('.'), message: issue.message }));
}
