const CAPACITY = 10;
/** Good answers that pay for one retry: the budget lasts while at most one request in eight fails. */
const ANSWERS_PER_RETRY = 7;

/** A budget of retries: each retry takes one out, good answers refill it. Pure arithmetic in whole numbers. */
export class RetryBudget {
  get capacity(): number {
    return CAPACITY;
  }

  // In good answers.
  #balance = CAPACITY * ANSWERS_PER_RETRY;
  #isEmpty = false;

  /** Whole retries left. */
  get available(): number {
    return Math.floor(this.#balance / ANSWERS_PER_RETRY);
  }

  /** Whether the budget was used up and less than half of it has come back. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Takes a retry out. Returns whether there was one. */
  spend(): boolean {
    const isPaid = this.available > 0;
    if (isPaid) this.#balance -= ANSWERS_PER_RETRY;
    this.#isEmpty ||= this.available === 0;
    return isPaid;
  }

  /** Puts back a retry that was taken out and not made. */
  giveBack(): void {
    this.#fill(ANSWERS_PER_RETRY);
  }

  /** A good answer came. */
  earn(): void {
    this.#fill(1);
  }

  #fill(answers: number): void {
    this.#balance = Math.min(CAPACITY * ANSWERS_PER_RETRY, this.#balance + answers);
    if (2 * this.available >= CAPACITY) this.#isEmpty = false;
  }
}
