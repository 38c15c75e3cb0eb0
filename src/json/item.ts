import type { Int64, InventoryItem } from '../contract/models.ts';
import { isSafeInteger, type ReadPetId, readPetId, withoutMinusZero } from './pet-id.ts';

/**
 * The hand-written way for good items, which are nearly all; undefined for any other value, which is left to the schema.
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
