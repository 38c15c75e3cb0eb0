import type { Call } from '../../call.ts';
import type { WaitReason } from '../../events.ts';

/** A shorter wait is over before anyone could act on its notice. */
const LEAST_REPORTED_MS = 1000;

/** Two conversions of one instant to the machine's clock differ by less. */
const SAME_INSTANT_MS = 100;

/** Reports that a gate closed, closes for longer, or opened again: each change once. */
export class GateNotices {
  #isClosed = false;
  #untilMs = Number.NEGATIVE_INFINITY;

  /** @param call the call that the event names */
  report(call: Call, { isClosed, until }: { isClosed: boolean; until: Date | undefined }): void {
    const untilMs = until?.getTime() ?? Number.NEGATIVE_INFINITY;
    const isSame = untilMs === this.#untilMs || Math.abs(untilMs - this.#untilMs) < SAME_INSTANT_MS;
    if (isClosed === this.#isClosed && isSame) return;
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
