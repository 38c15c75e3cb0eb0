/** So many good answers make up for one surprise; more on a bucket, where head-room is kept once and not lost with every window. */
const ANSWERS_PER_REQUEST = 20;
const ANSWERS_PER_REQUEST_OF_BUCKET = 140;

/** The requests that are left to other users of the key, once they showed themselves by a 429 that nobody foresaw. */
export class HeadRoom {
  #requests = 0;
  #goodAnswers = 0;

  /** At most half of a limit, so that there is always something left to send. */
  within(limit: number): number {
    return Math.min(this.#requests, Math.floor(limit / 4));
  }

  /** What can never be kept is not remembered either: it would take hours of good answers to forget. */
  widen(limit: number): void {
    this.#requests = Math.min(this.#requests + 1, Math.floor(limit / 4));
  }

  /** An answer that was no 429 came. */
  narrow(isBucket: boolean): void {
    const enough = isBucket ? ANSWERS_PER_REQUEST_OF_BUCKET : ANSWERS_PER_REQUEST;
    if (++this.#goodAnswers % enough === 0) this.#requests = Math.max(0, this.#requests - 1);
  }
}
