import type { ClientEvents } from 'petstore-inventory';

/** What a caller was told of one update. */
export interface Told {
  outcome: ClientEvents['settled']['outcome'];
  /** Requests that were sent for it. */
  attempts: number;
}

/** Compares what callers were told of the updates of one pet with the quantity that the service has. */
export class Judge {
  /** The quantity of the latest update that surely was applied. */
  #sure: number;
  /** Quantities of updates that may have been applied, and may still be on their way. */
  readonly #doubtful = new Set<number>();
  readonly wrong: string[] = [];

  constructor(quantity: number) {
    this.#sure = quantity;
  }

  /** An update to `wanted` was told to have ended so, and the service now has `actual`. */
  judge(told: Told | undefined, wanted: number, actual: number): void {
    if (told === undefined) this.wrong.push(`nothing was told of the update to ${wanted}`);
    if (told?.outcome === 'succeeded') this.#sure = wanted;
    // A request whose answer nobody waited for may still arrive, also when a later one was answered.
    if (told?.outcome === 'unknown' || (told?.outcome === 'succeeded' && told.attempts > 1)) this.#doubtful.add(wanted);
    if (actual === this.#sure || this.#doubtful.has(actual)) return;
    this.wrong.push(`the update to ${wanted} was told as ${told?.outcome}, but the service has ${actual}`);
    this.#sure = actual;
  }
}
