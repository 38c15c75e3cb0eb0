import { checkItem } from '../api.ts';
import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import { IdTable } from '../stock/id-table.ts';
import { IntColumn } from '../stock/int-column.ts';
import { StatusTable } from './status-table.ts';

/** An item with an id of either type. */
export type AnyItem = InventoryItem<Int64>;

/** A change of one pet. */
export interface AnyChange {
  before: AnyItem | undefined;
  after: AnyItem | undefined;
}

/** If a table has more statuses, the next list starts a new one, since the old table may hold statuses that no recent list had. */
const MOST_STATUSES_KEPT = 64;
const LARGEST_BYTE = 255;

interface Parts {
  ids: IdTable;
  quantities: IntColumn;
  statuses: IntColumn;
  table: StatusTable;
}

/**
 * The stock of one list in columns: one row for each pet, in the list's order. If the list names a pet twice, its first place and its last
 * values count, as in a Map.
 *
 * As long as a list names the same pets in the same order as the list before it, both share their ids, and the parts of their columns in
 * which nothing changed.
 */
export class StockColumns {
  #ids: IdTable;
  #quantities: IntColumn;
  #statuses: IntColumn;
  readonly #table: StatusTable;
  #size = 0;
  #listed = 0;
  // Whether this list has repeated the ids of the list before it so far.
  #isFollowing: boolean;
  #isLent = false;

  constructor(parts: Parts = { ids: new IdTable(), quantities: new IntColumn(), statuses: new IntColumn(1), table: new StatusTable() }) {
    this.#ids = parts.ids;
    this.#quantities = parts.quantities;
    this.#statuses = parts.statuses;
    this.#table = parts.table;
    this.#isFollowing = parts.ids.size > 0;
  }

  get size(): number {
    return this.#size;
  }

