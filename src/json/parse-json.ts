import { isRecord } from '../thrown.ts';
import { isUnsafe, LongIntegers } from './long-integers.ts';

/** The result of {@link parseJson} for a text that is not JSON; no JSON value is `undefined`. */
export const NOT_JSON = undefined;

/** Parses a text (RFC 8259); {@link NOT_JSON} if it is not JSON, or nested too deeply for this runtime. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

/** Whether `JSON.parse` may have rounded the id of an item that was written in digits alone. */
export function hasLongId(item: unknown): boolean {
  return isRecord(item) && isUnsafe(item.petId);
}

/**
 * Parses a text that {@link parseJson} has accepted. Each id beyond ±(2^53−1) is an exact `bigint`; an id or quantity that is no integer
 * stays none, even if a double rounds it to one.
 */
export function parseExactly(validJson: string): unknown {
  const integers = new LongIntegers(validJson);
  const value = parseJson(integers.text);
  for (const item of Array.isArray(value) ? value : [value]) restoreIntegers(item, integers);
  return value;
}

function restoreIntegers(item: unknown, integers: LongIntegers): void {
  if (!isRecord(item)) return;
  const [petId, quantity] = [integers.exact(item.petId), integers.exact(item.quantity)];
  if (petId !== undefined) item.petId = isUnsafe(Number(petId)) ? petId : Number(petId);
  if (quantity !== undefined) item.quantity = Number(quantity);
}
