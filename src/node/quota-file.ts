import { chmodSync, closeSync, openSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { ConfigurationError } from '../errors.ts';
import { showValue } from '../options/rules.ts';
import { fieldOf, messageOf } from '../thrown.ts';
import { isForeign, loadSqlite } from './sqlite.ts';

/** Marks the database of a quota store: "PETQ" in ASCII. */
const APPLICATION_ID = 0x50455451;
const VERSION = 1;
/** If another process locks the file for longer, it counts as hung. */
const TIMEOUT_MS = 500;
/** Records that were not used, and not needed, for longer are deleted. */
const UNUSED_AFTER_MS = 25 * 3_600_000;

const SETUP = `
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${VERSION};
  CREATE TABLE IF NOT EXISTS quotas (name TEXT PRIMARY KEY, book TEXT NOT NULL, usedAtMs INTEGER NOT NULL) STRICT, WITHOUT ROWID;
`;

/** What becomes of a record. */
interface Changed<T> {
  record: string;
  /** Until when the record is needed even if nothing uses it, such as while its key is closed. */
  neededUntilMs?: number;
  response: T;
}

/** The records of all keys in one SQLite file, which several processes may use at the same time. */
export class QuotaFile {
  readonly #path: string;
  readonly #database: DatabaseSync;
  #isClosed = false;
  readonly #one: StatementSync;
  readonly #put: StatementSync;
  readonly #dropOld: StatementSync;
  readonly #drop: StatementSync;

  /** Opens or creates the file. @throws ConfigurationError that says what to do */
  constructor(path: string) {
    this.#path = path;
    this.#database = openDatabase(path);
    this.#one = this.#database.prepare('SELECT book FROM quotas WHERE name = ?');
    this.#put = this.#database.prepare('INSERT OR REPLACE INTO quotas VALUES (?, ?, ?)');
    this.#dropOld = this.#database.prepare('DELETE FROM quotas WHERE usedAtMs < ?');
    this.#drop = this.#database.prepare('DELETE FROM quotas WHERE name = ?');
  }

  /** @throws ConfigurationError once the file is closed */
  checkOpen(): void {
    if (this.#isClosed) throw unusable(this.#path, 'it was closed; make another store with fileQuotaStore()');
  }

  /** Deletes a record. @throws ConfigurationError that says what to do */
  forget(name: string): void {
    try {
      this.#drop.run(name);
    } catch (failure) {
      throw explained(this.#path, failure);
    }
  }

  close(): void {
    if (!this.#isClosed) this.#database.close();
    this.#isClosed = true;
  }

  /**
   * Replaces a record by the result of `change`, in one transaction. `change` gets undefined if there is no record.
   * @throws ConfigurationError that says what to do
   */
  change<T>(name: string, nowMs: () => number, change: (record: string | undefined, nowMs: number) => Changed<T>): T {
    this.checkOpen();
    try {
      this.#database.exec('BEGIN IMMEDIATE');
      // Read only now, after the wait for other processes.
      const changedAtMs = nowMs();
      const kept = this.#one.get(name)?.book;
      const { record, neededUntilMs = 0, response } = change(typeof kept === 'string' ? kept : undefined, changedAtMs);
      this.#put.run(name, record, Math.max(changedAtMs, neededUntilMs));
      if (kept === undefined) this.#dropOld.run(changedAtMs - UNUSED_AFTER_MS);
      this.#database.exec('COMMIT');
      return response;
    } catch (failure) {
      this.#rollBack();
      throw explained(this.#path, failure);
    }
  }

  #rollBack(): void {
    try {
      this.#database.exec('ROLLBACK');
    } catch {
      // SQLite has already rolled back, as on a full disk. `isTransaction` would show this, but only from Node 22.16 on.
    }
  }
}

function openDatabase(path: string): DatabaseSync {
  const sqlite = loadSqlite();
  if (!sqlite) throw unusable(path, 'this runtime has no node:sqlite: use Node 22.13 or later');
  // SQLite takes `:memory:` and an address such as `file:quota.db` for something else than the path of a file.
  const file = resolve(path);
  let database: DatabaseSync | undefined;
  try {
    // SQLite would create the file readable to everybody. It gives its companion files the mode of this one. With 'a' alone, opening a named
    // pipe would wait for its reader.
    closeSync(openSync(file, 'a+', 0o600));
    if (!statSync(file).isFile()) throw unusable(path, 'it is not a file');
    database = new sqlite.DatabaseSync(file, { timeout: TIMEOUT_MS });
    // In one transaction, since another process may be creating the file.
    database.exec('BEGIN');
    checkOwner(database, path);
    database.exec('COMMIT');
    useWriteAheadLog(database);
    database.exec('PRAGMA synchronous = NORMAL;');
    database.exec(`BEGIN IMMEDIATE; ${SETUP} COMMIT;`);
    chmodSync(file, 0o600);
    return database;
  } catch (error) {
    database?.close();
    throw explained(path, error);
  }
}

/** How long to sleep before a lock is looked at again. */
const LOOK_AGAIN_MS = 5;

/** Several processes may create the file at once. SQLite does not wait for a lock when the mode changes, so this waits. */
function useWriteAheadLog(database: DatabaseSync): void {
  const untilMs = Date.now() + TIMEOUT_MS;
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (Date.now() >= untilMs || !messageOf(error).includes('locked')) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOOK_AGAIN_MS);
    }
  }
}

function checkOwner(database: DatabaseSync, path: string): void {
  if (isForeign(database, APPLICATION_ID)) throw unusable(path, 'it belongs to another program; name another file');
  const { user_version } = database.prepare('PRAGMA user_version').get() ?? {};
  if (Number(user_version) > VERSION)
    throw unusable(path, 'a newer version of petstore-inventory made it; use that version here too, or name another file');
}

function unusable(path: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`Cannot use ${showValue(path)} as the file of a quota store: ${why}`, { option: 'quotaStore', cause });
}

function explained(path: string, error: unknown): ConfigurationError {
  return error instanceof ConfigurationError ? error : unusable(path, reason(error, path), error);
}

function reason(error: unknown, path: string): string {
  const text = messageOf(error);
  const code = fieldOf(error, 'code');
  if (code === 'ENOENT') return `make the folder ${dirname(path)} first`;
  if (code === 'EISDIR') return 'it is a folder; name a file in it';
  const isRefused = code === 'EACCES' || code === 'EPERM' || text.includes('readonly');
  if (isRefused) return 'it cannot be written; check the permissions of the file and its folder';
  // SQLite hides why it cannot open a file beside this one.
  if (text.includes('unable to open')) return 'check the permissions of its folder, and the limit of open files';
  if (text.includes('not a database')) return 'it is not an SQLite database; name another file';
  if (text.includes('malformed')) return 'it is damaged; delete it';
  if (text.includes('locked')) return `another process locked it for more than ${TIMEOUT_MS} ms; look for a process that hangs`;
  return text;
}
