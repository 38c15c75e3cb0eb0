type Sqlite = typeof import('node:sqlite');

/**
 * Node's SQLite, without Node 22's warning that it is experimental: a user of the store can do nothing about it. Undefined where the
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
