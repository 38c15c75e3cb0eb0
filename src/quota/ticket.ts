import type { Call } from '../call.ts';
import type { Answer } from '../contract/limits.ts';
import type { PetStoreError } from '../errors.ts';
import type { Sending } from './outstanding.ts';

/** Who gave a ticket and hears what became of it. */
export interface TicketOwner {
  /** The headers of an answer are in. Gives when the gate opens again, if it is closed now. */
  heard(call: Call, sending: Sending, answer: Answer): number | undefined;
  lost(call: Call, sending: Sending, failure: PetStoreError | undefined): void;
  unused(call: Call): void;
  left(call: Call): void;
}

/** The right to send one request now. Whoever has it says how the request went, and when its body is read. */
export class Ticket {
  readonly #owner: TicketOwner;
  readonly #call: Call;
  readonly #sending: Sending;

  constructor(owner: TicketOwner, call: Call, sending: Sending) {
    this.#owner = owner;
    this.#call = call;
    this.#sending = sending;
  }

  /** The headers of the answer are in. Gives when the gate opens again, if it is closed now; milliseconds on our clock. */
  heard(answer: Answer): number | undefined {
    return this.#owner.heard(this.#call, this.#sending, answer);
  }

  /** No answer came: for a failure, or (undefined) because the call was aborted. */
  lost(failure: PetStoreError | undefined): void {
    this.#owner.lost(this.#call, this.#sending, failure);
  }

  /** Nothing was sent; the ticket is given back. */
  unused(): void {
    this.#owner.unused(this.#call);
  }

  /** The request is over, its body read or dropped. */
  left(): void {
    this.#owner.left(this.#call);
  }
}
