import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { IdTable } from '../../stock/id-table.ts';
import { IntColumn } from '../../stock/int-column.ts';
import type { WantedEntry } from '../../sync/index.ts';
import { messageOf } from '../../thrown.ts';
import { csvLine } from '../csv-line.ts';
import { counted } from '../duration.ts';
import { cannotOpen, UsageError } from '../usage-error.ts';
import type { BadRow, InputRow } from './wanted-row.ts';

/** What is allowed in an input. */
export interface InputRules {
  /** Most bad rows that are skipped. With more, the input is refused. */
  maxBadRows: number;
  /** The path of the file to which bad rows are written. */
  rejects: string | undefined;
  allowEmpty: boolean;
  /** Whether a second row of the same pet is refused. */
  isUnique: boolean;
}

/** Most bad rows that are kept for a report. */
const KEPT_ROWS = 10_000;
/** Most pets with several rows that a message names, and most rows of each. */
const NAMED_PETS = 5;
const NAMED_ROWS = 10;
/** Bad rows that are written at once. */
const BATCH = 1_000;

/** Checks the rows of an input: passes on the good ones as entries, and collects the bad ones. */
export class InputCheck {
  /** Bad rows; the first 10,000 are kept. */
  readonly rejects: BadRow[] = [];
  readonly #name: string;
  readonly #rules: InputRules;
  readonly #tell: (line: string) => void;
  readonly #ids = new IdTable();
  /** The first row of each pet, and the rows of each pet that has several. */
  readonly #firstRows = new IntColumn();
  readonly #repeated = new Map<number, number[]>();
  #rejected = 0;

  /** `tell` gets a line about the bad rows if no file names them, and one that names the pets with several rows. */
  constructor(name: string, rules: InputRules, tell: (line: string) => void) {
    this.#name = name;
    this.#rules = rules;
    this.#tell = tell;
  }

  /** How many rows were bad. */
  get rejected(): number {
    return this.#rejected;
  }

  /** @throws UsageError if the input breaks the rules; with a rejects file only after the last row, so that all bad rows are written */
  async *entries(rows: AsyncIterable<InputRow>): AsyncGenerator<WantedEntry> {
    const path = this.#rules.rejects;
    let file: RejectsFile | undefined;
    let count = 0;
    try {
      for await (const row of rows) {
        count += 1;
        if (path !== undefined) file ??= await RejectsFile.open(path);
        if (row.entry) yield this.#take(row.entry, row.row);
        else await this.#reject(row, file);
      }
      if (path !== undefined) file ??= await RejectsFile.open(path);
    } finally {
      await file?.close();
    }
    if (count === 0 && !this.#rules.allowEmpty) throw this.#unusable('it has no rows; allow that with --allow-empty');
    if (this.#rejected > this.#rules.maxBadRows) throw this.#tooManyBad(count);
    if (this.#rejected > 0 && path === undefined)
      this.#tell(`petstore: ${this.#name}: ${this.#badOf(count)}; the first is ${this.#firstBad()}; --rejects writes all to a file`);
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
    if (rows === undefined && maxBadRows === 0) return new UsageError(`Cannot use ${this.#name}, ${this.#firstBad()}`);
    const total =
      rows === undefined
        ? `more than ${counted(maxBadRows, 'row')} ${maxBadRows === 1 ? 'is' : 'are'} bad`
        : `${this.#badOf(rows)}, and --max-bad-rows allows ${maxBadRows}`;
    return this.#unusable(`${total}; the first is ${this.#firstBad()}${rejects === undefined ? '' : `; ${rejects} names all`}`);
  }

  #badOf(rows: number): string {
    return `${this.#rejected} of ${counted(rows, 'row')} ${this.#rejected === 1 ? 'is' : 'are'} bad`;
  }

  #firstBad(): string {
    const [first] = this.rejects;
    return `row ${first?.row}: ${first?.reason}`;
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

const { O_WRONLY, O_APPEND, O_CREAT, O_TRUNC, O_NONBLOCK } = constants;

/** A CSV file of bad rows: the row number, the reason, and the text of the row. */
class RejectsFile {
  readonly #path: string;
  readonly #handle: FileHandle;
  #lines = ['row,reason,text\n'];

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
  }

  /** Opens the file, and empties it: first make sure that the input can be read. @throws UsageError */
  static async open(path: string): Promise<RejectsFile> {
    try {
      // A named pipe without a reader fails here. The next open would wait for a reader, and no signal could end that.
      await using _readable = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_NONBLOCK);
      return new RejectsFile(path, await open(path, O_WRONLY | O_APPEND));
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
    if (lines.length === 0) return;
    try {
      await this.#handle.appendFile(lines.join(''));
    } catch (error) {
      throw new Error(`Cannot write --rejects ${this.#path}: ${messageOf(error)}`, { cause: error });
    }
  }
}
