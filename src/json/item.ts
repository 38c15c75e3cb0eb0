import type { Int64, InventoryItem } from '../contract/models.ts';
import { isRecord } from '../thrown.ts';
import { isSafeInteger, type ReadPetId, readPetId, withoutMinusZero } from './pet-id.ts';

/**
 * Checks an item without the schema. Returns undefined for any value that is not known to be good; the schema then finds its problems.
 *
 * `value` comes from `JSON.parse`, with an id beyond ±(2^53−1) restored as a `bigint`. The result is built field by field, so that unknown
 * fields, such as `__proto__`, are dropped.
 */
export function readItem<Ids extends Int64>(value: unknown, int64: Ids): InventoryItem<Ids> | undefined {
  if (!isRecord(value)) return undefined;
  const readId: ReadPetId<Ids> = readPetId[int64];
  const petId = readId(value.petId);
  const { quantity, status } = value;
  if (petId === undefined || !isSafeInteger(quantity) || typeof status !== 'string') return undefined;
  return { petId, quantity: withoutMinusZero(quantity), status };
}
