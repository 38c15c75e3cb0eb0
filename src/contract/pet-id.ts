/** The bounds of int64, the type of a petId (specification, InventoryItem). */
export const MIN_INT64 = -(2n ** 63n);
export const MAX_INT64 = 2n ** 63n - 1n;

export function isInt64(value: bigint): boolean {
  return value >= MIN_INT64 && value <= MAX_INT64;
}

/** Whether a value may be the id of a pet: a number beyond ±(2^53−1) may have been rounded before it got here. */
export function isPetId(value: unknown): value is number | bigint {
  return typeof value === 'bigint' ? isInt64(value) : Number.isSafeInteger(value);
}
