import { type FileHandle, open } from 'node:fs/promises';
import { IdTable } from '../../stock/id-table.ts';
import { IntColumn } from '../../stock/int-column.ts';
import type { WantedEntry } from '../../sync/index.ts';
import { counted } from '../duration.ts';
import { cannotOpen, UsageError } from '../usage-error.ts';
import { csvLine } from './csv-rows.ts';
import type { BadRow, InputRow } from './wanted-row.ts';

/** What an input may be like. */
export interface InputRules {
  /** Bad rows that are passed over. */
  maxBadRows: number;
  /** The file that every bad row is written to. */
  rejects: string | undefined;
  allowEmpty: boolean;
  /** A pet may have one row only. */
  isUnique: boolean;
}

/** Bad rows that are kept for a report, and pets with several rows that are named. */
const KEPT_ROWS = 10_000;
const NAMED_PETS = 5;
const NAMED_ROWS = 10;
/** Rejects that are written at once. */
const BATCH = 1_000;

/** Gives the entries of an input's rows, and keeps what is wrong with it. */
export class InputCheck {
  /** Bad rows; the first 10,000 are kept. */
  readonly rejects: BadRow[] = [];
  readonly #name: string;
  readonly #rules: InputRules;
  readonly #tell: (line: string) => void;
  readonly #ids = new IdTable();
  /** The row of each pet, and all rows of those that have several. */
  readonly #firstRows = new IntColumn();
  readonly #repeated = new Map<number, number[]>();
  #rejected = 0;

  /** `tell` is told once of pets that have several rows. */
  constructor(name: string, rules: InputRules, tell: (line: string) => void) {
    this.#name = name;
    this.#rules = rules;
    this.#tell = tell;
  }

  /** How many rows were bad. */
  get rejected(): number {
    return this.#rejected;
  }

  /** @throws UsageError when the input does not follow the rules; with a file for rejects only after its last row */
  async *entries(rows: AsyncIterable<InputRow>): AsyncGenerator<WantedEntry> {
    const file = this.#rules.rejects === undefined ? undefined : await RejectsFile.create(this.#rules.rejects);
    let count = 0;
    try {
      for await (const row of rows) {
        count += 1;
        if (row.entry) yield this.#take(row.entry, row.row);
        else await this.#reject(row, file);
      }
    } finally {
      await file?.close();
    }
    if (count === 0 && !this.#rules.allowEmpty) throw this.#unusable('it has no rows; allow that with --allow-empty');
    if (this.#rejected > this.#rules.maxBadRows) throw this.#tooManyBad(count);
    if (this.#repeated.size > 0) this.#endRepeated();
  }

  #endRepeated(): void {
    const repeated = this.#describeRepeated();
    if (this.#rules.isUnique) throw this.#unusable(repeated);
    this.#tell(
      `petstore: ${this.#name}: ${repeated}; a quantity replaces the rows before it, adjustments add up; --unique refuses such rows`,
    );
  }

  #take(entry: WantedEntry, row: number): WantedEntry {
    const known = this.#ids.size;
    const index = this.#ids.take(entry.petId);
    if (index === known) this.#firstRows.set(index, row);
    else this.#repeat(index, row);
    return entry;
  }

  #repeat(index: number, row: number): void {
    const rows = this.#repeated.get(index);
    if (!rows) this.#repeated.set(index, [this.#firstRows.get(index), row]);
    else if (rows.length <= NAMED_ROWS) rows.push(row);
  }

  async #reject(row: BadRow, file: RejectsFile | undefined): Promise<void> {
    this.#rejected += 1;
    if (this.rejects.length < KEPT_ROWS) this.rejects.push(row);
    await file?.write(row);
    if (!file && this.#rejected > this.#rules.maxBadRows) throw this.#tooManyBad(undefined);
  }

  #tooManyBad(rows: number | undefined): UsageError {
    const { maxBadRows, rejects } = this.#rules;
    const first = this.rejects[0];
    const why = `row ${first?.row}: ${first?.reason}`;
    if (rows === undefined && maxBadRows === 0) return new UsageError(`Cannot use ${this.#name}, ${why}`);
    const total =
      rows === undefined
        ? `more than ${maxBadRows} rows are bad`
        : `${this.#rejected} of ${counted(rows, 'row')} are bad, and --max-bad-rows allows ${maxBadRows}`;
    return this.#unusable(`${total}; the first is ${why}${rejects === undefined ? '' : `; ${rejects} names all`}`);
  }

  #describeRepeated(): string {
    const named = [...this.#repeated].slice(0, NAMED_PETS).map(([index, rows]) => {
      const shown = rows.slice(0, NAMED_ROWS).join(', ');
      return `pet ${this.#ids.idOf(index)} (rows ${shown}${rows.length > NAMED_ROWS ? ' and more' : ''})`;
    });
    const more = this.#repeated.size > NAMED_PETS ? ` and ${this.#repeated.size - NAMED_PETS} more` : '';
    return `${counted(this.#repeated.size, 'pet')} ${this.#repeated.size === 1 ? 'has' : 'have'} several rows: ${named.join(', ')}${more}`;
  }

  #unusable(reason: string): UsageError {
    return new UsageError(`Cannot use ${this.#name}: ${reason}`);
  }
}

/** Bad rows as CSV: where each stood, why it is bad, and how it was written. */
class RejectsFile {
  readonly #handle: FileHandle;
  #lines: string[] = ['row,reason,text\n'];

  private constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Makes the file, or empties it. @throws UsageError */
  static async create(path: string): Promise<RejectsFile> {
    try {
      return new RejectsFile(await open(path, 'w'));
    } catch (error) {
      throw cannotOpen('--rejects', { path, error });
    }
  }

  async write({ row, reason, text }: BadRow): Promise<void> {
    this.#lines.push(`${csvLine([String(row), reason, text])}\n`);
    if (this.#lines.length >= BATCH) await this.#flush();
  }

  async close(): Promise<void> {
    try {
      await this.#flush();
    } finally {
      await this.#handle.close();
    }
  }

  async #flush(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    await this.#handle.appendFile(lines.join(''));
  }
}
