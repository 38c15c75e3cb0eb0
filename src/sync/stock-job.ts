import type { PetId } from '../contract/models.ts';
import type { PetStoreFailure } from '../errors.ts';
import { SyncItemError } from './sync-item-error.ts';
import type { WantedEntry, WantedStock } from './wanted-stock.ts';

/** What is known of a pet. A pet is `open` until the list has told of it; `done` and `failed` are final. */
const STATES = ['open', 'missing', 'unchanged', 'change', 'confirmed', 'conflict', 'duplicate', 'done', 'failed'] as const;
type State = (typeof STATES)[number];

/** An update that has to be sent: the pet stands at `from` and shall stand at `to`. */
export interface Change {
  petId: PetId;
  row: number;
  from: number;
  to: number;
}

/**
 * A pet whose update failed, and the quantity that it should have got.
 *
 * @example
 * sandbox.faults.add({ when: ({ petId }) => petId === 1n, status: 400 });
 * const { failed } = await syncInventory(petstore, [{ petId: 1, quantity: 40 }]);
 * const lines = failed.map(({ petId, quantity, error }: FailedUpdate) => `${petId} to ${quantity}: ${error.kind}`);
 * console.log(lines); // → [ '1 to 40: bad-request' ]
 */
export interface FailedUpdate {
  /** The pet, as it was first wanted. */
  petId: PetId;
  /** The quantity that it should have got. */
  quantity: number;
  /** One of the client's errors, or a `SyncItemError`: `switch (error.kind)` tells which. */
  error: PetStoreFailure | SyncItemError;
}

/** How far each wanted pet is, told by a journal, by the service's list, and by the answers to updates. */
export class StockJob {
  readonly stock: WantedStock;
  /** Rows without an entry here have not failed. */
  readonly failed = new Map<number, FailedUpdate>();
  readonly #states: Uint8Array;
  readonly #from: Float64Array;
  /** What promised updates without a known end were to set; `from` holds where their pets stood. */
  readonly #doubtful = new Map<number, number>();
  readonly #standing = new Map<number, number>();
  /** Where an undone job left each pet: one that stands elsewhere was changed since, and stays as it is. */
  readonly #left: Float64Array | undefined;
  #listed = 0;
  readonly #tally: Record<State, number>;

  constructor(stock: WantedStock, left?: Float64Array) {
    this.stock = stock;
    this.#left = left;
    this.#states = new Uint8Array(stock.size);
    this.#from = new Float64Array(stock.size);
    this.#tally = { open: stock.size, missing: 0, unchanged: 0, change: 0, confirmed: 0, conflict: 0, duplicate: 0, done: 0, failed: 0 };
  }

  /** How many pets are in a state. */
  count(state: State): number {
    return this.#tally[state];
  }

  /** Items of the service's list that were read. */
  get listed(): number {
    return this.#listed;
  }

  /** Whether the service's list would tell anything new. */
  get needsList(): boolean {
    return this.count('open') > 0 || this.count('missing') > 0;
  }

  promise(row: number, from: number, to: number): void {
    this.#from[row] = from;
    this.#doubtful.set(row, to);
  }

  /** The promise is void: nothing was changed, and the pet is planned anew. */
  withdraw(row: number): void {
    this.#doubtful.delete(row);
  }

  /** Whether an earlier run promised an update of which no end is known. */
  isDoubtful(row: number): boolean {
    return this.#doubtful.has(row);
  }

  finish(row: number): void {
    this.#set(row, 'done');
  }

  fail(row: number, failed: FailedUpdate): void {
    this.failed.set(row, failed);
    this.#set(row, 'failed');
  }

  miss(row: number): void {
    this.#set(row, 'missing');
  }

