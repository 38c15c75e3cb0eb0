const SIGN_EVERY_MS = 25;
/** Longer than one request can block the other requests of its isolate. */
const GONE_AFTER_MS = 5_000;

/**
 * A heartbeat: shows whether the request that made it still runs, and runs tasks on behalf of that request. A request that is cancelled
 * in workerd runs no more code, not even `finally`, so it never releases what it holds. While it runs, other requests must not touch its
 * promises and timers.
 */
export class LifeSign {
  #seenAtMs = Date.now();
  #task: (() => void) | undefined;
  readonly #timer = setInterval(() => this.#show(), SIGN_EVERY_MS);

  get isGone(): boolean {
    return Date.now() - this.#seenAtMs > GONE_AFTER_MS;
  }

  /** Runs a task soon, on behalf of the request that this heartbeat belongs to; only the first task counts. */
  send(task: () => void): void {
    this.#task ??= task;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #show(): void {
    this.#seenAtMs = Date.now();
    this.#task?.();
  }
}
