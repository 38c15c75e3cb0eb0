/** The version of new journals. Version 1 has neither `undoes` nor `undo`. */
export const JOURNAL_VERSION = 2;

/** Writes a record as one line, without a line break. */
export function writeRecord(record: object): string {
  return JSON.stringify(record, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