  /** Takes one item of the service's list. */
  hear(petId: PetId, quantity: number): void {
    this.#listed += 1;
    const row = this.stock.rowOf(petId);
    if (row === undefined) return;
    const state = this.#state(row);
    if (state === 'done' || state === 'failed') return;
    if (state !== 'open' && state !== 'missing') this.#set(row, 'duplicate');
    else if (this.#doubtful.has(row)) this.#resume(row, quantity);
    else this.#plan(row, quantity);
  }

  /**
   * The list is complete: what it did not name is missing, what it contradicts has failed. Gives the pets of doubtful updates
   * that it has confirmed.
   */
  endList(): PetId[] {
    const confirmed: PetId[] = [];
    for (const [petId, row] of this.stock.pets()) {
      const state = this.#state(row);
      if (state === 'open') this.miss(row);
      if (state === 'confirmed') {
        this.finish(row);
        confirmed.push(petId);
      }
      if (state === 'duplicate') this.fail(row, this.#failure(petId, row, duplicateError(petId)));
      if (state === 'conflict') this.fail(row, this.#failure(petId, row, this.#conflictError(petId, row)));
    }
    return confirmed;
  }

  /** The list broke off: what was read of it may be incomplete. */
  forgetList(): void {
    this.#listed = 0;
    for (const [, row] of this.stock.pets()) {
      const state = this.#state(row);
      if (state !== 'done' && state !== 'failed') this.#set(row, 'open');
    }
  }

  /** What has to be sent, in the order of the wanted pets. */
  *changes(): Generator<Change> {
    for (const [petId, row] of this.stock.pets())
      if (this.#state(row) === 'change') yield { petId, row, from: this.#from[row] ?? 0, to: this.#to(row) };
  }

  *petsThatAre(wanted: State): Generator<PetId> {
    for (const [petId, row] of this.stock.pets()) if (this.#state(row) === wanted) yield petId;
  }

  /** What is still to be done, in a form that can be given to another synchronisation. */
  *pending(): Generator<WantedEntry> {
    for (const [petId, row] of this.stock.pets()) {
      const state = this.#state(row);
      const isResolved = state === 'change' || (state === 'open' && this.#doubtful.has(row));
      if (isResolved) yield { petId, quantity: this.#to(row) };
      else if (state === 'open') yield this.stock.entry(petId, row);
    }
  }

  #to(row: number): number {
    return this.#doubtful.get(row) ?? this.stock.target(row, this.#from[row] ?? 0);
  }

  #plan(row: number, quantity: number): void {
    this.#from[row] = quantity;
    if (this.#to(row) === quantity) this.#set(row, 'unchanged');
    else if (this.#left === undefined || this.#left[row] === quantity) this.#set(row, 'change');
    else this.#contradict(row, quantity);
  }

  #contradict(row: number, quantity: number): void {
    this.#standing.set(row, quantity);
    this.#set(row, 'conflict');
  }

  // An adjustment may already be part of what the list says, so a promised update keeps the quantities of its promise.
  #resume(row: number, quantity: number): void {
    if (quantity === this.#to(row)) this.#set(row, 'confirmed');
    else if (quantity === this.#from[row]) this.#set(row, 'change');
    else this.#contradict(row, quantity);
  }

  #conflictError(petId: PetId, row: number): SyncItemError {
    const where = this.#doubtful.has(row)
      ? `neither at ${this.#from[row]}, where it was, nor at ${this.#to(row)}, where an interrupted run was setting it`
      : `neither at ${this.#left?.[row]}, where the job left it, nor at ${this.#to(row)}, where it was before`;
    return new SyncItemError(`Cannot update pet ${petId}: conflict: it stands at ${this.#standing.get(row)}, ${where}`, {
      reason: 'conflict',
    });
  }

  #failure(petId: PetId, row: number, error: SyncItemError): FailedUpdate {
    return { petId, quantity: this.#to(row), error };
  }

  #state(row: number): State {
    return STATES[this.#states[row] ?? 0] ?? 'open';
  }

  #set(row: number, state: State): void {
    this.#tally[this.#state(row)] -= 1;
    this.#tally[state] += 1;
    this.#states[row] = STATES.indexOf(state);
  }
}

function duplicateError(petId: PetId): SyncItemError {
  return new SyncItemError(`Cannot update pet ${petId}: the service lists it more than once, so its quantity is unclear`, {
    reason: 'duplicate',
  });
}
