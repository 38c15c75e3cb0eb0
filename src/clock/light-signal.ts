/** The part of an `AbortSignal` that is needed to listen for an abort; a {@link LightSignal} has it too. */
export interface EndSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: () => void, options: { once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

const NONE: readonly (() => void)[] = [];

/** A cheap internal `AbortSignal`: every call and every attempt has one. Its listeners must not throw. */
export class LightSignal implements EndSignal {
  aborted = false;
  reason: unknown;
  #listeners: readonly (() => void)[] = NONE;
  // Created for the first code that takes no other signal, such as `fetch`.
  #controller: AbortController | undefined;

  abort(reason: unknown): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#controller?.abort(reason);
    // A listener may remove another one.
    for (const listener of this.#listeners) if (this.#listeners.includes(listener)) listener();
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason;
  }

  /** The `AbortSignal` that aborts together with this one. */
  toAbortSignal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.reason);
    }
    return this.#controller.signal;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners = this.#listeners === NONE ? [listener] : [...this.#listeners, listener];
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    // Most signals have one listener, and lose it in every call.
    const isOnly = this.#listeners.length === 1 && this.#listeners[0] === listener;
    this.#listeners = isOnly ? NONE : this.#listeners.filter((one) => one !== listener);
  }
}
