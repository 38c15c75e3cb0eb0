import type { DatabaseSync } from 'node:sqlite';

type Sqlite = typeof import('node:sqlite');

/**
 * Loads Node's SQLite without Node 22's warning that it is experimental, since users of the store cannot change that. Undefined if the
 * runtime has no SQLite.
 */
export function loadSqlite(): Sqlite | undefined {
  const { emitWarning } = process;
  process.emitWarning = (...warning: unknown[]) => {
    if (!String(warning[0]).startsWith('SQLite is an experimental')) Reflect.apply(emitWarning, process, warning);
  };
  try {
    return process.getBuiltinModule?.('node:sqlite');
  } finally {
    process.emitWarning = emitWarning;
  }
}

/** Whether a database is another program's: it has tables, or a mark, but not the mark of its kind. */
export function isForeign(database: DatabaseSync, applicationId: number): boolean {
  const id = database.prepare('PRAGMA application_id').get()?.application_id;
  const tables = database.prepare('SELECT count(*) AS tables FROM sqlite_schema').get()?.tables;
  return id !== applicationId && (id !== 0 || tables !== 0);
}
