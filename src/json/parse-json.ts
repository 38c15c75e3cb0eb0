import { isRecord } from './item.ts';
import { isUnsafe, LongIntegers } from './long-integers.ts';

/** What {@link parseJson} gives for a text that is no JSON; no JSON value is `undefined`. */
export const NOT_JSON = undefined;

/** Parses a text (RFC 8259); {@link NOT_JSON} where it is none, or nested deeper than this runtime can read. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

/** Tells whether this is an item whose id `JSON.parse` may have rounded. */
export function hasLongId(item: unknown): boolean {
  return isRecord(item) && isUnsafe(item.petId);
}

/** The items of a text that {@link parseJson} has accepted, with every id beyond ±(2^53−1) as an exact `bigint`. */
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
