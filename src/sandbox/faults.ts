import { checkFault, type Fault } from './fault.ts';
import { drawLatency } from './latency.ts';
import type { SandboxRequest } from './ledger.ts';
import type { Random } from './random.ts';

/** One thing that goes wrong with one request. */
export interface Mishap extends Omit<Fault, 'delayMs'> {
  readonly delayMs: number;
}

/**
 * The faults of a sandbox; they can be added and taken back while it runs.
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
   * Adds a fault; returns a function that takes it back.
   * @throws {SandboxError} for a fault that it cannot play.
   */
  add(fault: Fault): () => void {
    checkFault(fault);
    const own = { ...fault };
    this.#active.set(own, { left: fault.times ?? Number.POSITIVE_INFINITY });
    return () => this.#active.delete(own);
  }

  /** Takes all faults back. */
  clear(): void {
    this.#active.clear();
  }

  /**
   * The first fault that hits the request, and counts it.
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
    if (when?.(request) === false) return false;
    return rate === undefined || this.#random() < rate;
  }
}

/** Names a mishap for the ledger: `status 503, reset`. */
export function nameMishap({ status, fail, delayMs, headers }: Mishap): string {
  const parts = [status && `status ${status}`, fail, delayMs > 0 && `delay ${Math.round(delayMs)} ms`, headers && 'headers'];
  return parts.filter(Boolean).join(', ');
}
