const SIGN_EVERY_MS = 500;
/** Longer than a request keeps all others of its isolate from running. */
const GONE_AFTER_MS = 5_000;

/**
 * Tells others whether the request that it was made in still runs. A request that is cancelled in workerd ends without a word:
 * no code of it runs any more, so that what it holds is never given back.
 */
export class LifeSign {
  #seenAtMs = Date.now();
  readonly #timer = setInterval(() => this.#show(), SIGN_EVERY_MS);

  get isGone(): boolean {
    return Date.now() - this.#seenAtMs > GONE_AFTER_MS;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #show(): void {
    this.#seenAtMs = Date.now();
  }
}
