import type { Call } from '../../call.ts';
import type { Answer } from '../../contract/limits.ts';
import type { PetStoreError } from '../../errors.ts';
import { isPromising } from '../ledger/circuit-breaker.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RetryBudgetState } from '../ledger/quota.ts';
import { RetryBudget } from '../ledger/retry-budget.ts';
import { refusalToRetry } from './refusal.ts';

/** Limits the retries of one gate while many requests fail, and tells listeners when none are left and when there are some again. */
export class RetryLimit {
  readonly #ledger: Ledger;
  // Made when a call is first tried again: until then it is full.
  #budgetMade: RetryBudget | undefined;
  #isReportedEmpty = false;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  get #budget(): RetryBudget {
    this.#budgetMade ??= new RetryBudget();
    return this.#budgetMade;
  }

  /** What is left. */
  get state(): RetryBudgetState {
    const { available, capacity } = this.#budget;
    return { available, capacity };
  }

  /**
   * Pays for another attempt of a call. Gives the error that ends the call where the budget is used up. While the service may be down a
   * retry is free: the circuit breaker limits the requests.
   */
  pay(call: Call, failure: PetStoreError): PetStoreError | undefined {
    if (this.#ledger.isOutageSuspected) return undefined;
    call.hasPaidRetry = this.#budget.spend();
    this.#report(call);
    return call.hasPaidRetry ? undefined : refusalToRetry(call, failure);
  }

  /** The call is over: a retry that was paid for and never sent costs nothing. */
  settle(call: Call): void {
    if (!call.hasPaidRetry) return;
    call.hasPaidRetry = false;
    this.#budget.giveBack();
    this.#report(call);
  }

  /** The headers of an answer are in. A good one counts when its body has come, too. */
  observe(call: Call, answer: Answer): void {
    if (isFinal(answer) && !isPromising(answer)) this.prove(call);
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

/** Whether the same request would be answered the same again. */
function isFinal({ status }: Answer): boolean {
  return status < 500 && status !== 408 && status !== 425 && status !== 429;
}
