import * as z from 'zod/mini';
import { type Latency, latencySchema } from './latency.ts';
import type { SandboxRequest } from './ledger.ts';
import { SandboxError } from './sandbox-error.ts';

/** What {@link Failure} names. */
export const FAILURES = ['reset', 'lost', 'stall', 'stall-body', 'cut', 'malformed'] as const;

/**
 * How an exchange may break.
 *
 * `reset`: the connection is reset before anything is done. `lost`: the change is applied, then the connection is reset.
 * `stall`: nothing is done and no answer comes. `stall-body`: the answer stops in the middle of its body.
 * `cut`: the connection ends in the middle of the body. `malformed`: the body is complete but no JSON.
 */
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

const positive = z.int().check(z.gte(1));
const effects = ['status', 'headers', 'delayMs', 'fail'] as const;
/** What `Fault` accepts. */
export const faultSchema = z
  .strictObject({
    at: z.optional(z.union([positive, z.array(positive)])),
    rate: z.optional(z.number().check(z.gte(0), z.lte(1))),
    when: z.optional(z.custom<() => boolean>((value) => typeof value === 'function')),
    times: z.optional(positive),
    status: z.optional(z.int().check(z.gte(200), z.lte(599))),
    body: z.optional(z.string()),
    headers: z.optional(z.record(z.string(), z.nullable(z.string()))),
    delayMs: z.optional(latencySchema),
    fail: z.optional(z.enum(FAILURES)),
  })
  .check(z.refine((given) => effects.some((effect) => given[effect] !== undefined)));

/** The sentence that says what a fault may be. */
export const FAULT_RULE =
  'it must be an object with at least one of status (200 to 599), headers, delayMs, fail ' +
  `(${FAILURES.map((name) => `"${name}"`).join(', ')}), and as conditions at, rate (0 to 1), when, times`;

/** Checks one fault that is added later. */
export function checkFault(added: Fault): void {
  if (!faultSchema.safeParse(added).success) throw new SandboxError(`Cannot add that fault: ${FAULT_RULE}`);
}
