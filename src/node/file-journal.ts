import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Journal, JournalError } from '../sync/journal.ts';
import { journalLines } from './journal-lines.ts';

/**
 * A journal in a file, to be given to `syncInventory`. Lines are only ever added, and are on the disk when `append` resolves.
 *
 * Appends that meet while the disk is busy share one flush. Two processes on one file are told apart by its length: the one
 * that finds foreign lines stops before it sends anything for its own.
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
    const { handle, isRegular } = await this.#open();
    if (isRegular) yield* journalLines(handle, this.name);
  }

  append(lines: readonly string[]): Promise<void> {
    const batch = this.#waiting ?? this.#newBatch();
    batch.text += lines.map((line) => `${line}\n`).join('');
    return batch.flushed;
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    this.#wasMissing = false;
    await this.#lastFlush.catch(() => {});
    const file = await opened?.catch(() => undefined);
    await file?.handle.close();
  }

  /** Begins to be flushed when the flush before it has ended. After one that failed nothing more is written. */
  #newBatch(): Batch {
    const flushed = this.#lastFlush.then(() => this.#flush());
    const batch = { text: '', flushed };
    this.#waiting = batch;
    this.#lastFlush = flushed;
    return batch;
  }

  async #flush(): Promise<void> {
    const file = await this.#open();
    const text = this.#waiting?.text ?? '';
    this.#waiting = undefined;
    await file.append(text);
  }

  #open(): Promise<OpenFile> {
    this.#opened ??= OpenFile.at(this.name, { isNew: this.#wasMissing });
    return this.#opened;
  }
}

const { O_RDWR, O_APPEND, O_CREAT } = constants;

/** The file while a job uses it. */
class OpenFile {
  readonly handle: FileHandle;
  readonly isRegular: boolean;
  readonly #path: string;
  /** What the file holds if nobody else writes. */
  #length: number;
  #endsInLine = true;

  private constructor(path: string, handle: FileHandle, found: { isRegular: boolean; length: number }) {
    this.#path = path;
    this.handle = handle;
    this.isRegular = found.isRegular;
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
      await handle?.close();
      throw journalError(`Cannot open journal ${path}`, error);
    }
  }

  async append(text: string): Promise<void> {
    // After a torn line a new one begins; the torn one stays for whoever wants to look.
    const written = this.#endsInLine ? text : `\n${text}`;
    try {
      await this.handle.appendFile(written);
      if (this.isRegular) await this.handle.datasync();
    } catch (error) {
      throw journalError(`Cannot write journal ${this.#path}`, error);
    }
    this.#endsInLine = true;
    this.#length += Buffer.byteLength(written);
    await this.#checkLength();
  }

  async #checkLength(): Promise<void> {
    if (!this.isRegular) throw new JournalError(`Cannot keep journal ${this.#path}: it is no file`, { code: 'journal_no_file' });
    const { size } = await this.handle.stat();
    if (size === this.#length) return;
    throw new JournalError(`Cannot go on with journal ${this.#path}: another process has written to it`, { code: 'journal_busy' });
  }
}

/** Whether only the file is missing, and not its folder. */
async function isMissing(path: string): Promise<boolean> {
  const there = (place: string) =>
    stat(place).then(
      () => true,
      (error: unknown) => !(error instanceof Error && Reflect.get(error, 'code') === 'ENOENT'),
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
  const { code, message } =
    cause instanceof Error ? { code: Reflect.get(cause, 'code'), message: cause.message } : { code: undefined, message: String(cause) };
  return new JournalError(`${what}: ${code === 'ENOENT' ? 'make its folder first' : message}`, {
    cause,
    ...(typeof code === 'string' && { code }),
  });
}
