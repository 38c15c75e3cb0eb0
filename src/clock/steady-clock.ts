import { monotonicMs } from './monotonic.ts';

/** A timer may fire this much early. More means that the clock was stopped and the timers were not, as with fake timers. */
const EARLY_TIMER_MS = 50;

/** A monotonic clock, so that no wait becomes shorter or longer because the machine's date is set. */
export class SteadyClock {
  #aheadMs = 0;

  now(): number {
    return monotonicMs() + this.#aheadMs;
  }

  /** Called when a timer for this instant fires: the clock then shows at least this instant. */
  reach(instantMs: number): void {
    const missingMs = instantMs - this.now();
    if (missingMs > EARLY_TIMER_MS) this.#aheadMs += missingMs;
  }

  /** Converts an instant of the monotonic clock to this clock; never later than `nowMs`. */
  begin(startedAtMs: number, nowMs: number): number {
    return Math.min(nowMs, startedAtMs + this.#aheadMs);
  }

  /** Converts an instant to what the machine's clock will then show. */
  toDate(instantMs: number): Date {
    return new Date(Date.now() + instantMs - this.now());
  }
}
