import * as z from 'zod/mini';
import type { Int64, InventoryItem } from '../contract/models.ts';
import { isSafeInteger, petIdSchema, type ReadPetId, readPetId, withoutMinusZero } from './pet-id.ts';
import { typeName } from './type-name.ts';

export type ItemSchemas = { readonly [Ids in Int64]: z.ZodMiniType<InventoryItem<Ids>> };

const quantity = z
  .number({ error: expected('an integer') })
  .check(z.refine(isSafeInteger, 'must be an integer within ±(2^53−1)'), z.overwrite(withoutMinusZero));
const status = z.string({ error: expected('a string') });
const error = expected('an object');

/** What an item must be, in zod's words: it is asked about the values that {@link readItem} does not know to be good. */
export const itemSchema: ItemSchemas = {
  number: z.object({ petId: petIdSchema.number, quantity, status }, { error }),
  bigint: z.object({ petId: petIdSchema.bigint, quantity, status }, { error }),
};

/**
 * The hand-written way for good items, which are nearly all; undefined for any other value.
 *
 * Takes the value of `JSON.parse`, in which an id beyond ±(2^53−1) was restored as a `bigint`. Results are built field by field:
 * unknown fields are dropped, `__proto__` is a name like any other.
 */
export function readItem<Ids extends Int64>(value: unknown, int64: Ids): InventoryItem<Ids> | undefined {
  if (!isRecord(value)) return undefined;
  const readId: ReadPetId<Ids> = readPetId[int64];
  const petId = readId(value.petId);
  const { quantity, status } = value;
  if (petId === undefined || !isSafeInteger(quantity) || typeof status !== 'string') return undefined;
  return { petId, quantity: withoutMinusZero(quantity), status };
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function expected(what: string): (issue: { input?: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is missing' : `must be ${what}, not ${typeName(input)}`);
}
