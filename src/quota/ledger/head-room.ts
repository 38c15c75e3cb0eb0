/** Good answers that make up for one unforeseen 429; more if slots come back one by one, since no turn then brings a full window. */
const ANSWERS_PER_REQUEST = 20;
const ANSWERS_PER_REQUEST_REFILLED = 140;

/** Head-room: requests that are left to other users of the key after an unforeseen 429 has shown that there are some. */
export class HeadRoom {
  #requests = 0;
  #goodAnswers = 0;

  /** At most a quarter of a limit, so that there is always something left to send. */
  within(limit: number): number {
    return Math.min(this.#requests, Math.floor(limit / 4));
  }

  /** Counts up to a quarter of the limit: more would take hours of good answers to fall again. */
  widen(limit: number): void {
    this.#requests = Math.min(this.#requests + 1, Math.floor(limit / 4));
  }

  /** Counts an answer that was not a 429. */
  narrow(isRefilled: boolean): void {
    const enough = isRefilled ? ANSWERS_PER_REQUEST_REFILLED : ANSWERS_PER_REQUEST;
    if (++this.#goodAnswers % enough === 0) this.#requests = Math.max(0, this.#requests - 1);
  }
}
