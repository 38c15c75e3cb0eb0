import * as z from 'zod/mini';
import { INVALID, withParser } from 'zod/v4/core';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { isSafeInteger, petIdSchema, type ReadPetId, readPetId, withoutMinusZero } from './pet-id.ts';
import { typeName } from './type-name.ts';

export type ItemSchemas = { readonly [Ids in Int64]: z.ZodMiniType<InventoryItem<Ids>> };

const quantity = z
  .number({ error: expected('an integer') })
  .check(z.refine(isSafeInteger, 'must be an integer within ±(2^53−1)'), z.overwrite(withoutMinusZero));
const status = z.string({ error: expected('a string') });
const error = expected('an object');

/** What an item must be, in zod's words alone. */
export const plainItemSchema: ItemSchemas = {
  number: z.object({ petId: petIdSchema.number, quantity, status }, { error }),
  bigint: z.object({ petId: petIdSchema.bigint, quantity, status }, { error }),
};

/**
 * The same schema with a hand-written way for good items; zod is asked only about the others.
 *
 * Takes the value of `JSON.parse`, in which an id beyond ±(2^53−1) was restored as a `bigint`. Results are built field by field:
 * unknown fields are dropped, `__proto__` is a name like any other.
 */
export const itemSchema: ItemSchemas = {
  number: withParser(plainItemSchema.number, (value) => readItem(value, readPetId.number)),
  bigint: withParser(plainItemSchema.bigint, (value) => readItem(value, readPetId.bigint)),
};

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readItem<Ids extends Int64>(value: unknown, readId: ReadPetId<Ids>): InventoryItem<Ids> | typeof INVALID {
  if (!isRecord(value)) return INVALID;
  const petId = readId(value.petId);
  const { quantity, status } = value;
  if (petId === undefined || !isSafeInteger(quantity) || typeof status !== 'string') return INVALID;
  return { petId, quantity: withoutMinusZero(quantity), status };
}

function expected(what: string): (issue: { input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is missing' : `must be ${what}, not ${typeName(input)}`);
}
