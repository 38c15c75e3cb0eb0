import { monotonicMs } from '../clock/monotonic.ts';
import type { PetId } from '../contract/models.ts';
import type { UpdateFollower } from '../update-news.ts';
import { type AnyItem, StockColumns } from './stock-columns.ts';

/** What became of one pet. */
export interface AnyChange {
  before: AnyItem | undefined;
  after: AnyItem | undefined;
}

/** A list that left: everything that came before its stamp is in it. */
export interface Departure {
  stamp: number;
  atMs: number;
  at: Date;
}

const BEFORE_ALL = -1;

/**
 * What a view holds: the columns of the latest list, and what is known since it left: updates that the service confirmed, and pets
 * whose update may have been applied or not.
 */
export class HeldStock implements UpdateFollower {
  #columns: StockColumns | undefined;
  #departure: Departure | undefined;
  // Confirmed since the list that is being read left; undefined while none is.
  #since: Map<PetId, AnyItem> | undefined;
  // When each pet came into doubt.
  #doubts: Map<PetId, number> | undefined;
  #lastStamp = 0;
  /** Whether ids come as bigints; known once an item has come. */
  areIdsBigint = false;
  /** Whether the last list failed. */
  isStale = false;
  /** Told of every change of what is held, once something is. */
  onChange: ((changes: Iterable<AnyChange>) => void) | undefined;
  /** Told when the client is closed. */
  onClientClosed: ((reason: unknown) => void) | undefined;

  get columns(): StockColumns | undefined {
    return this.#columns;
  }

  /** When the list that is held left. */
  get departure(): Departure | undefined {
    return this.#departure;
  }

  /** Milliseconds since the list left that is held. */
  get ageMs(): number {
    return this.#departure ? monotonicMs() - this.#departure.atMs : Number.POSITIVE_INFINITY;
  }

  /** Marks this moment: what leaves later has a larger stamp. */
  mark(): number {
    this.#lastStamp += 1;
    return this.#lastStamp;
  }

  /** Whether the outcome of an update of the pet is unknown, or of any pet. */
  isDoubted(petId: PetId | undefined): boolean {
    return this.#doubts !== undefined && (petId === undefined || this.#doubts.has(keyOf(petId)));
  }

  /** When the pet came into doubt, or the latest of all pets; before everything else where none did. */
  doubtedAt(petId: PetId | undefined): number {
    if (!this.#doubts) return BEFORE_ALL;
    if (petId !== undefined) return this.#doubts.get(keyOf(petId)) ?? BEFORE_ALL;
    return Math.max(...this.#doubts.values());
  }

  /** A list leaves now: what was confirmed before is in it. */
  depart(): Departure {
    this.#since = new Map();
    return { stamp: this.mark(), atMs: monotonicMs(), at: new Date() };
  }

  /** Columns for the list that is to be read. */
  begin(): StockColumns {
    return this.#columns?.successor() ?? new StockColumns();
  }

  /** A list is complete. */
  replace(columns: StockColumns, departure: Departure): void {
    columns.end();
    let next = columns;
    for (const item of this.#since?.values() ?? []) next = next.with(item);
    this.#since = undefined;
    this.#trustSince(departure);
    const old = this.#columns;
    this.#columns = next;
    this.#departure = departure;
    this.isStale = false;
    if (old) this.onChange?.(next.changesSince(old));
  }

  /** A list ended without being complete. */
  abandon(): void {
    this.#since = undefined;
  }

  clientClosed(reason: unknown): void {
    this.onClientClosed?.(reason);
  }

  /** Copied: the caller may change its item. */
  confirmed({ ...item }: AnyItem): void {
    this.areIdsBigint = typeof item.petId === 'bigint';
    this.#trust(item.petId);
    this.#since?.set(keyOf(item.petId), item);
    if (!this.#columns) return;
    const before = this.#columns.find(item.petId);
    this.#columns = this.#columns.with(item);
    if (before?.quantity !== item.quantity || before.status !== item.status) this.onChange?.([{ before, after: item }]);
  }

  inDoubt(petId: PetId): void {
    this.#doubts ??= new Map();
    this.#doubts.set(keyOf(petId), this.mark());
  }

  /** Holds nothing any more. */
  clear(): void {
    this.#columns = undefined;
    this.#departure = undefined;
    this.#doubts = undefined;
    this.onChange = undefined;
  }

  #trustSince({ stamp }: Departure): void {
    for (const [petId, doubtedAt] of this.#doubts ?? []) if (doubtedAt < stamp) this.#trust(petId);
  }

  #trust(petId: PetId): void {
    this.#doubts?.delete(keyOf(petId));
    if (this.#doubts?.size === 0) this.#doubts = undefined;
  }
}

/** 5 and 5n are one pet. */
export function keyOf(petId: PetId): PetId {
  const id = Number(petId);
  return Number.isSafeInteger(id) ? id : petId;
}
