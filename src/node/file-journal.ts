import type { Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname, parse, resolve } from 'node:path';
import { badOption } from '../options/rules.ts';
import { busy } from '../sync/busy.ts';
import { type Journal, JournalError } from '../sync/journal.ts';
import { fieldOf, messageOf, textOf } from '../thrown.ts';
import { journalLines } from './journal-lines.ts';

/**
 * A journal in a file, for `syncInventory`. Lines are only ever appended, and are on disk when `append` resolves.
 *
 * Appends that arrive while the disk is busy share one flush. If two processes use the same file, each compares the file's length with its
 * own lines; a process that finds lines of another one stops before it sends the updates of its last lines. Of two jobs of one process, the
 * second one is refused.
 *
 * The journal of an undo is a file beside it, with `.undo` after its name.
 *
 * @param path The first `append` creates the file; its folder has to exist. Name it after the job, such as `restock-2026-11-21.journal`.
 * @throws ConfigurationError if `path` is not the path of a file; JournalError from `read` and `append`; the contents of the file are left unchanged.
 * @example
 * const journal = fileJournal(`night-${new Date().toISOString().slice(0, 10)}.journal`);
 * const report = await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal });
 * console.log(report.updated); // → 1
 */
export function fileJournal(path: string): Journal {
  if (typeof path !== 'string' || path === '') throw badOption('path', 'the path of a file', { shown: path });
  return new FileJournal(path);
}

/** Lines that wait for the next flush, and the promise of that flush. */
interface Batch {
  text: string;
  flushed: Promise<void>;
}

class FileJournal implements Journal {
  readonly name: string;
  #opened: Promise<OpenFile> | undefined;
  /** Reading found no file, so lines that are in it when it is opened belong to another process. */
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

  /** Closes the file after the flush of all lines so far. Lines that are appended later, even before it is closed, open the file again. */
  async close(): Promise<void> {
    const closed = this.#lastFlush.catch(() => {}).then(() => this.#release());
    this.#waiting = undefined;
    this.#lastFlush = closed.catch(() => {});
    await closed;
  }

  /** Makes a batch that is flushed after the one before it. After a failed flush, nothing is written until the journal is closed. */
  #newBatch(): Batch {
    const batch: Batch = { text: '', flushed: this.#lastFlush.then(() => this.#flush(batch)) };
    this.#lastFlush = batch.flushed;
    return batch;
  }

  async #flush(batch: Batch): Promise<void> {
    const file = await this.#open();
    this.#waiting = undefined;
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

/** The files to which journals of this process are writing. */
const writers = new Map<string, OpenFile>();

/** The opened file. */
class OpenFile {
  readonly #handle: FileHandle;
  readonly #isRegular: boolean;
  readonly #path: string;
  /** By which the journals of this process that write to one file find each other. */
  readonly #place: string;
  /** The path, also after the working folder has changed. Not shortened by `resolve`, since a `..` leaves the folder to which a link points. */
  readonly #absolute: string;
  /** The length of the file in bytes if no other process writes to it. */
  #length: number;
  #endsInLine = true;
  /** Why the file may only be read, which suffices for the journal of a finished job. */
  #refusal: unknown;

  private constructor(path: string, handle: FileHandle, found: Stats) {
    this.#path = path;
    this.#place = resolve(path);
    this.#absolute = parse(path).root === '' ? `${resolve()}/${path}` : path;
    this.#handle = handle;
    this.#isRegular = found.isFile();
    this.#length = found.size;
  }

  static async at(path: string, { isNew }: { isNew: boolean }): Promise<OpenFile> {
    let handle: FileHandle | undefined;
    try {
      let refusal: unknown;
      handle = await open(path, 'a+', 0o600).catch((error): Promise<FileHandle> => {
        refusal = error;
        return open(path, 'r').catch(() => Promise.reject(error));
      });
      const found = await handle.stat();
      const file = new OpenFile(path, handle, found);
      file.#refusal = refusal;
      if (isNew) file.#length = 0;
      if (found.size > 0) file.#endsInLine = await endsInLine(handle, found.size);
      else await flushFolder(path);
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

  /** Compares the length before, so that no line is written below those of another job, and after, since both may write at once. */
  async append(text: string): Promise<void> {
    if (this.#refusal) throw journalError(`Cannot open journal ${this.#path}`, this.#refusal);
    this.#claim();
    await this.#checkLength();
    // A torn line stays in the file, and a new line begins after it.
    const written = this.#endsInLine ? text : `\n${text}`;
    await this.#use((handle) => this.#flush(handle, written));
    if (!this.#isRegular) throw new JournalError(`Cannot keep journal ${this.#path}: it is not a file`, { code: 'journal_no_file' });
    this.#endsInLine = true;
    this.#length += Buffer.byteLength(written);
    await this.#checkLength();
  }

  /** @throws JournalError if another journal of this process writes to the file */
  #claim(): void {
    const writer = writers.get(this.#place) ?? this;
    if (writer !== this) throw busy(`journal ${this.#path}`);
    writers.set(this.#place, this);
  }

  /** @throws JournalError if another process has written to the file that has the journal's name, or has cut, removed or moved it */
  async #checkLength(): Promise<void> {
    const size = await this.#use(() => sizeOf(this.#absolute));
    if (size === this.#length) return;
    if (size !== undefined && size > this.#length)
      throw this.#cannotContinue('journal_busy', 'another process has written to it; wait for its end');
    const what = size === undefined ? 'removed or moved' : 'cut';
    throw this.#cannotContinue('journal_removed', `its file was ${what}: without what it held, a new run applies its adjustments again`);
  }

  #cannotContinue(code: string, why: string): JournalError {
    return new JournalError(`Cannot continue with journal ${this.#path}: ${why}`, { code });
  }

  async close(): Promise<void> {
    if (writers.get(this.#place) === this) writers.delete(this.#place);
    try {
      await this.#handle.close();
    } catch (error) {
      throw journalError(`Cannot close journal ${this.#path}`, error);
    }
  }

  async #flush(handle: FileHandle, text: string): Promise<void> {
    await handle.appendFile(text);
    if (this.#isRegular) await handle.datasync();
  }

  async #use<T>(use: (handle: FileHandle) => Promise<T>): Promise<T> {
    try {
      return await use(this.#handle);
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

/** The length of a file in bytes; undefined if there is none. */
async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (fieldOf(error, 'code') === 'ENOENT') return undefined;
    throw error;
  }
}

async function endsInLine(handle: FileHandle, length: number): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, length - 1);
  return buffer[0] === 0x0a;
}

/** Codes of a folder that may not be read, and of a file system that cannot flush one. */
const CANNOT_FLUSH: ReadonlySet<unknown> = new Set(['EACCES', 'EPERM', 'EINVAL', 'EBADF', 'ENOTSUP']);

/** Writes the name of a new file to disk, where that can be done. Windows cannot open folders, and does this by itself. */
async function flushFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  let folder: FileHandle | undefined;
  try {
    folder = await open(dirname(path));
    await folder.sync();
  } catch (error) {
    if (!CANNOT_FLUSH.has(fieldOf(error, 'code'))) throw error;
  } finally {
    await folder?.close();
  }
}

function journalError(what: string, cause: unknown): JournalError {
  const code = textOf(cause, 'code');
  const advice = code === 'ENOENT' ? 'make its folder first' : code === 'EISDIR' ? 'it is a folder; name a file in it' : undefined;
  const why = advice ?? messageOf(cause);
  return new JournalError(`${what}: ${why}`, { cause, ...(code !== undefined && { code }) });
}
