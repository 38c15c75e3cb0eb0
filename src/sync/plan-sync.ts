import type { PetStoreApi } from '../api.ts';
import type { Int64, PetId } from '../contract/models.ts';
import { estimateMs, fitsToday } from './estimate.ts';
import { ProgressReporter } from './progress.ts';
import { readList } from './read-list.ts';
import { readWanted, type Wanted } from './read-wanted.ts';
import { StockJob } from './stock-job.ts';
import { checkOptions } from './sync-options.ts';

/**
 * What a synchronisation would do.
 *
 * @example
 * const plan: SyncPlan = await planSync(petstore, [{ petId: 1, quantity: 40 }, { petId: 999, quantity: 1 }]);
 * console.log(plan.changes, plan.missing); // → [ { petId: 1, from: 0, to: 40 } ] [ 999 ]
 */
export interface SyncPlan {
  /** The updates that change something, `from` a quantity `to` another, in the order of the wanted pets. */
  changes: { petId: PetId; from: number; to: number }[];
  /** Pets that stand at the wanted quantity already. */
  unchanged: number;
  /** Wanted pets that the service's list lacks. */
  missing: PetId[];
  /** Wanted entries beyond the first of their pet. */
  duplicates: number;
  /** Pets that the service lists more than once, so that their quantity is unclear; nothing would be sent for them. */
  ambiguous: PetId[];
  /** Requests that `syncInventory` would send, its own list included. */
  requests: number;
  /** How long these requests would have to wait for quota, in milliseconds. */
  estimatedMs: number;
  /** Whether today's quota suffices; left out where the client does not know it. */
  fitsToday?: boolean;
}

/**
 * How a plan is made.
 *
 * @example
 * const options: PlanOptions = { signal: AbortSignal.timeout(60_000) };
 * const plan = await planSync(petstore, [{ petId: 1, quantity: 40 }], options);
 */
export interface PlanOptions {
  /**
   * Rejects the plan with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * The clock, in milliseconds since 1970.
   * @default Date.now
   */
  now?: (() => number) | undefined;
}

/**
 * Tells what `syncInventory` would do, for the price of one list.
 *
 * @throws InvalidArgumentError for a bad entry of `wanted`; nothing was sent.
 * @throws ConfigurationError for an option that is unknown or bad.
 * @throws PetStoreError when the list cannot be had.
 * @example
 * const plan = await planSync(petstore, [{ petId: 1, quantity: 40 }, { petId: 2, adjust: 5 }]);
 * console.log(`${plan.requests} requests, ${plan.estimatedMs} ms of waiting`); // → 3 requests, 0 ms of waiting
 */
export async function planSync(client: PetStoreApi<Int64>, wanted: Wanted, options: PlanOptions = {}): Promise<SyncPlan> {
  checkOptions(options, ['signal', 'now']);
  const { signal, now = Date.now } = options;
  const job = new StockJob(await readWanted(wanted, signal));
  signal?.throwIfAborted();
  if (job.needsList) await readList(client, job, { signal, progress: new ProgressReporter(client, { now }) });
  job.endList();

  const requests = job.stock.size === 0 ? 0 : job.count('change') + 1;
  const fits = fitsToday(requests, client.quota);
  return {
    changes: Array.from(job.changes(), ({ petId, from, to }) => ({ petId, from, to })),
    unchanged: job.count('unchanged'),
    missing: [...job.petsThatAre('missing')],
    duplicates: job.stock.duplicates,
    ambiguous: Array.from(job.failed.values(), ({ petId }) => petId),
    requests,
    estimatedMs: estimateMs(requests, client.quota, now()),
    ...(fits !== undefined && { fitsToday: fits }),
  };
}
