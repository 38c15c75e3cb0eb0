import * as z from 'zod/mini';
import type { Int64 } from '../contract/models.ts';
import { isInt64, isPetId } from '../contract/pet-id.ts';
import type { Problem } from '../errors.ts';
import { type BadRows, MAX_PROBLEMS } from './failure.ts';
import { isSafeInteger } from './pet-id.ts';
import { typeName } from './type-name.ts';

const quantity = z.custom<number>(isSafeInteger, { error: describeQuantity });
const status = z.custom<string>((value) => typeof value === 'string', { error: expected('a string') });
const error = expected('an object');

/** The schema of an item. It only checks values that `readItem` does not accept. */
export const itemSchema = {
  number: z.object({ petId: z.custom<number>(isSafeInteger, { error: describeId }), quantity, status }, { error }),
  bigint: z.object({ petId: z.custom<number | bigint>(isPetId, { error: describeId }), quantity, status }, { error }),
} as const;

/** The first problems of values that do not match, at most {@link MAX_PROBLEMS}. */
export function problemsOf({ values, int64, firstRow }: BadRows): Problem[] {
  const problems: Problem[] = [];
  for (let index = 0; index < values.length && problems.length < MAX_PROBLEMS; index += 1) {
    problems.push(...problemsOfItem(values[index], int64, firstRow === undefined ? '' : `[${firstRow + index}]`));
  }
  return problems.slice(0, MAX_PROBLEMS);
}

/** `path` is the item's place in its list; empty for a single item. */
function problemsOfItem(value: unknown, int64: Int64, path: string): Problem[] {
  const issues = z.safeParse(itemSchema[int64], value).error?.issues ?? [];
  return issues.map((issue) => ({ path: [path, ...issue.path].filter((part) => part !== '').join('.'), message: issue.message }));
}

function expected(what: string): (issue: { input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is missing' : `must be ${what}, not ${typeName(input)}`);
}

function describeQuantity({ input }: { input?: unknown }): string {
  return Number.isFinite(input) ? 'must be an integer within ±(2^53−1)' : expected('an integer')({ input });
}

function describeId({ input }: { input?: unknown }): string {
  if (input === undefined) return 'is missing';
  if (typeof input === 'bigint' && isInt64(input)) return `is ${input}, beyond ±(2^53−1); int64: 'bigint' reads it exactly`;
  return typeof input === 'number' || typeof input === 'bigint'
    ? 'must be an integer within int64'
    : `must be an integer, not ${typeName(input)}`;
}
