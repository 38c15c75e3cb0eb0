import type { ClientEvents } from 'petstore-inventory';

/** The result of one update, as its caller got it. */
export interface Told {
  outcome: ClientEvents['settled']['outcome'];
  /** Requests that were sent for it. */
  attempts: number;
}

/** Compares the results of the updates of one pet with the quantity that the service has. */
export class Judge {
  /** The quantity of the latest update that surely was applied. */
  #sure: number;
  /** Quantities of updates that may have been applied, and may still be on their way. */
  readonly #doubtful = new Set<number>();
  readonly wrong: string[] = [];

  constructor(quantity: number) {
    this.#sure = quantity;
  }

  /** An update to `wanted` ended with this result, and the service now has `actual`. */
  judge(told: Told | undefined, wanted: number, actual: number): void {
    if (told === undefined) this.wrong.push(`nothing was told of the update to ${wanted}`);
    if (told?.outcome === 'succeeded') this.#sure = wanted;
    // A request that was given up may still arrive, even after a later one was answered.
    if (told?.outcome === 'unknown' || (told?.outcome === 'succeeded' && told.attempts > 1)) this.#doubtful.add(wanted);
    if (actual === this.#sure || this.#doubtful.has(actual)) return;
    this.wrong.push(`the update to ${wanted} was told as ${told?.outcome}, but the service has ${actual}`);
    this.#sure = actual;
  }
}
