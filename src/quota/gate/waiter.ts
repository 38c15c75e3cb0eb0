import type { Call } from '../../call.ts';
import { type Deferred, defer } from '../../clock/deferred.ts';

/** Who is told when a waiter aborts, becomes more urgent, or looks for itself how things stand. */
export interface WaiterOwner<Slot> {
  abandon(waiter: Waiter<Slot>): void;
  raise(waiter: Waiter<Slot>): void;
  look(): void;
}

export interface WaiterStart<Slot> {
  owner: WaiterOwner<Slot>;
  sinceMs: number;
  /** When the call began, which may have waited here before. */
  callSinceMs: number;
}

/** One call that waits for its slot, until it is admitted or refused. */
export class Waiter<Slot> {
  readonly call: Call;
  readonly sinceMs: number;
  readonly #callSinceMs: number;
  readonly #onAbort: () => void;
  readonly #slot: Deferred<Slot>;

  constructor(call: Call, { owner, sinceMs, callSinceMs }: WaiterStart<Slot>) {
    this.call = call;
    this.sinceMs = sinceMs;
    this.#callSinceMs = callSinceMs;
    this.#slot = defer(() => owner.look());
    this.#onAbort = () => owner.abandon(this);
    call.signal.addEventListener('abort', this.#onAbort);
    call.onRaise = () => owner.raise(this);
  }

  /** The slot; rejects when the call is refused or aborted. */
  get slot(): Promise<Slot> {
    return this.#slot.promise;
  }

  /** Whether it would take a slot now. */
  get isAwake(): boolean {
    return this.#slot.isAwake();
  }

  admit(slot: Slot, nowMs: number): void {
    this.#leave(nowMs);
    this.#slot.resolve(slot);
  }

  refuse(reason: unknown, nowMs: number): void {
    this.#leave(nowMs);
    this.#slot.reject(reason);
  }

  /** When it has waited too long behind an outage. */
  patienceEndsAtMs(outageSinceMs: number): number {
    return Math.max(this.#callSinceMs, outageSinceMs) + this.call.options.maxWaitMs;
  }

  #leave(nowMs: number): void {
    this.call.signal.removeEventListener('abort', this.#onAbort);
    this.call.onRaise = undefined;
    this.call.waitedMs += nowMs - this.sinceMs;
  }
}
