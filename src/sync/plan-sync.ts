import { checkClient, type PetStoreApi } from '../api.ts';
import type { Int64, PetId } from '../contract/models.ts';
import { hidingKey } from '../hiding-key.ts';
import { estimateMs, fitsToday } from './estimate.ts';
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
  /** The updates that change something, each from one quantity to another, in the order of the wanted pets. */
  changes: { petId: PetId; from: number; to: number }[];
  /** Number of pets that already have the wanted quantity. */
  unchanged: number;
  /** Wanted pets that the service's list lacks. */
  missing: PetId[];
  /** Number of wanted entries beyond the first of each pet. */
  duplicates: number;
  /** Pets that the service lists more than once, so that their quantity is unclear. Nothing would be sent for them. */
  ambiguous: PetId[];
  /** Pets whose adjustment would take their quantity beyond ±(2^53−1). Nothing would be sent for them. */
  outOfRange: PetId[];
  /** Number of requests that `syncInventory` would send, including its list. */
  requests: number;
  /** How long these requests would have to wait for the key's quota and the client's `share` of it, in milliseconds. */
  estimatedMs: number;
  /** Whether what is left of today suffices, of the key's quota and of the client's `share`; missing if the client does not know. */
  fitsToday?: boolean;
}

/**
 * The options of `planSync`.
 *
 * @example
 * const options: PlanOptions = { signal: AbortSignal.timeout(60_000) };
 * const plan = await planSync(petstore, [{ petId: 1, quantity: 40 }], options);
 */
export interface PlanOptions {
  /**
   * Aborts the planning, which then rejects with the signal's reason.
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
 * Plans what `syncInventory` would do, at the cost of one list request. A client that can only list suffices.
 *
 * @throws InvalidArgumentError for a value that is not a client, or a bad entry of `wanted`; nothing was sent.
 * @throws ConfigurationError for an unknown or bad option.
 * @throws PetStoreError when the list fails, also for a refused key or a used-up quota, where `syncInventory` resolves with its report.
 * @example
 * const plan = await planSync(petstore, [{ petId: 1, quantity: 40 }, { petId: 2, adjust: 5 }]);
 * console.log(`${plan.requests} requests, ${plan.estimatedMs} ms of waiting`); // → 3 requests, 0 ms of waiting
 */
export async function planSync(
  client: Pick<PetStoreApi<Int64>, 'streamInventory' | 'quota'>,
  wanted: Wanted,
  options: PlanOptions = {},
): Promise<SyncPlan> {
  checkClient(client, ['streamInventory']);
  hidingKey(client, () => checkOptions(options, ['signal', 'now']));
  const { signal, now = Date.now } = options;
  const job = new StockJob(await readWanted(wanted, { client, signal }));
  signal?.throwIfAborted();
  await readList(client, job, { signal });
  const unsendable = { ambiguous: [...job.petsThatAre('duplicate')], outOfRange: [...job.petsThatAre('outOfRange')] };
  job.endList();

  const requests = job.stock.size === 0 ? 0 : job.count('change') + 1;
  const fits = fitsToday(requests, client.quota);
  return {
    changes: Array.from(job.changes(), ({ petId, from, to }) => ({ petId, from, to })),
    unchanged: job.count('unchanged'),
    missing: [...job.petsThatAre('missing')],
    duplicates: job.stock.duplicates,
    ...unsendable,
    requests,
    estimatedMs: estimateMs(requests, client.quota, now()),
    ...(fits !== undefined && { fitsToday: fits }),
  };
}
