import type { PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import { performJob, thenClose } from './perform-job.ts';
import { readWanted, type Wanted } from './read-wanted.ts';
import { reportOf, type SyncReport } from './report.ts';
import { StockJob } from './stock-job.ts';
import { resolveSyncOptions, type SyncOptions } from './sync-options.ts';

/**
 * Brings the stock to a wanted state with the fewest requests: one list, then only the updates that change something.
 *
 * One failed pet does not stop the run; a bad key, too long a wait for quota (see {@link StopReason}) or an abort
 * does, and the promise still resolves with the report.
 * All calls have low priority, so that others pass.
 *
 * @throws InvalidArgumentError for a bad entry of `wanted`, or a journal of another job or another store; nothing was sent.
 * @throws ConfigurationError for an option that is unknown or bad; nothing was sent. Also what the client refuses so, its `apiKey` aside.
 * @throws JournalError when the journal cannot be read, written or closed.
 * @throws PetStoreError when the list cannot be had for another reason; nothing was sent.
 * @example
 * const report = await syncInventory(petstore, [{ petId: 1, quantity: 40 }, { petId: 2, adjust: -1 }]);
 * console.log(`${report.updated} updated, ${report.missing.length} missing`); // → 2 updated, 0 missing
 */
export async function syncInventory(client: PetStoreApi<Int64>, wanted: Wanted, given: SyncOptions = {}): Promise<SyncReport> {
  const options = resolveSyncOptions(given);
  const job = new StockJob(await readWanted(wanted, options.signal));
  if (options.signal?.aborted) return reportOf(job, 'abort');
  return thenClose(performJob({ client, job, options }), [options.journal]);
}