  /** Columns for the next list. They share the rows of these columns, which are therefore copied before each later update. */
  successor(): StockColumns {
    this.lend();
    // Without rows there is nothing to share, and an update that comes meanwhile must not add its pet to both.
    if (this.#size === 0) return new StockColumns();
    const isFull = this.#table.size > MOST_STATUSES_KEPT;
    const table = isFull ? new StatusTable() : this.#table;
    // Of a list that has shrunk a lot, the rows of pets that are gone would otherwise be kept for ever.
    const hasShrunk = this.#size * 2 < this.#ids.size;
    const rowsOf = (column: IntColumn) => (hasShrunk ? column.first(this.#size) : column.fork());
    const ids = hasShrunk ? this.#ids.first(this.#size) : this.#ids;
    return new StockColumns({
      ids,
      quantities: rowsOf(this.#quantities),
      statuses: isFull ? new IntColumn(1) : rowsOf(this.#statuses),
      table,
    });
  }

  /** Adds the next items of a list. @throws InvalidResponseError for what is no item */
  add(items: readonly AnyItem[]): void {
    for (const item of items) checkItem(item, this.#listed++);
    let at = 0;
    while (at < items.length) {
      const end = at + this.#takeRun(items, at);
      while (at < end) at += this.#repeatRun(items, at, end) || this.#writeRun(items, at, end) || this.#writeOne(this.#size++, items[at]);
      const next = items[at];
      if (next) at += this.#writeOne(this.#rowFor(next.petId), next);
    }
  }

  /** The row of a pet; undefined if it has none. */
  rowOf(petId: PetId): number | undefined {
    const row = this.#ids.rowOf(petId);
    return row === undefined || row >= this.#size ? undefined : row;
  }

  /** The item of a row; its id is a number if that is exact. */
  itemAt(row: number): AnyItem {
    const status = this.#table.statusOf(this.#statuses.get(row));
    return { petId: this.#ids.idOf(row), quantity: this.#quantities.get(row), status };
  }

  find(petId: PetId): AnyItem | undefined {
    const row = this.rowOf(petId);
    return row === undefined ? undefined : this.itemAt(row);
  }

  /** The rows with a status; without one, all rows. */
  *rows(status: string | undefined): Generator<number> {
    const code = status === undefined ? undefined : this.#table.find(status);
    if (status !== undefined && code === undefined) return;
    for (let row = 0; row < this.#size; row++) if (code === undefined || this.#statuses.get(row) === code) yield row;
  }

  /** Lends these columns to a reader, who must not see later updates. */
  lend(): this {
    this.#isLent = true;
    return this;
  }

  /** Adds an item, or replaces the pet's. Returns these columns, or a changed copy if they are lent. */
  with(item: AnyItem): StockColumns {
    const columns = this.#isLent ? this.#fork() : this;
    columns.#set(item);
    return columns;
  }

  /** The changes from other columns to these. */
  *changesSince(others: StockColumns): Generator<AnyChange> {
    for (let row = this.#endOfShared(0, others); row < this.#size; row = this.#endOfShared(row + 1, others)) {
      const old = others.#rowLike(row, this);
      if (old === undefined) yield { before: undefined, after: this.itemAt(row) };
      else if (!this.#isSame(row, others, old)) yield { before: others.itemAt(old), after: this.itemAt(row) };
    }
    if (others.#ids === this.#ids && others.#size <= this.#size) return;
    for (let row = 0; row < others.#size; row++) {
      if (this.#rowLike(row, others) === undefined) yield { before: others.itemAt(row), after: undefined };
    }
  }

  /** The row in these columns of the pet in a row of others. */
  #rowLike(row: number, others: StockColumns): number | undefined {
    if (this.#ids === others.#ids) return row < this.#size ? row : undefined;
    const petId = others.#ids.idOf(row);
    return row < this.#size && this.#ids.isAt(row, petId) ? row : this.rowOf(petId);
  }

  /** The first row, from `row` on, that these columns do not share with others. */
  #endOfShared(row: number, others: StockColumns): number {
    if (this.#ids !== others.#ids || this.#table !== others.#table) return row;
    const end = Math.min(this.#quantities.endOfShared(row, others.#quantities), this.#statuses.endOfShared(row, others.#statuses));
    return Math.max(row, Math.min(end, others.#size));
  }

  #isSame(row: number, others: StockColumns, otherRow: number): boolean {
    if (this.#quantities.get(row) !== others.#quantities.get(otherRow)) return false;
    return this.#table.statusOf(this.#statuses.get(row)) === others.#table.statusOf(others.#statuses.get(otherRow));
  }

  /** Finds rows for the items from index `at` on, by the cheap ways only. Returns for how many. */
  #takeRun(items: readonly AnyItem[], at: number): number {
    if (this.#isFollowing) return this.#ids.countSame(items, at, this.#size);
    return this.#ids.size === this.#size ? this.#ids.takeAscending(items, at) : 0;
  }

  /** Skips items that equal the next rows of the previous list, which stay shared. Returns how many. */
  #repeatRun(items: readonly AnyItem[], from: number, to: number): number {
    const quantities = this.#quantities.rows32(this.#size, 'borrowed');
    const statuses = this.#statuses.rows8(this.#size, 'borrowed');
    const most = Math.min(to - from, quantities.length, statuses.length);
    let count = 0;
    for (; count < most; count++) {
      const item = items[from + count];
      if (!item || quantities[count] !== item.quantity || statuses[count] !== this.#table.codeOf(item.status)) break;
    }
    this.#size += count;
    return count;
  }

  /** Writes items to the next rows, as long as they fit into the existing parts. Returns how many. */
  #writeRun(items: readonly AnyItem[], from: number, to: number): number {
    const quantities = this.#quantities.rows32(this.#size);
    const statuses = this.#statuses.rows8(this.#size);
    const most = Math.min(to - from, quantities.length, statuses.length);
    let count = 0;
    for (; count < most; count++) {
      const item = items[from + count];
      if (!item) break;
      const code = this.#table.codeOf(item.status);
      if ((item.quantity | 0) !== item.quantity || code > LARGEST_BYTE) break;
      quantities[count] = item.quantity;
      statuses[count] = code;
    }
    this.#size += count;
    return count;
  }

  #writeOne(row: number, item: AnyItem | undefined): 1 {
    if (item) {
      this.#quantities.set(row, item.quantity);
      this.#statuses.set(row, this.#table.codeOf(item.status));
    }
    return 1;
  }

  #rowFor(petId: PetId): number {
    if (this.#isFollowing) {
      if (this.#ids.isAt(this.#size, petId)) return this.#size++;
      this.#ids = this.#ids.first(this.#size);
      this.#isFollowing = false;
    }
    const row = this.#ids.take(petId);
    if (row === this.#size) this.#size += 1;
    return row;
  }

  #set(item: AnyItem): void {
    this.#writeOne(this.rowOf(item.petId) ?? this.#newRow(item.petId), item);
  }

  #newRow(petId: PetId): number {
    // Shared ids may have more rows than these columns.
    if (this.#ids.size > this.#size) this.#ids = this.#ids.first(this.#size);
    this.#size += 1;
    return this.#ids.take(petId);
  }

  #fork(): StockColumns {
    const [quantities, statuses] = [this.#quantities.fork(), this.#statuses.fork()];
    const fork = new StockColumns({ ids: this.#ids, quantities, statuses, table: this.#table });
    fork.#size = this.#size;
    fork.#isFollowing = false;
    return fork;
  }
}
