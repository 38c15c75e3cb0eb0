import type { Call } from '../call.ts';
import { PetLine } from './pet-line.ts';
import type { Sending } from './turn.ts';

/** Sends the updates of one pet one after the other, in the order in which they were called. */
export class InOrder<Permit, Reply> {
  /** The updates of each pet that are not settled. */
  readonly #lines = new Map<string, PetLine<Permit, Reply>>();
  readonly #onRaise: (call: Call) => void;

  /** @param onRaise is called when a low call becomes a normal one */
  constructor(onRaise: (call: Call) => void) {
    this.#onRaise = onRaise;
  }

  /**
   * Sends an update when every earlier one of its pet has settled. With `latestOnly` a later one may go in its place: then it settles as
   * that one does. Rejects with the reason of an abort.
   */
  async run(call: Call, sending: Sending<Permit, Reply>): Promise<Reply> {
    const pet = String(call.petId);
    const line = this.#lines.get(pet) ?? new PetLine(this.#onRaise);
    this.#lines.set(pet, line);
    try {
      return await line.run(call, sending);
    } finally {
      this.#forgetEmpty(pet, line);
    }
  }

  /** Removes an update whose incoming request has ended, so that it never leaves its line by itself. */
  drop(call: Call): void {
    const pet = String(call.petId);
    const line = this.#lines.get(pet);
    if (!line) return;
    line.drop(call);
    this.#forgetEmpty(pet, line);
  }

  /** The pet may have another line by now: superseded updates leave after the one that they follow. */
  #forgetEmpty(pet: string, line: PetLine<Permit, Reply>): void {
    if (line.isEmpty && this.#lines.get(pet) === line) this.#lines.delete(pet);
  }
}
