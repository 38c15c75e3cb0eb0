import { defer } from '../clock/deferred.ts';
import type { EndSignal } from '../clock/light-signal.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { PetId } from '../contract/models.ts';

/** Runs the tasks of each pet one after the other. Tasks of different pets do not wait for each other. */
export class Turns {
  /** For each pet, a promise that resolves when all its tasks so far have ended. */
  readonly #ends = new Map<PetId, Promise<void>>();

  /** Runs a task in its turn. If the signal aborts while it waits, it rejects with the signal's reason; later tasks keep their order. */
  async run<T>(petId: PetId, signal: EndSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#ends.get(petId) ?? Promise.resolve();
    const own = defer<void>();
    const end = before.then(() => own.promise);
    this.#ends.set(petId, end);
    // `end` also waits for the tasks before this one, which may end later than this one if it is aborted.
    void end.then(() => this.#forget(petId, end));
    try {
      await untilAborted(before, signal);
      return await work();
    } finally {
      own.resolve();
    }
  }

  #forget(petId: PetId, end: Promise<void>): void {
    if (this.#ends.get(petId) === end) this.#ends.delete(petId);
  }
}
