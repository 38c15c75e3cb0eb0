import type { Call } from '../../call.ts';
import { isSuccess } from '../../contract/http.ts';
import type { Answer } from '../../contract/limits.ts';
import type { PetStoreError } from '../../errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RetryBudgetState } from '../ledger/quota.ts';
import { RetryBudget } from '../ledger/retry-budget.ts';
import { refusalToRetry } from './refusal.ts';

/** Limits the retries of one gate while many requests fail, and reports when none are left and when there are some again. */
export class RetryLimit {
  readonly #ledger: Ledger;
  // Created when a call is first retried: until then the budget is full.
  #budgetMade: RetryBudget | undefined;
  #isReportedEmpty = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get #budget(): RetryBudget {
    this.#budgetMade ??= new RetryBudget();
    return this.#budgetMade;
  }

  /** What is left of the retry budget. */
  get state(): RetryBudgetState {
    const { available, capacity } = this.#budget;
    return { available, capacity };
  }

  /**
   * Takes a retry out of the budget for another attempt of a call. If the budget is used up, returns the error that ends the call. While
   * the service may be down, a retry costs nothing: the circuit breaker limits the requests.
   */
  pay(call: Call, failure: PetStoreError): PetStoreError | undefined {
    if (this.#ledger.isOutageSuspected) return undefined;
    call.hasPaidRetry = this.#budget.spend();
    this.#report(call);
    return call.hasPaidRetry ? undefined : refusalToRetry(call, failure);
  }

  /** The call is over: a retry that was paid for and never sent is given back. */
  settle(call: Call): void {
    if (!call.hasPaidRetry) return;
    this.#budget.giveBack();
    this.#report(call);
  }

  /** Counts an answer whose status alone is final. A 2xx counts later, when its body has come. */
  observe(call: Call, answer: Answer): void {
    if (isFinal(answer) && !isSuccess(answer.status)) this.prove(call);
  }

  /** The service did what was asked, or refused it for good. */
  prove(call: Call): void {
    if (!this.#budgetMade) return;
    this.#budgetMade.earn();
    this.#report(call);
  }

  #report(call: Call): void {
    const { isEmpty, available } = this.#budget;
    if (isEmpty === this.#isReportedEmpty) return;
    this.#isReportedEmpty = isEmpty;
    call.emit('retryBudget', (event) => ({ ...event, state: isEmpty ? 'empty' : 'refilled', available }));
  }
}

/** Whether a retry of the same request would get the same answer. */
function isFinal({ status }: Answer): boolean {
  return status < 500 && status !== 408 && status !== 425 && status !== 429;
}
