import type { Journal } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';

/** Most lines that `recordAll` keeps before it appends them, so that the text of a whole job is never in memory. */
const BATCH = 1000;

/**
 * Writes a job's records. Only an intent must be on disk before the run continues. Other records are written with the next intent: if one
 * is lost, it only leaves a doubtful update, which the next list settles.
 */
export class JobLog {
  readonly #journal: Journal | undefined;
  #noted: string[] = [];

  constructor(journal: Journal | undefined) {
    this.#journal = journal;
  }

  /** Keeps a record to be written with the next intent. */
  note(record: JournalRecord): void {
    if (this.#journal) this.#noted.push(lineOf(record));
  }

  /** Resolves when the record and all earlier ones are on disk. */
  async record(record: JournalRecord): Promise<void> {
    this.note(record);
    await this.flush();
  }

  /** Like `record`, for any number of records. */
  async recordAll(records: Iterable<JournalRecord>): Promise<void> {
    for (const record of records) {
      this.note(record);
      if (this.#noted.length >= BATCH) await this.flush();
    }
    await this.flush();
  }

  async flush(): Promise<void> {
    const lines = this.#noted;
    this.#noted = [];
    if (lines.length > 0) await this.#journal?.append(lines);
  }
}

function lineOf(record: JournalRecord): string {
  return JSON.stringify(record, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
