import type { PetId } from '../contract/models.ts';
import type { PetStoreFailure } from '../errors.ts';
import type { Stop, StopReason } from './failure.ts';
import type { FailedUpdate, StockJob } from './stock-job.ts';
import type { WantedEntry } from './wanted-stock.ts';

/**
 * The result of a synchronisation; with a journal, of all runs of its job together.
 *
 * @example
 * const report: SyncReport = await syncInventory(petstore, [{ petId: 1, quantity: 40 }, { petId: 999, quantity: 1 }]);
 * console.log(report.updated, report.missing, report.failed.length, report.stopped); // → 1 [ 999 ] 0 undefined
 */
export interface SyncReport {
  /** Number of pets whose quantity was set. */
  updated: number;
  /** Number of pets that already had the wanted quantity. */
  unchanged: number;
  /** Wanted pets that the service's list lacks. */
  missing: PetId[];
  /** Pets that could not be updated, and why. */
  failed: FailedUpdate[];
  /**
   * Entries that were not sent, or were in flight when the run was aborted. An adjustment stays an adjustment if there was no list to
   * compute its quantity from. The array is a valid `wanted` for another run.
   */
  pending: WantedEntry[];
  /** Why the run ended early; missing if it did not. */
  stopped?: StopReason;
  /** The error that stopped it: `message` says why and, if known, `retryAt` when to run it again. Missing after an abort. */
  error?: PetStoreFailure;
  /** When an earlier run finished this job; then this run sent nothing. */
  finishedAt?: Date;
  /**
   * Number of updates that the undone job left in doubt, so that they may still be applied: start the undo again later. Missing if there
   * are none.
   */
  inDoubt?: number;
}

export function reportOf(job: StockJob, stop?: Stop): SyncReport {
  return {
    updated: job.count('done'),
    unchanged: job.count('unchanged'),
    missing: [...job.petsThatAre('missing')],
    failed: [...job.failed.values()],
    pending: [...job.pending()],
    ...stop,
  };
}
