import { isRecord } from './item.ts';
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

/** Whether `JSON.parse` may have rounded the id of an item. */
export function hasLongId(item: unknown): boolean {
  return isRecord(item) && isUnsafe(item.petId);
}

/** Parses a text that {@link parseJson} has accepted, with each id beyond ±(2^53−1) as an exact `bigint`. */
export function parseWithLongIds(validJson: string): unknown {
  const integers = new LongIntegers(validJson);
  const value = parseJson(integers.text);
  for (const item of Array.isArray(value) ? value : [value]) restoreId(item, integers);
  return value;
}

function restoreId(item: unknown, integers: LongIntegers): void {
  if (!isRecord(item)) return;
  const exact = integers.exact(item.petId);
  if (exact !== undefined) item.petId = exact;
}
