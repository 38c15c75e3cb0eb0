import { defer } from '../clock/deferred.ts';
import type { EndSignal } from '../clock/light-signal.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { PetId } from '../contract/models.ts';

/** Runs the tasks of one pet one after the other; tasks of other pets do not wait for them. */
export class Turns {
  /** Settles when everything of a pet that was asked so far has ended. */
  readonly #ends = new Map<PetId, Promise<void>>();

  /** Rejects with the signal's reason as soon as it aborts while it waits; then it leaves its place, and nobody overtakes. */
  async run<T>(petId: PetId, signal: EndSignal, work: () => Promise<T>): Promise<T> {
    const before = this.#ends.get(petId) ?? Promise.resolve();
    const own = defer<void>(ignore);
    const end = before.then(() => own.promise);
    this.#ends.set(petId, end);
    // When those before it have ended too: a turn that is aborted ends sooner than they do.
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

function ignore(): void {}
