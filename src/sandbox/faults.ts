import { checkFault, type Fault } from './fault.ts';
import { drawLatency } from './latency.ts';
import type { SandboxRequest } from './ledger.ts';
import type { Random } from './random.ts';
import { callOwn, SandboxError } from './sandbox-error.ts';

/** A fault as it is applied to one request, with its delay drawn. */
export interface Mishap extends Omit<Fault, 'delayMs'> {
  readonly delayMs: number;
}

/**
 * The faults of a sandbox; they can be added and removed while it runs.
 *
 * @example
 * const takeBack = sandbox.faults.add({ delayMs: 50 });
 * const { waitedMs } = await petstore.listInventory().withResponse();
 * takeBack();
 */
export class Faults {
  readonly #random: Random;
  readonly #active = new Map<Fault, { left: number }>();

  constructor(faults: readonly Fault[], random: Random) {
    this.#random = random;
    for (const fault of faults) this.add(fault);
  }

  /**
   * Adds a fault; returns a function that removes it.
   * @throws {SandboxError} for an invalid fault.
   */
  add(fault: Fault): () => void {
    checkFault(fault);
    const own = { ...fault };
    this.#active.set(own, { left: timesOf(own) });
    return () => this.#active.delete(own);
  }

  /**
   * Lets every fault happen as often as when it was added.
   * @internal
   */
  refill(): void {
    for (const [fault, turns] of this.#active) turns.left = timesOf(fault);
  }

  /** Removes all faults. */
  clear(): void {
    this.#active.clear();
  }

  /**
   * Finds the first fault that applies to the request, and counts one use of it.
   * @internal
   */
  draw(request: SandboxRequest): Mishap | undefined {
    for (const [fault, turns] of this.#active) {
      if (turns.left <= 0 || !this.#hits(fault, request)) continue;
      turns.left -= 1;
      return { ...fault, delayMs: drawLatency(fault.delayMs ?? 0, this.#random) };
    }
    return undefined;
  }

  #hits({ at, rate, when }: Fault, request: SandboxRequest): boolean {
    if (typeof at === 'number' ? at !== request.number : at?.includes(request.number) === false) return false;
    if (when && !holds(when, request)) return false;
    return rate === undefined || this.#random() < rate;
  }
}

function timesOf({ times = Number.POSITIVE_INFINITY }: Fault): number {
  return times;
}

/** Asks a fault's own condition. @throws {SandboxError} if it throws or returns a promise */
function holds(when: (request: SandboxRequest) => unknown, request: SandboxRequest): boolean {
  const name = 'the condition `when` of a fault';
  const answer = callOwn(name, () => when(request));
  if (typeof answer === 'object' && answer !== null && 'then' in answer) {
    // Its rejection would end the process.
    Promise.resolve(answer).catch(() => {});
    throw new SandboxError(`Cannot use ${name}: it returned a promise, so it must not be async`);
  }
  return Boolean(answer);
}

/** Describes a mishap in the ledger, such as `status 503, reset`. */
export function nameMishap({ status, fail, delayMs, headers }: Mishap): string {
  const parts = [status && `status ${status}`, fail, delayMs > 0 && `delay ${Math.round(delayMs)} ms`, headers && 'headers'];
  return parts.filter(Boolean).join(', ');
}
