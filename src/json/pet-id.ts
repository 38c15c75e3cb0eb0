import type { Int64, InventoryItem } from '../contract/models.ts';
import { isPetId } from '../contract/pet-id.ts';

/** The type of an id under the option `int64`. */
export type ItemId<Ids extends Int64> = InventoryItem<Ids>['petId'];

/** Reads an id from a JSON integer, which is a `bigint` if a double would have rounded it; `undefined` if it cannot be an id. */
export type ReadPetId<Ids extends Int64> = (value: unknown) => ItemId<Ids> | undefined;

export const readPetId: { readonly [Ids in Int64]: ReadPetId<Ids> } = { number: readNumber, bigint: readBigInt };

export function isSafeInteger(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Turns -0, which JSON writes `-0`, into 0. */
export function withoutMinusZero(value: number): number {
  return value + 0;
}

function readNumber(value: unknown): number | undefined {
  return isSafeInteger(value) ? withoutMinusZero(value) : undefined;
}

function readBigInt(value: unknown): bigint | undefined {
  return isPetId(value) ? BigInt(value) : undefined;
}
