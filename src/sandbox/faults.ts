import * as z from 'zod/mini';
import { checkObject, checkOptions, FUNCTION, type OptionRules, POSITIVE, recordOf, SHARE, words } from './check-options.ts';
import { drawLatency, LATENCY_RULE, type Latency, latencySchema } from './latency.ts';
import type { SandboxRequest } from './ledger.ts';
import type { Random } from './random.ts';
import { callOwn, SandboxError } from './sandbox-error.ts';

const FAILURES = ['reset', 'lost', 'stall', 'stall-body', 'cut', 'malformed'] as const;

/**
 * How an exchange may break.
 *
 * `reset`: the connection is reset before the request is carried out. `lost`: the request is carried out, then the connection is reset.
 * `stall`: the request is not carried out, and no answer comes. `stall-body`: the answer stops in the middle of its body.
 * `cut`: the connection ends in the middle of the body. `malformed`: the body is complete but not valid JSON.
 * An answer without a body stops, or its connection ends, before its headers.
 *
 * @example
 * const fail: Failure = 'cut';
 * sandbox.faults.add({ times: 1, fail });
 * console.log((await petstore.listInventory().withResponse()).attempts); // → 2
 */
export type Failure = (typeof FAILURES)[number];

/**
 * A fault, and the requests that it applies to. All given conditions must hold; without conditions it applies to every request.
 *
 * @example
 * const fault: Fault = { at: [1, 2], status: 503 };
 * sandbox.faults.add(fault);
 * await petstore.listInventory();
 * console.log(sandbox.report().byStatus); // → { '200': 1, '503': 2 }
 */
export interface Fault {
  /** Request numbers, counted from 1 over the whole sandbox; `clear()` does not start them again. */
  at?: number | readonly number[] | undefined;
  /** The share of requests that it applies to, from 0 to 1, drawn from the sandbox's seed. */
  rate?: number | undefined;
  /**
   * A condition of your own, asked before the body of the request is read. It must not be async. If it throws, `sandbox.fetch` rejects with
   * a `SandboxError`; on a port the answer is a 500 with its message.
   */
  when?: ((request: Readonly<Omit<SandboxRequest, 'quantity' | 'status' | 'code' | 'fault'>>) => boolean) | undefined;
  /** How often it happens at most, an integer of at least 1. @default no limit */
  times?: number | undefined;
  /**
   * The request is not carried out, and is answered with this status (200 to 599). A 429 asks to wait one second, unless `headers` set or
   * remove its Retry-After; requests before that are `duringPenalty`.
   */
  status?: number | undefined;
  /** The exact body of an answer with `status`; only with that. @default an Error body for a status of 400 or more, else nothing */
  body?: string | undefined;
  /** Headers to set in the answer, or to remove with `null`. They do not need `status`. */
  headers?: Readonly<Record<string, string | null>> | undefined;
  /** Milliseconds that are added to the latency of the answer. The change of an update is applied before them. */
  delayMs?: Latency | undefined;
  /** How the exchange breaks. */
  fail?: Failure | undefined;
}

const FAULT_RULES: OptionRules<Fault> = {
  at: [z.union([POSITIVE, z.array(POSITIVE)]), 'it must be the number of a request, from 1, or a list of them'],
  rate: [SHARE, 'it must be a number from 0 to 1'],
  when: [FUNCTION, 'it must be a function'],
  times: [POSITIVE, 'it must be a whole number, 1 or more'],
  status: [z.int().check(z.gte(200), z.lte(599)), 'it must be a whole number from 200 to 599'],
  body: [z.string(), 'it must be a string'],
  headers: [
    recordOf(z.nullable(z.string())).check(z.refine(areHeaders)),
    'it must be an object of valid header names, each with a valid value, or null to remove it',
  ],
  delayMs: [latencySchema, LATENCY_RULE],
  fail: [z.enum(FAILURES), `it must be one of ${words(FAILURES)}`],
};

function areHeaders(headers: Readonly<Record<string, string | null>>): boolean {
  try {
    const valid = new Headers();
    for (const [name, value] of Object.entries(headers)) valid.set(name, value ?? '');
    return true;
  } catch {
    return false;
  }
}

const EFFECTS = ['status', 'headers', 'delayMs', 'fail'] as const;

/**
 * Checks one fault; `place` is its name in messages, such as `faults[2]`.
 * @throws {SandboxError} that names the field, the rule and the value.
 */
export function checkFault(fault: Fault, place = 'fault'): void {
  checkObject(fault, { place: `\`${place}\``, example: '{ status: 503 }' });
  checkOptions(fault, FAULT_RULES, `${place}.`);
  if (fault.body !== undefined && fault.status === undefined) {
    throw new SandboxError(`Cannot use \`${place}.body\`: it needs a \`status\``);
  }
  if (EFFECTS.some((effect) => fault[effect] !== undefined)) return;
  throw new SandboxError(`Cannot use that object as \`${place}\`: it must have at least one of ${EFFECTS.join(', ')}`);
}

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
  /** Each fault, and how often it may still happen. Its own condition may remove or refill it. */
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
