import type { Int64 } from '../contract/models.ts';

/** What is wrong at one place of a document. */
export interface Problem {
  /** `[3].quantity` in a list, `quantity` in a single item, `[3]` for a row as a whole, empty for the document. */
  path: string;
  /** A predicate without its subject, such as `must be an integer, not a string`; quotes no text of the document but numbers. */
  message: string;
}

/**
 * Why a document is refused: not JSON (RFC 8259), not UTF-8, not what the contract promises, or an item beyond {@link MAX_ITEM_BYTES}.
 */
export type FailureReason = 'invalid-json' | 'invalid-utf8' | 'schema' | 'too-large';

export interface ReadFailure {
  ok: false;
  reason: FailureReason;
  /** At least one, at most {@link MAX_PROBLEMS}, in the order of the document; of values that do not match, what the schema says of them. */
  problems: Problem[] | BadRows;
}

/** Values that do not match, from the first bad one on: the schema says why, once it is loaded. */
export class BadRows {
  readonly values: readonly unknown[];
  readonly int64: Int64;
  /** The row number of the first value; undefined for an item that stands alone. */
  readonly firstRow: number | undefined;

  constructor(values: readonly unknown[], int64: Int64, firstRow?: number) {
    this.values = values;
    this.int64 = int64;
    this.firstRow = firstRow;
  }
}

/** Longest text of one item, in bytes of UTF-8 without the white space around it. */
export const MAX_ITEM_BYTES = 1_048_576;

/** A list of 100,000 bad rows must not become a message of megabytes. */
export const MAX_PROBLEMS = 10;

/** A failure with one problem. */
export function failureAt(path: string, reason: FailureReason, message: string): ReadFailure {
  return { ok: false, reason, problems: [{ path, message }] };
}

/** The failure of an item that is longer than {@link MAX_ITEM_BYTES}. */
export function itemTooLarge(path: string): ReadFailure {
  return failureAt(path, 'too-large', `is longer than ${MAX_ITEM_BYTES} bytes`);
}

/** The failure of a text that is no JSON; a parser's own message would quote the text. */
export function notJson(path: string): ReadFailure {
  return failureAt(path, 'invalid-json', 'is not valid JSON');
}

/** The failure of a whole text that is no JSON. */
export function notJsonText(text: string): ReadFailure {
  return text.trim() === '' ? failureAt('', 'invalid-json', 'is empty') : notJson('');
}
