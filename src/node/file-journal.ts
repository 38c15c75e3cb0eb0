import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Journal, JournalError } from '../sync/journal.ts';
import { fieldOf, messageOf, textOf } from '../thrown.ts';
import { journalLines } from './journal-lines.ts';

/**
 * A journal in a file, to be given to `syncInventory`. Lines are only ever added, and are on the disk when `append` resolves.
 *
 * Appends that meet while the disk is busy share one flush. Two processes on one file are told apart by its length: the one
 * that finds foreign lines stops before it sends anything for its own.
 *
 * An undo of its job is kept beside it, in a file with `.undo` after its name.
 *
 * @param path Made by the first `append` if missing; its folder has to exist. Name it after the job, such as `restock-2026-11-21.journal`.
 * @throws JournalError from `read` and `append`; what the file holds is left as it is.
 * @example
 * const journal = fileJournal(`night-${new Date().toISOString().slice(0, 10)}.journal`);
 * const report = await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal });
 * console.log(report.updated); // → 1
 */
export function fileJournal(path: string): Journal {
  return new FileJournal(path);
}

/** Lines that wait for the next flush, and who waits for them. */
interface Batch {
  text: string;
  flushed: Promise<void>;
}

class FileJournal implements Journal {
  readonly name: string;
  #opened: Promise<OpenFile> | undefined;
  /** Reading found no file: whatever is in it later is foreign. */
  #wasMissing = false;
  #waiting: Batch | undefined;
  #lastFlush: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.name = path;
  }

  async *read(): AsyncGenerator<string> {
    this.#wasMissing = this.#opened === undefined && (await isMissing(this.name));
    if (this.#wasMissing) return;
    yield* (await this.#open()).lines();
  }

  undoJournal(): Journal {
    return new FileJournal(`${this.name}.undo`);
  }

  append(lines: readonly string[]): Promise<void> {
    this.#waiting ??= this.#newBatch();
    this.#waiting.text += lines.map((line) => `${line}\n`).join('');
    return this.#waiting.flushed;
  }

  /** Lets what was appended be flushed first. Lines that come later, also before it is done, are for the file as it is opened again. */
  async close(): Promise<void> {
    const closed = this.#lastFlush.catch(() => {}).then(() => this.#release());
    this.#waiting = undefined;
    this.#lastFlush = closed.catch(() => {});
    await closed;
  }

  /** Begins to be flushed when the flush before it has ended. After one that failed nothing more is written until it is closed. */
  #newBatch(): Batch {
    const batch: Batch = { text: '', flushed: this.#lastFlush.then(() => this.#flush(batch)) };
    this.#lastFlush = batch.flushed;
    return batch;
  }

  async #flush(batch: Batch): Promise<void> {
    const file = await this.#open();
    if (this.#waiting === batch) this.#waiting = undefined;
    await file.append(batch.text);
  }

  async #release(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#wasMissing = false;
    const file = await opened?.catch(() => undefined);
    await file?.close();
  }

  #open(): Promise<OpenFile> {
    this.#opened ??= OpenFile.at(this.name, { isNew: this.#wasMissing });
    return this.#opened;
  }
}

const { O_RDWR, O_APPEND, O_CREAT } = constants;

/** The file while a job uses it. */
class OpenFile {
  readonly #handle: FileHandle;
  readonly #isRegular: boolean;
  readonly #path: string;
  /** What the file holds if nobody else writes. */
  #length: number;
  #endsInLine = true;

  private constructor(path: string, handle: FileHandle, found: { isRegular: boolean; length: number }) {
    this.#path = path;
    this.#handle = handle;
    this.#isRegular = found.isRegular;
    this.#length = found.length;
  }

  static async at(path: string, { isNew }: { isNew: boolean }): Promise<OpenFile> {
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, O_RDWR | O_APPEND | O_CREAT, 0o600);
      const found = await handle.stat();
      const file = new OpenFile(path, handle, { isRegular: found.isFile(), length: isNew ? 0 : found.size });
      if (found.size > 0) file.#endsInLine = await endsInLine(handle, found.size);
      else if (found.isFile()) await flushFolder(path);
      return file;
    } catch (error) {
      await handle?.close().catch(() => {});
      throw journalError(`Cannot open journal ${path}`, error);
    }
  }

  async *lines(): AsyncGenerator<string> {
    try {
      if (this.#isRegular) yield* journalLines(this.#handle, this.#path);
    } catch (error) {
      throw error instanceof JournalError ? error : journalError(`Cannot read journal ${this.#path}`, error);
    }
  }

  async append(text: string): Promise<void> {
    // A new line begins after a torn one, which stays in the file.
    const written = this.#endsInLine ? text : `\n${text}`;
    const size = await this.#flush(written);
    if (!this.#isRegular) throw new JournalError(`Cannot keep journal ${this.#path}: it is not a file`, { code: 'journal_no_file' });
    this.#endsInLine = true;
    this.#length += Buffer.byteLength(written);
    if (size === this.#length) return;
    throw new JournalError(`Cannot continue with journal ${this.#path}: another process has written to it`, { code: 'journal_busy' });
  }

  async close(): Promise<void> {
    try {
      await this.#handle.close();
    } catch (error) {
      throw journalError(`Cannot close journal ${this.#path}`, error);
    }
  }

  /** Gives the size of the file when the text is on the disk. */
  async #flush(text: string): Promise<number> {
    try {
      await this.#handle.appendFile(text);
      if (this.#isRegular) await this.#handle.datasync();
      return (await this.#handle.stat()).size;
    } catch (error) {
      throw journalError(`Cannot write journal ${this.#path}`, error);
    }
  }
}

/** Whether only the file is missing, and not its folder. */
async function isMissing(path: string): Promise<boolean> {
  const there = (place: string) =>
    stat(place).then(
      () => true,
      (error: unknown) => fieldOf(error, 'code') !== 'ENOENT',
    );
  return !(await there(path)) && (await there(dirname(path)));
}

async function endsInLine(handle: FileHandle, length: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, length - 1);
  return buffer[0] === 0x0a;
}

/** A new file's name has to be on the disk too. Windows does not open folders, and keeps names by itself. */
async function flushFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(dirname(path), constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function journalError(what: string, cause: unknown): JournalError {
  const code = textOf(cause, 'code');
  const why = code === 'ENOENT' ? 'make its folder first' : messageOf(cause);
  return new JournalError(`${what}: ${why}`, { cause, ...(code !== undefined && { code }) });
}
