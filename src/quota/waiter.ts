import type { Call } from '../call.ts';

/** Who is told when a waiter aborts or becomes more urgent. */
export interface WaiterOwner<Slot> {
  abandon(waiter: Waiter<Slot>): void;
  raise(waiter: Waiter<Slot>): void;
}

/** One call that waits for its slot, until it is admitted or refused. */
export class Waiter<Slot> {
  readonly call: Call;
  readonly sinceMs: number;
  /** The slot; rejects when the call is refused or aborted. */
  readonly slot: Promise<Slot>;
  readonly #onAbort: () => void;
  #resolve: (slot: Slot) => void = ignore;
  #reject: (reason: unknown) => void = ignore;

  constructor(call: Call, sinceMs: number, owner: WaiterOwner<Slot>) {
    this.call = call;
    this.sinceMs = sinceMs;
    this.slot = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#onAbort = () => owner.abandon(this);
    call.signal.addEventListener('abort', this.#onAbort, { once: true });
    call.onRaise = () => owner.raise(this);
  }

  admit(slot: Slot, nowMs: number): void {
    this.#leave(nowMs);
    this.#resolve(slot);
  }

  refuse(reason: unknown, nowMs: number): void {
    this.#leave(nowMs);
    this.#reject(reason);
  }

  /** When it has waited too long behind an outage. */
  patienceEndsAtMs(outageSinceMs: number): number {
    return Math.max(this.sinceMs, outageSinceMs) + this.call.options.maxWaitMs;
  }

  #leave(nowMs: number): void {
    this.call.signal.removeEventListener('abort', this.#onAbort);
    this.call.onRaise = undefined;
    this.call.waitedMs += nowMs - this.sinceMs;
  }
}

function ignore(): void {}
