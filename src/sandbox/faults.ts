import { drawLatency, type Latency } from './latency.ts';
import type { SandboxRequest } from './ledger.ts';
import type { Random } from './random.ts';

/**
 * How an exchange may break.
 *
 * `reset`: the connection is reset before anything is done. `lost`: the change is applied, then the connection is reset.
 * `stall`: nothing is done and no answer comes. `stall-body`: the answer stops in the middle of its body.
 * `cut`: the connection ends in the middle of the body. `malformed`: the body is complete but no JSON.
 */
export const FAILURES = ['reset', 'lost', 'stall', 'stall-body', 'cut', 'malformed'] as const;
export type Failure = (typeof FAILURES)[number];

/** What goes wrong, and for which requests. All conditions that are given must hold; none means every request. */
export interface Fault {
  /** Request numbers, counted from 1 over the whole sandbox. */
  at?: number | readonly number[];
  /** The share of requests that it hits, from 0 to 1, drawn from the sandbox's seed. */
  rate?: number;
  /** A rule of your own. */
  when?: (request: Readonly<SandboxRequest>) => boolean;
  /** How often it happens at most. @default no limit */
  times?: number;
  /** Answer with this status (200 to 599) and do nothing. */
  status?: number;
  /** The body of that answer, as it is. @default an Error body for a status of 400 or more, else nothing */
  body?: string;
  /** Headers of the answer to set, or to leave out with `null`; any answer, not only those with `status`. */
  headers?: Readonly<Record<string, string | null>>;
  /** Added to the latency of the answer. */
  delayMs?: Latency;
  /** How the exchange breaks. */
  fail?: Failure;
}

/** One thing that goes wrong with one request. */
export interface Mishap extends Omit<Fault, 'delayMs'> {
  readonly delayMs: number;
}

/** The faults of a sandbox; they can be added and taken back while it runs. */
export class Faults {
  readonly #random: Random;
  readonly #active = new Map<Fault, { left: number }>();

  constructor(faults: readonly Fault[], random: Random) {
    this.#random = random;
    for (const fault of faults) this.add(fault);
  }

  /** Adds a fault; returns a function that takes it back. */
  add(fault: Fault): () => void {
    const own = { ...fault };
    this.#active.set(own, { left: fault.times ?? Number.POSITIVE_INFINITY });
    return () => this.#active.delete(own);
  }

  /** Takes all faults back. */
  clear(): void {
    this.#active.clear();
  }

  /** The first fault that hits the request, and counts it. */
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
