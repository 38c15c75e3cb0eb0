/**
 * Where a sandbox reads the time: a function or an object such as `Date`; milliseconds since 1970.
 *
 * @example
 * const clock: TimeSource = () => Date.UTC(2026, 10, 21);
 * console.log(createSandbox({ clock }).clock.now()); // → 1795219200000
 */
export type TimeSource =
  | (() => number)
  | {
      /** As `Date.now`. */
      now(): number;
    };

interface Sleeper {
  readonly dueAtMs: number;
  timer: ReturnType<typeof setTimeout> | undefined;
  wake(): void;
}

/** Node fires a longer timer at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The sandbox's own clock: it runs with its source until a test holds it or moves it.
 *
 * Moving it moves everything that the sandbox waits for or counts, and the `Date` header too, so that a moved clock is also a
 * service whose clock is off.
 *
 * @example
 * sandbox.clock.hold();
 * await petstore.listInventory();
 * sandbox.clock.advance(60_000); // the next minute, at once
 */
export class SandboxClock {
  readonly #source: () => number;
  readonly #sleepers = new Set<Sleeper>();
  #aheadMs = 0;
  #heldAtMs: number | undefined;

  /** Without a source, the global `Date.now` is read at every call, so that fake timers are seen. */
  constructor(source: TimeSource = () => Date.now()) {
    this.#source = typeof source === 'function' ? source : () => source.now();
  }

  /** The time by this clock, in milliseconds since 1970. */
  now(): number {
    return this.#heldAtMs ?? this.#source() + this.#aheadMs;
  }

  /** Sets the clock, forwards or backwards; it goes on running from there unless it is held. */
  set(at: number | Date): void {
    const atMs = Number(at);
    if (this.#heldAtMs !== undefined) this.#heldAtMs = atMs;
    else this.#aheadMs = atMs - this.#source();
    this.#wakeDue();
  }

  /** Moves the clock forwards; whatever falls due on the way happens now. */
  advance(ms: number): void {
    this.set(this.now() + ms);
  }

  /** Stops the clock: from now on only `set` and `advance` move it, and what waits holds no timer. */
  hold(): void {
    this.#heldAtMs = this.now();
    this.#wakeDue();
  }

  /** Lets a held clock run again from where it stands. */
  release(): void {
    if (this.#heldAtMs === undefined) return;
    this.#aheadMs = this.#heldAtMs - this.#source();
    this.#heldAtMs = undefined;
    this.#wakeDue();
  }

  /** Resolves when the time has passed by this clock, or as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= 0 || signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(sleeper.timer);
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { dueAtMs: this.now() + ms, timer: undefined, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake);
      this.#arm(sleeper);
    });
  }

  #wakeDue(): void {
    const nowMs = this.now();
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueAtMs <= nowMs) sleeper.wake();
      else this.#arm(sleeper);
    }
  }

  #arm(sleeper: Sleeper): void {
    clearTimeout(sleeper.timer);
    if (this.#heldAtMs !== undefined) return;
    // Rounded up, since a timer drops fractions and would fire before the time has come. Of a time that has passed Node would warn.
    const leftMs = Math.max(0, Math.ceil(sleeper.dueAtMs - this.now()));
    sleeper.timer = setTimeout(sleeper.wake, Math.min(leftMs, LONGEST_TIMER_MS));
  }
}
