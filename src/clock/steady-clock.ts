import { monotonicMs } from './monotonic.ts';

/** Timers may end a little before their time; by more only where the clock was stopped and the timers were not, as fake ones may be. */
const EARLY_TIMER_MS = 50;

/** A monotonic clock, so that no wait becomes shorter or longer because the machine's date is set. */
export class SteadyClock {
  #aheadMs = 0;

  now(): number {
    return monotonicMs() + this.#aheadMs;
  }

  /** Called when a timer for this instant fires: the clock is then at least there. */
  reach(instantMs: number): void {
    const missingMs = instantMs - this.now();
    if (missingMs > EARLY_TIMER_MS) this.#aheadMs += missingMs;
  }

  /** When something began that the monotonic clock noted; never later than `nowMs`. */
  begin(startedAtMs: number, nowMs: number): number {
    return Math.min(nowMs, startedAtMs + this.#aheadMs);
  }

  /** An instant as the machine's clock will show it. */
  toDate(instantMs: number): Date {
    return new Date(Date.now() + instantMs - this.now());
  }
}
