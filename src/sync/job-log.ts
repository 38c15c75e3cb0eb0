import type { Journal } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';
import { writeRecord } from './record-line.ts';

/** Lines that are handed over at once, so that no journal has to hold a job's worth of text. */
const BATCH = 1000;

/**
 * Writes a job's records. Only promises must be on disk before the run goes on. Other records are written with the next promise: a lost
 * one only leaves a doubtful update, which the next list settles.
 */
export class JobLog {
  readonly #journal: Journal | undefined;
  #noted: string[] = [];

  constructor(journal: Journal | undefined) {
    this.#journal = journal;
  }

  note(record: JournalRecord): void {
    if (this.#journal) this.#noted.push(writeRecord(record));
  }

  /** Resolves when the record, and all that was noted before, is safe. */
  async promise(record: JournalRecord): Promise<void> {
    this.note(record);
    await this.flush();
  }

  async noteAll(records: Iterable<JournalRecord>): Promise<void> {
    for (const record of records) {
      this.note(record);
      if (this.#noted.length >= BATCH) await this.flush();
    }
  }

  async flush(): Promise<void> {
    const lines = this.#noted;
    this.#noted = [];
    if (lines.length > 0) await this.#journal?.append(lines);
  }
}
