import { monotonicMs } from '../clock/monotonic.ts';
import { startTimer } from '../clock/timer.ts';
import type { Int64 } from '../contract/models.ts';
import { fieldOf } from '../thrown.ts';
import { ChangeIterator, type FormItem } from './change-iterator.ts';
import type { AnyChange } from './stock-columns.ts';

/** The kinds of failures that a later list would meet too, such as a refused key. */
const FINAL_KINDS: readonly unknown[] = ['authentication', 'configuration', 'invalid-argument'];
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

type MaxAgeMs = number | 'quota' | undefined;

interface PollerParts<Ids extends Int64> {
  form: FormItem<Ids>;
  /** Milliseconds until the held stock is too old; 0 or less if it is. */
  dueInMs: (maxAgeMs: MaxAgeMs) => number;
  /** Whether the last list failed. */
  isStale: () => boolean;
  /** Reads a list of low priority, or joins one. */
  look: (maxAgeMs: MaxAgeMs, signal: AbortSignal) => Promise<void>;
}

/** Reads lists for the iterations over changes, as often as the strictest `maxAgeMs` among them requires. */
export class ChangePoller<Ids extends Int64> {
  readonly #parts: PollerParts<Ids>;
  readonly #iterators = new Set<ChangeIterator<Ids>>();
  #looking: AbortController | undefined;
  #stopTimer: (() => void) | undefined;
  #failures = 0;
  #pausedUntilMs = 0;

  constructor(parts: PollerParts<Ids>) {
    this.#parts = parts;
  }

  iterate({ signal, maxAgeMs }: { signal?: AbortSignal | undefined; maxAgeMs?: MaxAgeMs }): ChangeIterator<Ids> {
    return new ChangeIterator({
      form: this.#parts.form,
      signal,
      maxAgeMs,
      onBegin: (iterator) => this.#iterators.add(iterator),
      onWait: () => this.arm(),
      onEnd: (iterator) => this.#leave(iterator),
    });
  }

  /** Passes changes on to all iterations. They are computed as they are read, so that without an iteration they cost nothing. */
  tell(changes: Iterable<AnyChange>): void {
    if (this.#iterators.size === 0) return;
    for (const change of changes) for (const iterator of this.#iterators) iterator.push(change);
    for (const iterator of this.#iterators) iterator.flush();
  }

  /** Sets the timer for the next list. It depends on the age of the held stock, and keeps the process alive if a consumer waits. */
  arm(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    // Also after a list that a reader asked for.
    if (!this.#parts.isStale()) [this.#failures, this.#pausedUntilMs] = [0, 0];
    const [first, ...others] = [...this.#iterators].filter(({ hasBegun }) => hasBegun);
    if (!first || this.#looking) return;
    const { dueInMs } = this.#parts;
    const strictest = others.reduce((one, other) => (dueInMs(other.maxAgeMs) < dueInMs(one.maxAgeMs) ? other : one), first);
    const inMs = Math.max(dueInMs(strictest.maxAgeMs), this.#pausedUntilMs - monotonicMs());
    if (inMs <= 0) return this.#look(strictest.maxAgeMs);
    const keepsProcess = [first, ...others].some(({ isWaiting }) => isWaiting);
    this.#stopTimer = startTimer(inMs, () => this.arm(), { keepsProcess });
  }

  close(reason: unknown): void {
    for (const iterator of this.#iterators) iterator.fail(reason);
  }

  #leave(iterator: ChangeIterator<Ids>): void {
    this.#iterators.delete(iterator);
    if (this.#iterators.size === 0) this.#looking?.abort();
    this.arm();
  }

  #look(maxAgeMs: MaxAgeMs): void {
    const looking = new AbortController();
    this.#looking = looking;
    const end = () => {
      if (this.#looking === looking) this.#looking = undefined;
      this.arm();
    };
    this.#parts.look(maxAgeMs, looking.signal).then(end, (error: unknown) => {
      if (!looking.signal.aborted) this.#takeFailure(error);
      end();
    });
  }

  #takeFailure(error: unknown): void {
    if (FINAL_KINDS.includes(fieldOf(error, 'kind')) || fieldOf(error, 'name') === 'AbortError') return this.close(error);
    const retryAt = fieldOf(error, 'retryAt');
    const closedForMs = retryAt instanceof Date ? retryAt.getTime() - Date.now() : 0;
    const pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMsAfter(++this.#failures));
    this.#pausedUntilMs = monotonicMs() + Math.max(pauseMs, closedForMs);
  }
}

/** How long no list is read after so many in a row have failed: a second, and twice as long after each further one. */
export function pauseMsAfter(failures: number): number {
  return FIRST_PAUSE_MS * 2 ** (failures - 1);
}
