import type { HeardWindow, LeaseAnswer } from '../../quota-store.ts';

/** A lease that was used up as fast as this is followed by one of twice its size. */
const FAST_MS = 1000;
/** A store that lets its processes ask at once is still not asked without a pause. */
const LEAST_WAIT_MS = 25;
/** No longer than this between two looks whether another process's probe was answered. */
const LONGEST_POLL_MS = 400;

/** How much to ask a store for, and when to ask again, so that few asks do. Pure: the time is a parameter. */
export class AskPacing {
  #granted = 0;
  #grantedAtMs = Number.NEGATIVE_INFINITY;
  // Asks in a row that met another process's probe.
  #polls = 0;

  granted(slots: number, nowMs: number): void {
    this.#granted = slots;
    this.#grantedAtMs = nowMs;
    this.#polls = 0;
  }

  /** Calls that come one by one shall not each cost an ask. */
  grown(wanted: number, nowMs: number): number {
    return nowMs - this.#grantedAtMs > FAST_MS ? wanted : Math.max(wanted, 2 * this.#granted);
  }

  /** When to ask again after nothing was granted. Whoever is sure sooner than the store that the window has ended says so. */
  askAtMs({ reason, waitMs }: LeaseAnswer, minute: HeardWindow | undefined, nowMs: number): number {
    if (reason === 'probe') return nowMs + Math.min(LONGEST_POLL_MS, Math.max(LEAST_WAIT_MS, waitMs) * 2 ** this.#polls++);
    this.#polls = 0;
    if (waitMs === 0) return nowMs + LEAST_WAIT_MS;
    const endsInMs = minute?.endsInMs ?? 0;
    return nowMs + (reason === 'quota' && endsInMs > 0 ? Math.min(waitMs, endsInMs) : waitMs);
  }
}
