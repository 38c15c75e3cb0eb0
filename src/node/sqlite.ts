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
