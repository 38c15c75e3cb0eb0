import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import { IdTable } from '../stock/id-table.ts';
import { IntColumn } from '../stock/int-column.ts';
import { StatusTable } from './status-table.ts';

/** Any item, whatever the form of its id. */
export type AnyItem = InventoryItem<Int64>;

/** Beyond so many statuses that no list of late may have, they are numbered anew. */
const MOST_STATUSES_KEPT = 64;

interface Parts {
  ids: IdTable;
  quantities: IntColumn;
  statuses: IntColumn;
  table: StatusTable;
}

/**
 * The stock of one list in columns: a row a pet, in the list's order. A pet that the list names twice has the row of the first and
 * the values of the last, as in a Map.
 *
 * While a list names the same pets in the same order as the one before it, both share their ids.
 */
export class StockColumns {
  #ids: IdTable;
  #quantities: IntColumn;
  #statuses: IntColumn;
  readonly #table: StatusTable;
  #size = 0;
  // Ids of the list before, which this one has repeated so far.
  #isFollowing: boolean;
  #isLent = false;
  #isFork = false;

  constructor(parts: Parts = { ids: new IdTable(), quantities: new IntColumn(), statuses: new IntColumn(), table: new StatusTable() }) {
    this.#ids = parts.ids;
    this.#quantities = parts.quantities;
    this.#statuses = parts.statuses;
    this.#table = parts.table;
    this.#isFollowing = parts.ids.size > 0;
  }

  get size(): number {
    return this.#size;
  }

  /** Empty columns for the list after this one. `spare` are columns that nobody reads any more: their memory is used again. */
  successor(spare: StockColumns | undefined): StockColumns {
    const table = this.#table.size > MOST_STATUSES_KEPT ? new StatusTable() : this.#table;
    const isFree = spare !== undefined && !spare.#isLent && !spare.#isFork;
    const quantities = isFree ? spare.#quantities : new IntColumn();
    const statuses = isFree ? spare.#statuses : new IntColumn();
    return new StockColumns({ ids: this.#ids, quantities, statuses, table });
  }

  /** Takes the next item of a list. */
  add({ petId, quantity, status }: AnyItem): void {
    const row = this.#rowFor(petId);
    this.#quantities.set(row, quantity);
    this.#statuses.set(row, this.#table.codeOf(status));
  }

  /** The list is complete. */
  end(): void {
    if (this.#isFollowing && this.#size < this.#ids.size) this.#ids = this.#ids.first(this.#size);
    this.#isFollowing = false;
  }

  /** Undefined for a pet that is not there. */
  rowOf(petId: PetId): number | undefined {
    const row = this.#ids.rowOf(petId);
    return row === undefined || row >= this.#size ? undefined : row;
  }

  /** The item of a row; its id is a number wherever that is exact. */
  itemAt(row: number): AnyItem {
    const status = this.#table.statusOf(this.#statuses.get(row));
    return { petId: this.#ids.idOf(row), quantity: this.#quantities.get(row), status };
  }

  find(petId: PetId): AnyItem | undefined {
    const row = this.rowOf(petId);
    return row === undefined ? undefined : this.itemAt(row);
  }

  /** The rows of a status, or all. */
  *rows(status: string | undefined): Generator<number> {
    const code = status === undefined ? undefined : this.#table.find(status);
    if (status !== undefined && code === undefined) return;
    for (let row = 0; row < this.#size; row++) if (code === undefined || this.#statuses.get(row) === code) yield row;
  }

  /** These columns are given to a reader, who shall see no later update. */
  lend(): this {
    this.#isLent = true;
    return this;
  }

  /** Columns with this item, new or in place of the pet's other one: these ones, or others if they are lent. */
  with(item: AnyItem): StockColumns {
    const columns = this.#isLent ? this.#fork() : this;
    columns.#set(item);
    return columns;
  }

  /** What became of each pet from other columns to these. */
  *changesSince(others: StockColumns): Generator<{ before: AnyItem | undefined; after: AnyItem | undefined }> {
    for (let row = 0; row < this.#size; row++) {
      const old = others.#rowLike(row, this);
      if (old === undefined) yield { before: undefined, after: this.itemAt(row) };
      else if (!this.#isSame(row, others, old)) yield { before: others.itemAt(old), after: this.itemAt(row) };
    }
    if (others.#ids === this.#ids && others.#size <= this.#size) return;
    for (let row = 0; row < others.#size; row++) {
      if (this.#rowLike(row, others) === undefined) yield { before: others.itemAt(row), after: undefined };
    }
  }

  /** The row here of the pet that others have in a row. */
  #rowLike(row: number, others: StockColumns): number | undefined {
    if (this.#ids === others.#ids) return row < this.#size ? row : undefined;
    const petId = others.#ids.idOf(row);
    return row < this.#size && this.#ids.isAt(row, petId) ? row : this.rowOf(petId);
  }

  #isSame(row: number, others: StockColumns, otherRow: number): boolean {
    if (this.#quantities.get(row) !== others.#quantities.get(otherRow)) return false;
    const [code, otherCode] = [this.#statuses.get(row), others.#statuses.get(otherRow)];
    return this.#table === others.#table ? code === otherCode : this.#table.statusOf(code) === others.#table.statusOf(otherCode);
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

  #set({ petId, quantity, status }: AnyItem): void {
    const row = this.rowOf(petId) ?? this.#newRow(petId);
    this.#quantities.set(row, quantity);
    this.#statuses.set(row, this.#table.codeOf(status));
  }

  #newRow(petId: PetId): number {
    // Ids that are shared with later columns may have more rows than these.
    if (this.#ids.size > this.#size) this.#ids = this.#ids.first(this.#size);
    this.#size += 1;
    return this.#ids.take(petId);
  }

  #fork(): StockColumns {
    const [quantities, statuses] = [this.#quantities.fork(), this.#statuses.fork()];
    const fork = new StockColumns({ ids: this.#ids, quantities, statuses, table: this.#table });
    fork.#size = this.#size;
    fork.#isFollowing = false;
    fork.#isFork = true;
    return fork;
  }
}
