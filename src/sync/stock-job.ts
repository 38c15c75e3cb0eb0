import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import { InvalidArgumentError, type PetStoreFailure } from '../errors.ts';
import type { UpdateFollower } from '../update-news.ts';
import { SyncItemError } from './sync-item-error.ts';
import type { WantedEntry, WantedStock } from './wanted-stock.ts';

/** The states of a pet. It is `open` until the service's list has been read; `done` and `failed` are final. */
const STATES = ['open', 'missing', 'unchanged', 'change', 'confirmed', 'conflict', 'duplicate', 'outOfRange', 'done', 'failed'] as const;
type State = (typeof STATES)[number];

/** An update that has to be sent, from the pet's quantity to the wanted one. */
export interface Change {
  petId: PetId;
  row: number;
  from: number;
  to: number;
}

/**
 * A pet whose update failed, and the quantity that was not set.
 *
 * @example
 * sandbox.faults.add({ when: ({ petId }) => petId === 1n, status: 400 });
 * const { failed } = await syncInventory(petstore, [{ petId: 1, quantity: 40 }]);
 * const lines = failed.map(({ petId, quantity, error }: FailedUpdate) => `${petId} to ${quantity}: ${error.kind}`);
 * console.log(lines); // → [ '1 to 40: bad-request' ]
 */
export interface FailedUpdate {
  /** The pet's id, as in its first wanted entry. */
  petId: PetId;
  /** The quantity that was not set; rounded if it is beyond ±(2^53−1). */
  quantity: number;
  /** One of the client's errors, or a `SyncItemError`; `error.kind` distinguishes them. */
  error: PetStoreFailure | SyncItemError;
}

/** The state of each wanted pet. It follows from a journal, the service's list, and the answers to updates. */
export class StockJob implements UpdateFollower {
  readonly stock: WantedStock;
  /** The failures, by row. */
  readonly failed = new Map<number, FailedUpdate>();
  readonly #states: Uint8Array;
  readonly #from: Float64Array;
  /** By row, what other updates of the same client have set since the list was sent; undefined if the outcome of the last is unknown. */
  readonly #since = new Map<number, number | undefined>();
  /** The row of each pet whose update is under way. */
  readonly #begun = new Set<number>();
  /** The quantities, by row, of the doubtful updates: an earlier run intended them, and the journal has no end of them. */
  readonly #doubtful = new Map<number, number>();
  /** What contradicts what, by row, for each pet in conflict. */
  readonly #conflicts = new Map<number, string>();
  /** For an undo, the quantity at which the job left each pet. A pet with another quantity was changed since, and is not changed back. */
  readonly #left: Float64Array | undefined;
  /** For an undo, the rows of the pets that the job may still set to that quantity, even after they were set back. */
  readonly #late: ReadonlySet<number>;
  /** Those of them that the list has named. */
  readonly #lateListed = new Set<number>();
  #listed = 0;
  #isListed = false;
  readonly #tally: Map<State, number>;

  constructor(stock: WantedStock, { left, late = [] }: { left?: Float64Array; late?: Iterable<number> } = {}) {
    this.stock = stock;
    this.#left = left;
    this.#late = new Set(late);
    this.#states = new Uint8Array(stock.size);
    this.#from = new Float64Array(stock.size);
    this.#tally = new Map([['open', stock.size]]);
  }

  /** How many pets are in a state. */
  count(state: State): number {
    return this.#tally.get(state) ?? 0;
  }

  /** Items of the service's list that were read. */
  get listed(): number {
    return this.#listed;
  }

