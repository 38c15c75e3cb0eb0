import type { Call } from '../../call.ts';
import { isSuccess } from '../../contract/http.ts';
import type { Answer } from '../../contract/limits.ts';
import type { PetStoreError } from '../../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RetryBudgetState } from '../ledger/quota.ts';
import { refusalToRetry } from './refusal.ts';

const CAPACITY = 10;
/** Good answers that pay for one retry: the budget lasts while at most one request in eight fails. */
const ANSWERS_PER_RETRY = 7;

/** Limits the retries of one gate: each retry takes one out, good answers refill it. Reports when none are left and when there are some again. */
export class RetryBudget {
  readonly #ledger: Ledger;
  // In good answers.
  #balance = CAPACITY * ANSWERS_PER_RETRY;
  // Whether the budget was used up and less than half of it has come back.
  #isEmpty = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** What is left of the retry budget. */
  get state(): RetryBudgetState {
    return { available: this.#available, capacity: CAPACITY };
  }

  get #available(): number {
    return Math.floor(this.#balance / ANSWERS_PER_RETRY);
  }

  /**
   * Takes a retry out of the budget for another attempt of a call. If the budget is used up, returns the error that ends the call. While
   * the service may be down, a retry costs nothing: the circuit breaker limits the requests.
   */
  pay(call: Call, failure: PetStoreError): PetStoreError | undefined {
    if (this.#ledger.isOutageSuspected) return undefined;
    call.hasPaidRetry = this.#available > 0;
    if (!call.hasPaidRetry) return refusalToRetry(call, failure);
    this.#change(call, -ANSWERS_PER_RETRY);
    return undefined;
  }

  /** The call is over: a retry that was paid for and never sent is given back. */
  settle(call: Call): void {
    if (call.hasPaidRetry) this.#change(call, ANSWERS_PER_RETRY);
  }

  /** Counts an answer whose status alone is final. A 2xx counts later, when its body has come. */
  observe(call: Call, answer: Answer): void {
    if (isFinal(answer) && !isSuccess(answer.status)) this.prove(call);
  }

  /** The service did what was asked, or refused it for good. */
  prove(call: Call): void {
    this.#change(call, 1);
  }

  #change(call: Call, answers: number): void {
    this.#balance = Math.min(CAPACITY * ANSWERS_PER_RETRY, this.#balance + answers);
    const available = this.#available;
    const isEmpty = available === 0 || (this.#isEmpty && 2 * available < CAPACITY);
    if (isEmpty === this.#isEmpty) return;
    this.#isEmpty = isEmpty;
    call.emit('retryBudget', (event) => ({ ...event, state: isEmpty ? 'empty' : 'refilled', available }));
  }
}

/** Whether a retry of the same request would get the same answer. */
function isFinal({ status }: Answer): boolean {
  return status < 500 && status !== 408 && status !== 425 && status !== 429;
}
