import type { Call } from '../../call.ts';
import type { WaitReason } from '../../events.ts';

/** A shorter wait is over before anyone could act on its notice. */
const LEAST_REPORTED_MS = 1000;

/** One instant is converted to the machine's clock anew for each report; the results differ by less than this. */
const SAME_INSTANT_MS = 100;

/** Reports that a gate closed, closes for longer, or opened again: each change once. */
export class GateNotices {
  #isClosed = false;
  // 0 while the gate is open, or closed by an outage.
  #untilMs = 0;

  /** @param call the call that the event names */
  report(call: Call, { isClosed, until }: { isClosed: boolean; until: Date | undefined }): void {
    const untilMs = until?.getTime() ?? 0;
    if (isClosed === this.#isClosed && Math.abs(untilMs - this.#untilMs) < SAME_INSTANT_MS) return;
    this.#isClosed = isClosed;
    this.#untilMs = untilMs;
    call.emit('gate', (event) => ({ ...event, state: isClosed ? 'closed' : 'open', ...(until ? { until } : {}) }));
  }
}

/** How many calls wait at a gate, for how long, and for what. */
export interface QueueState {
  calls: number;
  reason: WaitReason;
  ms: number;
  nowMs: number;
}

/** Reports until when calls wait at a gate: each instant once, and again when ten times as many wait for it. */
export class QueueNotices {
  #untilMs = Number.NEGATIVE_INFINITY;
  #calls = 0;

  /** @param first the first call of the queue */
  report(first: Call | undefined, { calls, reason, ms, nowMs }: QueueState): void {
    const untilMs = nowMs + ms;
    if (ms <= LEAST_REPORTED_MS || (untilMs <= this.#untilMs + LEAST_REPORTED_MS && calls < 10 * this.#calls)) return;
    this.#untilMs = untilMs;
    this.#calls = calls;
    first?.emit('queue', (event) => ({ ...event, reason, calls, ms }));
  }
}
