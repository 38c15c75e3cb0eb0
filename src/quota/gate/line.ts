import type { Waiter } from './waiter.ts';

/** Who waits for a slot: first come, first served within a priority, normal before low. Leaving from the middle costs nothing. */
export class Line<Slot> {
  // Sets keep the order of insertion and forget in constant time.
  readonly #normal = new Set<Waiter<Slot>>();
  readonly #low = new Set<Waiter<Slot>>();
  // Nobody allows less; who allowed as much may have left.
  #leastWaitMs = Number.POSITIVE_INFINITY;
  // Nobody's patience with the outage that began at `#outageSinceMs` ends sooner.
  #patienceEndsAtMs = Number.POSITIVE_INFINITY;
  #outageSinceMs: number | undefined;

  get size(): number {
    return this.#normal.size + this.#low.size;
  }

  /** No waiter allows less than this; some that left may have. */
  get leastWaitMs(): number {
    return this.#leastWaitMs;
  }

  /** No waiter has waited too long behind an outage before this; some that left would have. */
  patienceEndsAtMs(outageSinceMs: number): number {
    if (outageSinceMs !== this.#outageSinceMs) this.#measure(outageSinceMs);
    return this.#patienceEndsAtMs;
  }

  join(waiter: Waiter<Slot>): void {
    this.#measureOne(waiter);
    (waiter.call.priority === 'normal' ? this.#normal : this.#low).add(waiter);
  }

  /** A low waiter becomes a normal one, behind those that are there. */
  raise(waiter: Waiter<Slot>): void {
    if (this.#low.delete(waiter)) this.#normal.add(waiter);
  }

  leave(waiter: Waiter<Slot>): void {
    if (!this.#normal.delete(waiter)) this.#low.delete(waiter);
    if (this.size === 0) this.#measure(undefined);
  }

  /** Whose turn it is, of those that would take a slot. */
  get first(): Waiter<Slot> | undefined {
    return firstAwake(this.#normal) ?? firstAwake(this.#low);
  }

  /** Takes the one whose turn it is. */
  shift(): Waiter<Slot> | undefined {
    const next = this.first;
    if (next) this.leave(next);
    return next;
  }

  /** Takes all who are of this kind. */
  takeWhere(isWanted: (waiter: Waiter<Slot>) => boolean): Waiter<Slot>[] {
    const taken = [...this.#normal, ...this.#low].filter(isWanted);
    for (const waiter of taken) this.leave(waiter);
    this.#measure(this.#outageSinceMs);
    return taken;
  }

  #measure(outageSinceMs: number | undefined): void {
    this.#outageSinceMs = outageSinceMs;
    this.#leastWaitMs = Number.POSITIVE_INFINITY;
    this.#patienceEndsAtMs = Number.POSITIVE_INFINITY;
    for (const waiter of this.#normal) this.#measureOne(waiter);
    for (const waiter of this.#low) this.#measureOne(waiter);
  }

  #measureOne(waiter: Waiter<Slot>): void {
    this.#leastWaitMs = Math.min(this.#leastWaitMs, waiter.call.options.maxWaitMs);
    if (this.#outageSinceMs === undefined) return;
    this.#patienceEndsAtMs = Math.min(this.#patienceEndsAtMs, waiter.patienceEndsAtMs(this.#outageSinceMs));
  }
}

function firstAwake<Slot>(waiters: Iterable<Waiter<Slot>>): Waiter<Slot> | undefined {
  for (const waiter of waiters) if (waiter.isAwake) return waiter;
  return undefined;
}
