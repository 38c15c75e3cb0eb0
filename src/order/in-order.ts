import type { Call } from '../call.ts';
import { PetLine } from './pet-line.ts';
import type { Sending } from './turn.ts';

/** Sends the updates of each pet one after the other, in the order of their calls. */
export class InOrder<Permit, Reply> {
  /** The updates of each pet that are not settled. */
  readonly #lines = new Map<string, PetLine<Permit, Reply>>();

  /**
   * Sends an update when every earlier one of its pet has settled. With `latestOnly` a later update may be sent in its place, and both then
   * settle in the same way. Rejects with the reason of an abort.
   */
  run(call: Call, sending: Sending<Permit, Reply>): Promise<Reply> {
    const pet = String(call.petId);
    const line = this.#lines.get(pet) ?? new PetLine(() => this.#lines.delete(pet));
    this.#lines.set(pet, line);
    return line.run(call, sending);
  }

  /** Removes an update whose incoming request has ended: it would never leave its line by itself. */
  drop(call: Call): void {
    this.#lines.get(String(call.petId))?.drop(call);
  }
}
