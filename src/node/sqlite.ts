type Sqlite = typeof import('node:sqlite');

/** Node's SQLite, without Node 22's warning that it is experimental: whoever keeps a file can do nothing about it. Undefined where there is none. */
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
