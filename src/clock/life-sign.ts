const SIGN_EVERY_MS = 25;
/** Longer than a request keeps all others of its isolate from running. */
const GONE_AFTER_MS = 5_000;

/**
 * Tells others whether the request that it was made in still runs, and does things on its behalf. A request that is cancelled in
 * workerd ends without a word: no code of it runs any more, so that what it holds is never given back. While it runs, what it has
 * must not be touched by others.
 */
export class LifeSign {
  #seenAtMs = Date.now();
  #errand: (() => void) | undefined;
  readonly #timer = setInterval(() => this.#show(), SIGN_EVERY_MS);

  get isGone(): boolean {
    return Date.now() - this.#seenAtMs > GONE_AFTER_MS;
  }

  /** Does this within moments on behalf of its request; the first errand counts. */
  send(errand: () => void): void {
    this.#errand ??= errand;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #show(): void {
    this.#seenAtMs = Date.now();
    this.#errand?.();
  }
}
