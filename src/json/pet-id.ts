import * as z from 'zod/mini';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { typeName } from './type-name.ts';

/** How an id comes out under the option `int64`. */
export type ItemId<Ids extends Int64> = InventoryItem<Ids>['petId'];

/** Takes a JSON integer, a `bigint` where a double would have rounded it; `undefined` where it cannot be an id. */
export type ReadPetId<Ids extends Int64> = (value: unknown) => ItemId<Ids> | undefined;

export const readPetId: { readonly [Ids in Int64]: ReadPetId<Ids> } = { number: readNumber, bigint: readBigInt };

/** The same rules as {@link readPetId} for zod, which tells what is wrong. */
export const petIdSchema = {
  number: z.pipe(z.custom<number>(isSafeInteger, { error: describeProblem }), z.transform(withoutMinusZero)),
  bigint: z.pipe(z.custom<number | bigint>(isExactInt64, { error: describeProblem }), z.transform(toBigInt)),
};

export function isSafeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** -0 is written `-0` in JSON and means nothing else than 0. */
export function withoutMinusZero(value: number): number {
  return value + 0;
}

function readNumber(value: unknown): number | undefined {
  return isSafeInteger(value) ? withoutMinusZero(value) : undefined;
}

function readBigInt(value: unknown): bigint | undefined {
  return isExactInt64(value) ? toBigInt(value) : undefined;
}

function toBigInt(value: number | bigint): bigint {
  return BigInt(value);
}

function isExactInt64(value: unknown): value is number | bigint {
  return typeof value === 'bigint' ? isInt64(value) : isSafeInteger(value);
}

function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value;
}

function describeProblem({ input }: { input?: unknown }): string {
  if (input === undefined) return 'is missing';
  if (typeof input === 'bigint' && isInt64(input)) return `is ${input}, beyond ±(2^53−1); int64: 'bigint' reads it exactly`;
  return typeof input === 'number' || typeof input === 'bigint'
    ? 'must be an integer within int64'
    : `must be an integer, not ${typeName(input)}`;
}
