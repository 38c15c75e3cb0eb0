import { checkClient, type PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import { hidingKey } from '../hiding-key.ts';
import { performJob, withJournals } from './perform-job.ts';
import { readWanted, type Wanted } from './read-wanted.ts';
import type { SyncReport } from './report.ts';
import { StockJob } from './stock-job.ts';
import { resolveSyncOptions, type SyncOptions } from './sync-options.ts';

/**
 * Brings the stock to a wanted state with the fewest requests: one list, then only the updates that change something.
 *
 * A failed pet does not stop the run. A bad key, too long a wait for quota (see {@link StopReason}) or an abort
 * does; then the promise still resolves with the report.
 * By default, all calls have low priority, so that other calls go first.
 *
 * @throws InvalidArgumentError for a value that is not a client, a bad entry of `wanted`, or a journal of another job or another store;
 *   nothing was sent.
 * @throws ConfigurationError for an unknown or bad option; nothing was sent. Also if the client throws one, except for its `apiKey`.
 * @throws JournalError when the journal cannot be read, written or closed.
 * @throws PetStoreError when the list fails for another reason than those that stop the run; no update was sent.
 * @throws the reason of an abort that comes before an asynchronous `wanted` or the journal is read to its end: what is pending is then
 *   unknown. Nothing was sent.
 * @example
 * const report = await syncInventory(petstore, [{ petId: 1, quantity: 40 }, { petId: 2, adjust: -1 }]);
 * console.log(`${report.updated} updated, ${report.missing.length} missing`); // → 2 updated, 0 missing
 */
export async function syncInventory(client: PetStoreApi<Int64>, wanted: Wanted, options: SyncOptions = {}): Promise<SyncReport> {
  const resolved = hidingKey(client, () => resolveSyncOptions(options));
  checkClient(client, resolved.dryRun ? ['streamInventory'] : undefined);
  const job = new StockJob(await readWanted(wanted, { client, signal: resolved.signal }));
  return withJournals([resolved.journal], () => performJob({ client, job, options: resolved }));
}
