/** The version of journals that are begun now. Version 1 has neither `undoes` nor `undo`. */
export const JOURNAL_VERSION = 2;

/** One record as a line without its end. */
export function writeRecord(record: object): string {
  return JSON.stringify(record, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
