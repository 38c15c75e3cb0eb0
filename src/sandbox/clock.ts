import { callOwn, SandboxError, show } from './sandbox-error.ts';

/**
 * The source of a sandbox's time, in milliseconds since 1970: a function, or an object such as `Date`.
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
  keepsProcess: boolean;
  wake(): void;
}

/** Three centuries, so that the year of every date in an answer has four digits. */
export const LONGEST_MS = 1e13;

/** Node fires a timer with a longer delay at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The sandbox's own clock. It follows its source until a test holds it or moves it.
 *
 * The sandbox counts and waits by this clock, and it sets the `Date` header. So with a moved clock, the sandbox also plays a service
 * whose clock is wrong.
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

  /**
   * The time by this clock, in milliseconds since 1970.
   * @throws {SandboxError} if the source throws, or gives anything but a number within ±1e13.
   */
  now(): number {
    return this.#heldAtMs ?? this.#sourceMs() + this.#aheadMs;
  }

  /**
   * Sets the clock, forwards or backwards. It keeps running from there unless it is held.
   * @throws {SandboxError} for anything but a number within ±1e13 or a Date within these bounds.
   */
  set(at: number | Date): void {
    const atMs = checkMs(at instanceof Date ? at.getTime() : at, 'the time of the clock');
    if (this.#heldAtMs !== undefined) this.#heldAtMs = atMs;
    else this.#aheadMs = atMs - this.#sourceMs();
    this.#wakeDue();
  }

  /**
   * Moves the clock forwards. Waits that end in that time end now.
   * @throws {SandboxError} for anything but a number within ±1e13, and if the clock would then show a time beyond these bounds.
   */
  advance(ms: number): void {
    this.set(this.now() + checkMs(ms, 'the time to advance the clock'));
  }

  /** Stops the clock: from now on only `set` and `advance` move it, and waits have no timers. */
  hold(): void {
    this.#heldAtMs = this.now();
    this.#wakeDue();
  }

  /** Lets a held clock run again, from the instant at which it is held. */
  release(): void {
    if (this.#heldAtMs === undefined) return;
    this.#aheadMs = this.#heldAtMs - this.#sourceMs();
    this.#heldAtMs = undefined;
    this.#wakeDue();
  }

  /** Resolves when the time has passed by this clock, or as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.resolve();
    return this.#sleep(ms, { signal, onAbort: (sleeper) => sleeper.wake() });
  }

  /**
   * Resolves when the time has passed by this clock. From an abort on, that time does not keep the process alive.
   * @internal
   */
  travel(ms: number, signal: AbortSignal): Promise<void> {
    const release = (sleeper: Sleeper) => {
      sleeper.keepsProcess = false;
      sleeper.timer?.unref?.();
    };
    return this.#sleep(ms, { signal, onAbort: release });
  }

  #sleep(ms: number, { signal, onAbort }: { signal: AbortSignal | undefined; onAbort: (sleeper: Sleeper) => void }): Promise<void> {
    if (ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const abort = () => onAbort(sleeper);
      const wake = () => {
        clearTimeout(sleeper.timer);
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const sleeper: Sleeper = { dueAtMs: this.now() + ms, timer: undefined, keepsProcess: true, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', abort);
      this.#arm(sleeper);
    });
  }

  #sourceMs(): number {
    return checkMs(callOwn('`clock`', this.#source), 'the time of `clock`');
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
    // Rounded up, since a timer drops fractions and would fire too early. Not below 0, since Node warns of a negative delay.
    const leftMs = Math.max(0, Math.ceil(sleeper.dueAtMs - this.now()));
    sleeper.timer = setTimeout(sleeper.wake, Math.min(leftMs, LONGEST_TIMER_MS));
    // In a browser a timer is a number, which has no `unref`.
    if (!sleeper.keepsProcess) sleeper.timer.unref?.();
  }
}

/** Returns milliseconds that a caller or a caller's function gave. @throws {SandboxError} for anything but a number within ±1e13 */
function checkMs(ms: unknown, what: string): number {
  if (typeof ms === 'number' && Math.abs(ms) <= LONGEST_MS) return ms;
  throw new SandboxError(`Cannot use ${show(ms)} as ${what}: it must be a number of milliseconds, at most 1e13`);
}
