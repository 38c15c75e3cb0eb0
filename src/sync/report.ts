import type { PetId } from '../contract/models.ts';
import type { StopReason } from './failure.ts';
import type { FailedUpdate, StockJob } from './stock-job.ts';
import type { WantedEntry } from './wanted-stock.ts';

/**
 * What a synchronisation did; with a journal, what all runs of its job did together.
 *
 * @example
 * const report: SyncReport = await syncInventory(petstore, [{ petId: 1, quantity: 40 }, { petId: 999, quantity: 1 }]);
 * console.log(report.updated, report.missing, report.failed.length, report.stopped); // → 1 [ 999 ] 0 undefined
 */
export interface SyncReport {
  /** Pets whose quantity was set. */
  updated: number;
  /** Pets that stood at the wanted quantity already. */
  unchanged: number;
  /** Wanted pets that the service's list lacks. */
  missing: PetId[];
  /** Pets that could not be updated, and why. */
  failed: FailedUpdate[];
  /**
   * What was not sent, or was under way when the run was aborted. An adjustment that was not resolved yet, because there was no
   * list, stays an adjustment; so the array is itself a wanted state.
   */
  pending: WantedEntry[];
  /** Why the run ended early; left out when it did not. */
  stopped?: StopReason;
  /** When an earlier run finished this job: this one sent nothing. */
  finishedAt?: Date;
}

export function reportOf(job: StockJob, stopped: StopReason | undefined): SyncReport {
  return {
    updated: job.count('done'),
    unchanged: job.count('unchanged'),
    missing: [...job.petsThatAre('missing')],
    failed: [...job.failed.values()],
    pending: [...job.pending()],
    ...(stopped !== undefined && { stopped }),
  };
}
