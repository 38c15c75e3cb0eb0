import { createWindow, type Policy, type Window, type WindowSize } from './windows.ts';

/** The values of `X-RateLimit-*`. */
export interface ToldLimit {
  readonly limit: number;
  readonly remaining: number;
  readonly resetAtMs: number;
}

interface CountRules extends WindowSize {
  readonly policy: Policy;
  /** By how many milliseconds the reported Remaining lags behind the count. */
  readonly lagMs: number;
  /** Whether Limit reports a token bucket's burst instead of the plan's limit. */
  readonly tellsBurst: boolean;
}

/** One limit of one key: its window, and the values that the headers report. */
export class Count {
  readonly #window: Window;
  readonly #copy: LaggingCopy | undefined;
  /** The most that can be left: the limit, or the burst of a token bucket. */
  readonly #most: number;
  readonly #toldLimit: number;

  constructor({ policy, lagMs, tellsBurst, ...size }: CountRules) {
    this.#window = createWindow(policy, size);
    this.#copy = lagMs > 0 ? new LaggingCopy(createWindow(policy, size), lagMs) : undefined;
    this.#most = size.burst ?? size.limit;
    this.#toldLimit = tellsBurst ? this.#most : size.limit;
  }

  /** When the next request may be sent: now, if one is left. */
  opensAtMs(nowMs: number): number {
    return this.#window.opensAtMs(nowMs);
  }

  take(nowMs: number): void {
    this.#window.take(nowMs);
    this.#copy?.note(nowMs, (window) => window.take(nowMs));
  }

  giveBack(takenAtMs: number, nowMs: number): void {
    this.#window.giveBack(takenAtMs, nowMs);
    this.#copy?.note(nowMs, (window) => window.giveBack(takenAtMs, nowMs));
  }

  /** The values that the headers report. */
  told(nowMs: number): ToldLimit {
    const remaining = this.#copy?.remaining(nowMs) ?? this.#window.remaining(nowMs);
    return { limit: this.#toldLimit, remaining: Math.max(0, remaining), resetAtMs: this.#window.resetAtMs(nowMs) };
  }

  /** The true values, without lag, for the page and the state. */
  gauge(nowMs: number): ToldLimit {
    return { limit: this.#most, remaining: Math.max(0, this.#window.remaining(nowMs)), resetAtMs: this.#window.resetAtMs(nowMs) };
  }
}

/** The state of a window `lagMs` ago. */
class LaggingCopy {
  readonly #window: Window;
  readonly #lagMs: number;
  readonly #changes: { atMs: number; apply: (window: Window) => void }[] = [];

  constructor(window: Window, lagMs: number) {
    this.#window = window;
    this.#lagMs = lagMs;
  }

  // Applies what is old enough, since a copy that no header reports is never asked for its Remaining.
  note(atMs: number, apply: (window: Window) => void): void {
    this.#catchUp(atMs - this.#lagMs);
    this.#changes.push({ atMs, apply });
  }

  remaining(nowMs: number): number {
    const seenMs = nowMs - this.#lagMs;
    this.#catchUp(seenMs);
    return this.#window.remaining(seenMs);
  }

  #catchUp(seenMs: number): void {
    const unseen = this.#changes.findIndex(({ atMs }) => atMs > seenMs);
    for (const { apply } of this.#changes.splice(0, unseen < 0 ? this.#changes.length : unseen)) apply(this.#window);
  }
}
