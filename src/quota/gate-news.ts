import type { Call } from '../call.ts';

/** How a gate stands; `until` where the service said when it opens again. */
export interface GateState {
  isClosed: boolean;
  until: Date | undefined;
}

/** Tells listeners that a gate closed, closes for longer, or opened again: each time once, with the call that learned it. */
export class GateNews {
  #told: GateState = { isClosed: false, until: undefined };

  tell(call: Call, { isClosed, until }: GateState): void {
    if (isClosed === this.#told.isClosed && until?.getTime() === this.#told.until?.getTime()) return;
    this.#told = { isClosed, until };
    call.tell('gate', (event) => ({ ...event, state: isClosed ? 'closed' : 'open', ...(until ? { until } : {}) }));
  }
}
