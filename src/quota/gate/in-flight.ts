import type { Call } from '../../call.ts';
import type { Sending } from '../ledger/outstanding.ts';

/** The requests that left and whose bodies are not read yet. */
export class InFlight {
  // Those that are answered have no sending any more.
  readonly #sendings = new Map<Call, Sending | undefined>();

  get size(): number {
    return this.#sendings.size;
  }

  add(call: Call, sending: Sending): void {
    this.#sendings.set(call, sending);
  }

  answered(call: Call): void {
    if (this.#sendings.has(call)) this.#sendings.set(call, undefined);
  }

  remove(call: Call): void {
    this.#sendings.delete(call);
  }

  /** Drops those whose requests ended under their calls. Gives the sendings that will never be answered. */
  dropGone(): Sending[] {
    const gone = [...this.#sendings].filter(([call]) => call.isGone);
    for (const [call] of gone) this.#sendings.delete(call);
    return gone.flatMap(([, sending]) => sending ?? []);
  }
}
