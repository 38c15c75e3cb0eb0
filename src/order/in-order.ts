import type { Call } from '../call.ts';
import { type Deferred, defer } from '../clock/deferred.ts';
import { monotonicMs } from '../clock/monotonic.ts';

/** Sends the updates of one pet one after the other, in the order in which they were called; other calls pass. */
export class InOrder {
  /** The updates of each pet that are not settled, in the order of their calls; the first one is under way. */
  readonly #lines = new Map<string, Turn[]>();
  readonly #onRaise: (call: Call) => void;

  /** @param onRaise is called when a low call becomes a normal one */
  constructor(onRaise: (call: Call) => void) {
    this.#onRaise = onRaise;
  }

  /** Runs `work` when every earlier update of the call's pet has settled. Rejects with the reason of an abort. */
  run<T>(call: Call, work: () => Promise<T>): Promise<T> {
    return call.petId === undefined ? work() : this.#runInTurn(String(call.petId), call, work);
  }

  async #runInTurn<T>(pet: string, call: Call, work: () => Promise<T>): Promise<T> {
    const turn = this.#join(pet, call);
    try {
      if (turn.isWaiting) await this.#untilTurn(pet, turn);
      return await work();
    } finally {
      this.#leave(pet, turn);
    }
  }

  #join(pet: string, call: Call): Turn {
    const line = this.#lines.get(pet) ?? [];
    const turn = new Turn(call, line.length > 0);
    line.push(turn);
    this.#lines.set(pet, line);
    // A low update must not hold up the normal one behind it.
    if (call.priority === 'normal') for (const earlier of line) if (earlier.call.raise()) this.#onRaise(earlier.call);
    return turn;
  }

  async #untilTurn(pet: string, turn: Turn): Promise<void> {
    const startedAtMs = monotonicMs();
    turn.call.emit('wait', (event) => ({ ...event, reason: 'order', ms: 0 }));
    await turn.comes(() => this.#skipGone(pet));
    turn.call.waitedMs += monotonicMs() - startedAtMs;
  }

  /** Whoever leaves first, by abort or at the end, lets nobody overtake: the turn goes to the first that is left. */
  #leave(pet: string, turn: Turn): void {
    const line = this.#lines.get(pet) ?? [];
    const at = line.indexOf(turn);
    if (at < 0) return;
    line.splice(at, 1);
    const [first] = line;
    if (first) first.begin();
    else this.#lines.delete(pet);
  }

  /** Takes an update out of its line that never leaves by itself, because its request ended under it. */
  drop(call: Call): void {
    const pet = String(call.petId);
    const turn = this.#lines.get(pet)?.find((each) => each.call === call);
    if (turn) this.#leave(pet, turn);
  }

  /** Whoever waits looks for itself, since no other call may come. */
  #skipGone(pet: string): void {
    for (let first = this.#lines.get(pet)?.[0]; first?.call.isGone; first = this.#lines.get(pet)?.[0]) this.#leave(pet, first);
  }
}

/** One update's place in the line of its pet. */
class Turn {
  #coming: Deferred<void> | undefined;
  readonly call: Call;
  isWaiting: boolean;

  constructor(call: Call, isWaiting: boolean) {
    this.call = call;
    this.isWaiting = isWaiting;
  }

  /** Resolves when the turn comes; rejects with the reason of an abort. */
  async comes(onLook: () => void): Promise<void> {
    const { signal } = this.call;
    signal.throwIfAborted();
    const coming = defer<void>(onLook);
    this.#coming = coming;
    const onAbort = () => coming.reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    await coming.promise.finally(() => signal.removeEventListener('abort', onAbort));
  }

  begin(): void {
    this.isWaiting = false;
    this.#coming?.resolve();
  }
}
