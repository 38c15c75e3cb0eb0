import type { PetStoreClientOptions, PlanLimits } from 'petstore-inventory';
import type { SandboxOptions } from 'petstore-inventory/sandbox';
import * as z from 'zod/mini';

/** The options of a sandbox that can be written as JSON; the world gives the others. */
export type Service = Omit<SandboxOptions, 'pets' | 'keys' | 'plans' | 'clock' | 'seed' | 'domains' | 'history'>;

/** The options of a client that can be written as JSON. */
export type ClientSettings = Pick<
  PetStoreClientOptions,
  'plan' | 'concurrency' | 'share' | 'maxWaitMs' | 'maxRetries' | 'attemptTimeoutMs' | 'totalTimeoutMs'
>;

const count = z.int().check(z.gte(0));
const part = z.number().check(z.gte(0), z.lte(1));

/** How the calls come: all at once, from workers that each make one after the other, one every so often, or in bursts with pauses. */
const Load = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('burst'), calls: count }),
  z.strictObject({ kind: z.literal('loop'), calls: count, workers: count }),
  z.strictObject({ kind: z.literal('steady'), calls: count, everyMs: count }),
  z.strictObject({ kind: z.literal('bursts'), calls: count, bursts: count, pauseMs: count }),
]);

/** A service, its clock, the other users of the key, a client and its calls: everything that a run depends on. */
export const World = z.strictObject({
  seed: z.int(),
  /** What is out of the ordinary, for whoever reads the world; nothing depends on it. */
  odd: z.array(z.string()),
  plan: z.strictObject({ requestsPerMinute: count, requestsPerDay: z.optional(count) }),
  /** The service's time at the start. */
  startsAtMs: z.int(),
  /** How far the client's clock is ahead of the service's. */
  clientAheadMs: z.int(),
  /** The sandbox checks its options itself. */
  service: z.custom<Service>((value) => typeof value === 'object' && value !== null),
  /** Requests of the key shortly before the start, which the client knows nothing of. */
  spent: count,
  /** Another program that uses the key and waits as it is told. */
  other: z.optional(z.strictObject({ perMinute: z.number(), atOnce: count })),
  load: Load,
  clients: count,
  /** Parts of the calls. */
  aborted: part,
  low: part,
  lists: part,
  missing: part,
  /** The client checks its options itself. */
  client: z.custom<ClientSettings>((value) => typeof value === 'object' && value !== null),
});

/** One world, as JSON tells it. */
export type World = z.infer<typeof World>;

/** The plan of a world, as options have it. */
export function limitsOf({ requestsPerMinute, requestsPerDay }: World['plan']): PlanLimits {
  return { requestsPerMinute, ...(requestsPerDay !== undefined && { requestsPerDay }) };
}
