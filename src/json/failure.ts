import type { Int64 } from '../contract/models.ts';
import type { InvalidResponseReason, Problem } from '../errors.ts';

/** Why a document is refused. */
export interface ReadFailure {
  reason: InvalidResponseReason;
  /** One to {@link MAX_PROBLEMS} problems, in the order of the document, or the values in which the schema finds the problems later. */
  problems: Problem[] | BadRows;
}

/** The values from the first bad one on. The schema finds their problems once it is loaded. */
export class BadRows {
  readonly values: readonly unknown[];
  readonly int64: Int64;
  /** The row number of the first value; undefined for a single item. */
  readonly firstRow: number | undefined;

  constructor(values: readonly unknown[], int64: Int64, firstRow?: number) {
    this.values = values;
    this.int64 = int64;
    this.firstRow = firstRow;
  }
}

/** The longest text of one item, in bytes of UTF-8, without surrounding white space. */
export const MAX_ITEM_BYTES = 1_048_576;

/** Most problems of a failure, so that a list of 100,000 bad rows does not become a message of megabytes. */
export const MAX_PROBLEMS = 10;

/** A failure with one problem. */
export function failureAt(path: string, reason: InvalidResponseReason, message: string): ReadFailure {
  return { reason, problems: [{ path, message }] };
}

/** The failure of an item that is longer than {@link MAX_ITEM_BYTES}. */
export function itemTooLarge(path: string): ReadFailure {
  return failureAt(path, 'too-large', `is longer than ${MAX_ITEM_BYTES} bytes`);
}

/** The failure of a text that is not JSON. A parser's own message is not used, since it would quote the text. */
export function notJson(path: string): ReadFailure {
  return failureAt(path, 'invalid-json', 'is not valid JSON');
}

/** The failure of a whole text that is not JSON. */
export function notJsonText(text: string): ReadFailure {
  return text.trim() === '' ? failureAt('', 'invalid-json', 'is empty') : notJson('');
}
