import type { Call } from '../../call.ts';
import type { Answer } from '../../contract/limits.ts';
import type { PetStoreError } from '../../errors.ts';
import { isPromising } from '../ledger/circuit-breaker.ts';
import type { Sending } from '../ledger/outstanding.ts';

/** An answer whose headers are in; `tell` is to be called once they count, before anything else is told of them. */
export interface Heard {
  answer: Answer;
  tell: () => void;
}

/** Who gave a ticket and hears what became of it. */
export interface TicketOwner {
  /** Whether requests may be sent at all. */
  isOpen(): boolean;
  /** The headers of an answer are in. Gives when the gate opens again, if it is closed now. */
  heard(call: Call, sending: Sending, heard: Heard): number | undefined;
  lost(call: Call, sending: Sending, failure: PetStoreError | undefined): void;
  /** The body of an answer broke after its headers. */
  broken(call: Call, sending: Sending, failure: PetStoreError): void;
  /** What came of an answer's body shows that the service is up. */
  proven(call: Call, sending: Sending): void;
  unused(call: Call, sending: Sending): void;
  left(call: Call): void;
}

/** The right to send one request now. Whoever has it says how the request went, and when its body is read. */
export class Ticket {
  readonly #owner: TicketOwner;
  readonly #call: Call;
  readonly #sending: Sending;
  // The headers promise a body that is still to be proven.
  #isPromising = false;

  constructor(owner: TicketOwner, call: Call, sending: Sending) {
    this.#owner = owner;
    this.#call = call;
    this.#sending = sending;
  }

  /** False where the gate closed since the ticket was given: then it is to be given back. */
  get isGood(): boolean {
    return this.#owner.isOpen();
  }

  /** The headers of the answer are in. Gives when the gate opens again, if it is closed now; milliseconds on our clock. Calls `tell`. */
  heard(answer: Answer, tell: () => void = () => {}): number | undefined {
    this.#isPromising = isPromising(answer);
    return this.#owner.heard(this.#call, this.#sending, { answer, tell });
  }

  /** No answer came: for a failure, or (undefined) because the call was aborted or the caller's own code failed. */
  lost(failure: PetStoreError | undefined): void {
    this.#owner.lost(this.#call, this.#sending, failure);
  }

  /**
   * The body was not read: it was cut, reset, or did not come in time; undefined where the caller's own code failed. A call that was
   * ended meanwhile blames nobody.
   */
  broken(failure: PetStoreError | undefined): void {
    if (this.#call.signal.aborted) return;
    this.#isPromising = false;
    if (failure) this.#owner.broken(this.#call, this.#sending, failure);
  }

  /** Enough of the body came to tell that the service is up. */
  #prove(): void {
    if (!this.#isPromising) return;
    this.#isPromising = false;
    this.#owner.proven(this.#call, this.#sending);
  }

  /** Nothing was sent; the ticket is given back. */
  unused(): void {
    this.#owner.unused(this.#call, this.#sending);
  }

  /** The request is over, its body read or dropped. One that was aborted before anything was read tells nothing. */
  left(): void {
    if (!this.#call.signal.aborted || this.#call.delivered > 0) this.#prove();
    this.#owner.left(this.#call);
  }
}
