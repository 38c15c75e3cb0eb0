import { monotonicMs } from '../clock/monotonic.ts';
import type { PetId } from '../contract/models.ts';
import type { UpdateFollower } from '../update-news.ts';
import { type AnyChange, type AnyItem, StockColumns } from './stock-columns.ts';

/** When a list was sent. It contains all updates that were confirmed before its stamp. */
export interface Departure {
  stamp: number;
  atMs: number;
  at: Date;
}

const BEFORE_ALL = Number.NEGATIVE_INFINITY;

/**
 * The stock that a view holds: the columns of the latest list with the updates that the service has confirmed since it was sent, and the
 * pets in doubt, whose last update may have been applied or not.
 */
export class HeldStock implements UpdateFollower {
  #columns: StockColumns | undefined;
  #departure: Departure | undefined;
  // The updates that were confirmed after the list that is being read was sent; undefined if none is being read.
  #since: Map<PetId, AnyItem> | undefined;
  // The stamp at which each pet came into doubt.
  readonly #doubts = new Map<PetId, number>();
  #lastStamp = 0;
  /** Whether the client gives ids as bigints; known after the first item. */
  areIdsBigint = false;
  /** Whether the last list failed. */
  isStale = false;
  /** Called with each change of the held stock, once there is one. */
  onChange: ((changes: Iterable<AnyChange>) => void) | undefined;
  /** Called when the client is closed. */
  onClientClosed: ((reason: unknown) => void) | undefined;

  get columns(): StockColumns | undefined {
    return this.#columns;
  }

  /** When the held list was sent; undefined before the first. */
  get departure(): Departure | undefined {
    return this.#departure;
  }

  /** Milliseconds since the held list was sent; infinite before the first. */
  get ageMs(): number {
    return this.#departure ? monotonicMs() - this.#departure.atMs : Number.POSITIVE_INFINITY;
  }

  /** Returns a stamp for this moment; later moments have larger stamps. */
  mark(): number {
    this.#lastStamp += 1;
    return this.#lastStamp;
  }

  /** Whether the pet is in doubt; without an id, whether any pet is. */
  isDoubted(petId: PetId | undefined): boolean {
    return this.#doubts.size > 0 && (petId === undefined || this.#doubts.has(keyOf(petId)));
  }

  /** The stamp at which the pet came into doubt; without an id, the latest such stamp. Smaller than all stamps if there is none. */
  doubtedAt(petId: PetId | undefined): number {
    if (petId !== undefined) return this.#doubts.get(keyOf(petId)) ?? BEFORE_ALL;
    let latest = BEFORE_ALL;
    for (const stamp of this.#doubts.values()) latest = Math.max(latest, stamp);
    return latest;
  }

  /** A list is sent now, and contains all updates that were confirmed before. */
  depart(): Departure {
    this.#since = new Map();
    return { stamp: this.mark(), atMs: monotonicMs(), at: new Date() };
  }

  /** Returns columns for a new list. */
  begin(): StockColumns {
    return this.#columns?.successor() ?? new StockColumns();
  }

  /** A list is complete, and replaces the held one. */
  replace(columns: StockColumns, departure: Departure): void {
    let next = columns;
    for (const item of this.#since?.values() ?? []) next = next.with(item);
    this.#since = undefined;
    for (const [petId, doubtedAt] of this.#doubts) if (doubtedAt < departure.stamp) this.#doubts.delete(petId);
    const old = this.#columns;
    this.#columns = next;
    this.#departure = departure;
    this.isStale = false;
    if (old) this.onChange?.(next.changesSince(old));
  }

  /** A list ended before it was complete. */
  abandon(): void {
    this.#since = undefined;
  }

  clientClosed(reason: unknown): void {
    this.onClientClosed?.(reason);
  }

  /** The service confirmed an update. The item is copied, since its caller may change it. */
  confirmed({ ...item }: AnyItem): void {
    this.areIdsBigint = typeof item.petId === 'bigint';
    this.#doubts.delete(keyOf(item.petId));
    this.#since?.set(keyOf(item.petId), item);
    if (!this.#columns) return;
    const before = this.#columns.find(item.petId);
    this.#columns = this.#columns.with(item);
    if (before?.quantity !== item.quantity || before.status !== item.status) this.onChange?.([{ before, after: item }]);
  }

  /** An update of the pet ended with an unknown outcome. */
  inDoubt(petId: PetId): void {
    this.#doubts.set(keyOf(petId), this.mark());
  }

  /** Forgets the stock. */
  clear(): void {
    this.#columns = undefined;
    this.#departure = undefined;
  }
}

/** The key of a pet in a Map: the same for 5 and 5n. */
export function keyOf(petId: PetId): PetId {
  const id = Number(petId);
  return Number.isSafeInteger(id) ? id : petId;
}