  /** Whether the service's list has been read to its end, so that the changes are known. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /** Whether the service's list could still change a pet's state. */
  get needsList(): boolean {
    return this.count('open') > 0 || this.count('missing') > 0 || (this.#late.size > 0 && this.count('done') > 0);
  }

  /** An earlier run intended to set the pet from one quantity to another. */
  intend(row: number, from: number, to: number): void {
    this.#from[row] = from;
    this.#doubtful.set(row, to);
  }

  /** The intended update was not applied, so the pet is planned anew. */
  withdraw(row: number): void {
    this.#begun.delete(row);
    this.#doubtful.delete(row);
  }

  /** Whether an earlier run intended an update of which no end is known. */
  isDoubtful(row: number): boolean {
    return this.#doubtful.has(row);
  }

  finish(row: number): void {
    this.#begun.delete(row);
    this.#set(row, 'done');
  }

  fail(row: number, error: FailedUpdate['error'], quantity = this.#to(row)): void {
    this.#begun.delete(row);
    this.failed.set(row, { petId: this.stock.petIdOf(row), quantity, error });
    this.#set(row, 'failed');
  }

  miss(row: number): void {
    this.#set(row, 'missing');
  }

  /** A request for the list was sent: it shows what the client has set so far. */
  listSent(): void {
    this.#since.clear();
  }

  /** Another update of the same client was confirmed. */
  confirmed({ petId, quantity }: InventoryItem<Int64>): void {
    this.#takeSince(petId, quantity);
  }

  /** Another update of the same client may have been applied. */
  inDoubt(petId: PetId): void {
    this.#takeSince(petId, undefined);
  }

  /** Whether it is unknown from which quantity to compute the update. */
  lacksQuantity(row: number): boolean {
    return this.#since.has(row) && this.#since.get(row) === undefined && (this.#left !== undefined || this.stock.isRelative(row));
  }

  /** Takes one item of the service's list. */
  observe(petId: PetId, quantity: number): void {
    this.#listed += 1;
    const row = this.stock.rowOf(petId);
    if (row === undefined) return;
    const state = this.#state(row);
    // Only the first of two items for a pet decides.
    if (state === 'done' && this.#isNewlyListed(row) && this.#left?.[row] === quantity) return this.#set(row, 'change');
    if (state === 'done' || state === 'failed') return;
    if (state !== 'open' && state !== 'missing') this.#set(row, 'duplicate');
    else if (this.#doubtful.has(row)) this.#resume(row, quantity);
    else this.#plan(row, quantity);
  }

  /**
   * The list is complete: pets that it did not name are missing; pets in conflict, listed twice or out of range have failed. Returns the pets
   * whose doubtful updates it has confirmed.
   */
  endList(): PetId[] {
    this.#isListed = true;
    const confirmed: PetId[] = [];
    for (const [petId, row] of this.stock.pets()) {
      const state = this.#state(row);
      if (state === 'open') this.miss(row);
      if (state === 'confirmed') {
        confirmed.push(petId);
        this.finish(row);
      }
      this.#failUnsendable(petId, row);
    }
    return confirmed;
  }

  /** Begins the update of a pet. Undefined if the client has meanwhile set a quantity that leaves nothing to send: the pet may have failed. */
  begin(petId: PetId, row: number): Change | undefined {
    const quantity = this.#since.get(row);
    this.#since.delete(row);
    if (quantity !== undefined) this.#replan(row, quantity);
    this.#failUnsendable(petId, row);
    if (this.#state(row) !== 'change') return undefined;
    this.#begun.add(row);
    return this.#changeOf(petId, row);
  }

  /** The list was cut: what was read of it does not count. */
  forgetList(): void {
    this.#listed = 0;
    for (const [, row] of this.stock.pets()) {
      const state = this.#state(row);
      if (state !== 'done' && state !== 'failed') this.#set(row, this.#lateListed.has(row) ? 'done' : 'open');
    }
    this.#lateListed.clear();
  }

  /** The updates that have to be sent, in the order of the wanted pets. */
  *changes(): Generator<Change> {
    for (const [petId, row] of this.stock.pets()) if (this.#state(row) === 'change') yield this.#changeOf(petId, row);
  }

  *petsThatAre(wanted: State): Generator<PetId> {
    for (const [petId, row] of this.stock.pets()) if (this.#state(row) === wanted) yield petId;
  }

  /** The entries that are still to be done; another synchronisation accepts them as `wanted`. */
  *pending(): Generator<WantedEntry> {
    for (const [petId, row] of this.stock.pets()) {
      const state = this.#state(row);
      const isResolved = state === 'change' || (state === 'open' && this.#doubtful.has(row));
      if (isResolved) yield { petId, quantity: this.#to(row) };
      else if (state === 'open') yield this.stock.entry(petId, row);
    }
  }

  #takeSince(petId: PetId, quantity: number | undefined): void {
    const row = this.stock.rowOf(petId);
    if (row !== undefined && !this.#begun.has(row)) this.#since.set(row, quantity);
  }

  /** Whether the list names a late pet for the first time. */
  #isNewlyListed(row: number): boolean {
    if (!this.#late.has(row) || this.#lateListed.has(row)) return false;
    this.#lateListed.add(row);
    return true;
  }

  #changeOf(petId: PetId, row: number): Change {
    return { petId, row, from: this.#fromOf(row), to: this.#to(row) };
  }

  #fromOf(row: number): number {
    return this.#since.get(row) ?? this.#from[row] ?? 0;
  }

  #to(row: number): number {
    return this.#doubtful.get(row) ?? this.stock.target(row, this.#fromOf(row));
  }

  #failUnsendable(petId: PetId, row: number): void {
    const state = this.#state(row);
    if (state === 'duplicate') this.fail(row, duplicateError(petId));
    if (state === 'outOfRange') this.fail(row, this.#rangeError(petId, row));
    if (state === 'conflict') this.fail(row, conflictError(petId, this.#conflicts.get(row)));
  }

  #plan(row: number, quantity: number): void {
    this.#from[row] = quantity;
    const [left, to] = [this.#left?.[row], this.#to(row)];
    if (!Number.isSafeInteger(to)) this.#set(row, 'outOfRange');
    else if (to === quantity) this.#set(row, 'unchanged');
    else if (left === undefined || left === quantity) this.#set(row, 'change');
    else this.#contradict(row, `${quantity}, neither ${left}, which the job set, nor ${to}, as before the job`);
  }

  /** The client has set a quantity since the list: it does not tell whether a doubtful update was applied, even if it is the same. */
  #replan(row: number, quantity: number): void {
    if (this.#doubtful.has(row))
      this.#contradict(row, `${quantity}, which this client set, and an interrupted run may still set ${this.#to(row)}`);
    else this.#plan(row, quantity);
  }

  // The listed quantity may already include an adjustment, so a doubtful update keeps the quantities that it was intended with.
  #resume(row: number, quantity: number): void {
    const [from, to] = [this.#from[row], this.#to(row)];
    if (quantity === to) this.#set(row, 'confirmed');
    else if (quantity === from) this.#set(row, 'change');
    else this.#contradict(row, `${quantity}, neither ${from}, as before, nor ${to}, which an interrupted run was setting`);
  }

  #contradict(row: number, quantities: string): void {
    this.#conflicts.set(row, quantities);
    this.#set(row, 'conflict');
  }

  #rangeError(petId: PetId, row: number): InvalidArgumentError {
    const sum = `its quantity ${this.#from[row]} and the adjustment ${this.stock.amount(row)} add up to more than ±(2^53−1)`;
    const details = { argument: 'quantity', operation: 'updateInventory', petId, outcome: 'not-sent' } as const;
    return new InvalidArgumentError(`Cannot update pet ${petId}: ${sum}`, details);
  }

  #state(row: number): State {
    return STATES[this.#states[row] ?? 0] ?? 'open';
  }

  #set(row: number, state: State): void {
    const before = this.#state(row);
    this.#tally.set(before, this.count(before) - 1);
    this.#tally.set(state, this.count(state) + 1);
    this.#states[row] = STATES.indexOf(state);
  }
}

function conflictError(petId: PetId, quantities = ''): SyncItemError {
  return new SyncItemError(`Cannot update pet ${petId}: conflict: its quantity is ${quantities}`, { reason: 'conflict' });
}

function duplicateError(petId: PetId): SyncItemError {
  return new SyncItemError(`Cannot update pet ${petId}: the service lists it more than once, so its quantity is unclear`, {
    reason: 'duplicate',
  });
}
