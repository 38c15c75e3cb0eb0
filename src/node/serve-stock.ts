import { resolve } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { MAX_INT64, MIN_INT64 } from '../contract/pet-id.ts';
import { SandboxError, show } from '../sandbox/sandbox-error.ts';
import type { Stock, StockItem } from '../sandbox/stock.ts';
import { messageOf } from '../thrown.ts';
import { isForeign, loadSqlite } from './sqlite.ts';

/** Marks the database of a sandbox: "PETS" in ASCII. */
const APPLICATION_ID = 0x50455453;
/** Marks a file that was filled, even if all pets were removed since. */
const FILLED = 1;
const ROWS_AT_ONCE = 1_000;

const SETUP = `
  PRAGMA application_id = ${APPLICATION_ID};
  CREATE TABLE IF NOT EXISTS pets (petId INTEGER PRIMARY KEY, quantity INTEGER NOT NULL, status TEXT NOT NULL) STRICT;
`;

/** A stock in an SQLite file, in the order of the ids. Only one process at a time can use the file. */
class SqliteStock implements Stock {
  readonly #database: DatabaseSync;
  readonly #one: StatementSync;
  readonly #page: StatementSync;
  readonly #put: StatementSync;
  readonly #drop: StatementSync;
  #isNew: boolean;
  // Kept here, since counting five million rows takes longer than sending the first of them.
  #size: number;

  constructor(database: DatabaseSync) {
    this.#database = database;
    const prepare = (sql: string) => {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      return statement;
    };
    this.#one = prepare('SELECT petId, quantity, status FROM pets WHERE petId = ?');
    this.#page = prepare(`SELECT petId, quantity, status FROM pets WHERE petId >= ? ORDER BY petId LIMIT ${ROWS_AT_ONCE}`);
    this.#put = prepare(
      'INSERT INTO pets VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET quantity = excluded.quantity, status = excluded.status',
    );
    this.#drop = prepare('DELETE FROM pets WHERE petId = ?');
    this.#size = Number(prepare('SELECT count(*) AS size FROM pets').get()?.size);
    // Files of earlier versions have no mark.
    this.#isNew = this.#size === 0 && prepare('PRAGMA user_version').get()?.user_version !== BigInt(FILLED);
    if (!this.#isNew) this.#mark();
  }

  #mark(): void {
    this.#database.exec(`PRAGMA user_version = ${FILLED};`);
  }

  get isNew(): boolean {
    return this.#isNew;
  }

  get size(): number {
    return this.#size;
  }

  get(petId: bigint): StockItem | undefined {
    const row = this.#one.get(petId);
    return row && toItem(row);
  }

  set(petId: bigint, { quantity, status }: StockItem): void {
    if (this.get(petId) === undefined) this.#size += 1;
    this.#put.run(petId, quantity, status);
  }

  fill(items: Iterable<StockItem>): void {
    this.#database.exec('BEGIN; DELETE FROM pets;');
    this.#size = 0;
    for (const item of items) this.set(item.petId, item);
    this.#mark();
    this.#database.exec('COMMIT;');
    this.#isNew = false;
  }

  delete(petId: bigint): boolean {
    const isGone = Number(this.#drop.run(petId).changes) > 0;
    if (isGone) this.#size -= 1;
    return isGone;
  }

  /** Reads page by page, so that a list can be abandoned, and updates can be made while it is read. */
  *values(): Generator<StockItem, undefined> {
    let fromId = MIN_INT64;
    for (;;) {
      const rows = this.#page.all(fromId).map(toItem);
      yield* rows;
      const last = rows.at(-1);
      if (rows.length < ROWS_AT_ONCE || last === undefined || last.petId === MAX_INT64) return;
      fromId = last.petId + 1n;
    }
  }

  close(): void {
    this.#database.close();
  }
}

function toItem({ petId, quantity, status }: Record<string, unknown>): StockItem {
  return { petId: BigInt(String(petId)), quantity: Number(quantity), status: String(status) };
}

/**
 * Opens or creates the file of a stock.
 * @throws {SandboxError} if the file cannot be opened, is in use, or belongs to another program.
 */
export function openStock(path: string): SqliteStock {
  const sqlite = loadSqlite();
  if (!sqlite) throw new SandboxError(`Cannot use ${show(path)} as \`db\`: this runtime has no node:sqlite; use Node 22.13 or later`);
  let database: DatabaseSync | undefined;
  try {
    // SQLite takes `:memory:` and an address such as `file:stock.db` for something else than the path of a file.
    database = new sqlite.DatabaseSync(resolve(path));
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE; COMMIT;');
    if (isForeign(database, APPLICATION_ID))
      throw new SandboxError(`Cannot use ${show(path)} as \`db\`: it belongs to another program; name another file`);
    database.exec(SETUP);
    return new SqliteStock(database);
  } catch (error) {
    database?.close();
    throw error instanceof SandboxError
      ? error
      : new SandboxError(`Cannot use ${show(path)} as \`db\`: ${reason(error)}`, { cause: error });
  }
}

function reason(error: unknown): string {
  const text = messageOf(error);
  if (text.includes('locked')) return 'another process uses it; end that process or name another file';
  if (text.includes('not a database')) return 'it is not a database; name another file';
  // SQLite hides why it cannot open a file.
  if (text.includes('unable to open')) return 'it cannot be opened; check the folder, the permissions and the limit of open files';
  return text;
}
