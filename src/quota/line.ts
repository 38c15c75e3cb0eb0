import type { Call } from '../call.ts';

/** One call that waits for its slot. */
export interface Waiter<Slot> {
  readonly call: Call;
  readonly sinceMs: number;
  readonly resolve: (slot: Slot) => void;
  readonly reject: (reason: unknown) => void;
}

/** Who waits for a slot: first come, first served within a priority, normal before low. Leaving from the middle costs nothing. */
export class Line<Slot> {
  // Sets keep the order of insertion and forget in constant time.
  readonly #normal = new Set<Waiter<Slot>>();
  readonly #low = new Set<Waiter<Slot>>();
  #leastWaitMs = Number.POSITIVE_INFINITY;

  get size(): number {
    return this.#normal.size + this.#low.size;
  }

  /** No waiter allows less than this; some that left may have. */
  get leastWaitMs(): number {
    return this.#leastWaitMs;
  }

  join(waiter: Waiter<Slot>): void {
    this.#leastWaitMs = Math.min(this.#leastWaitMs, waiter.call.options.maxWaitMs);
    (waiter.call.priority === 'normal' ? this.#normal : this.#low).add(waiter);
  }

  /** A low waiter becomes a normal one, behind those that are there. */
  raise(waiter: Waiter<Slot>): void {
    if (this.#low.delete(waiter)) this.#normal.add(waiter);
  }

  leave(waiter: Waiter<Slot>): void {
    if (!this.#normal.delete(waiter)) this.#low.delete(waiter);
    if (this.size === 0) this.#leastWaitMs = Number.POSITIVE_INFINITY;
  }

  /** Takes the one whose turn it is. */
  shift(): Waiter<Slot> | undefined {
    const [first] = this.#normal.size > 0 ? this.#normal : this.#low;
    if (first) this.leave(first);
    return first;
  }

  *[Symbol.iterator](): IterableIterator<Waiter<Slot>> {
    yield* this.#normal;
    yield* this.#low;
  }
}
