import type { Call } from '../../call.ts';
import type { WaitReason } from '../../events.ts';
import type { Line } from './line.ts';

/** How a gate stands; `until` where the service said when it opens again. */
export interface GateState {
  isClosed: boolean;
  until: Date | undefined;
}

/** How long those in line at a gate still wait, and for what. */
export interface LineState {
  reason: WaitReason;
  ms: number;
  nowMs: number;
}

/** Who waits no longer than this is not worth telling: the next one would be told at once. */
const UNTOLD_MS = 1000;

/** Tells listeners that a gate closed, closes for longer, or opened again, and until when calls wait at it: each time once. */
export class GateNews {
  #told: GateState = { isClosed: false, until: undefined };
  #toldUntilMs = Number.NEGATIVE_INFINITY;
  #toldSize = 0;

  /** Told with the call that learned it. */
  tell(call: Call, { isClosed, until }: GateState): void {
    if (isClosed === this.#told.isClosed && until?.getTime() === this.#told.until?.getTime()) return;
    this.#told = { isClosed, until };
    call.tell('gate', (event) => ({ ...event, state: isClosed ? 'closed' : 'open', ...(until ? { until } : {}) }));
  }

  /** Told with the first call of the line: each instant once, and again when ten times as many wait for it. */
  tellLine({ first, size }: Line<unknown>, { reason, ms, nowMs }: LineState): void {
    const untilMs = nowMs + ms;
    if (ms <= UNTOLD_MS || (untilMs <= this.#toldUntilMs + UNTOLD_MS && size < 10 * this.#toldSize)) return;
    this.#toldUntilMs = untilMs;
    this.#toldSize = size;
    first?.call.tell('line', (event) => ({ ...event, reason, calls: size, ms }));
  }
}
