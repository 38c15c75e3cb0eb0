import type { PetStoreApi } from '../api.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import type { Quota } from '../quota/ledger/quota.ts';
import { unharmed } from '../thrown.ts';
import { estimateMs, limitsOf, quotaFor } from './estimate.ts';
import type { StockJob } from './stock-job.ts';

/**
 * The progress of a synchronisation.
 *
 * @example
 * const onProgress = ({ phase, updated, changes, etaMs }: SyncProgress) => console.log(phase, `${updated}/${changes}`, etaMs ?? '');
 * await syncInventory(petstore, [{ petId: 1, quantity: 40 }], { onProgress });
 */
export interface SyncProgress {
  /** What the synchronisation is doing. */
  phase: 'listing' | 'updating' | 'done';
  /** Number of wanted pets. */
  wanted: number;
  /** Number of wanted entries beyond the first of each pet. */
  duplicates: number;
  /** Number of items of the service's list that were read. */
  listed: number;
  /** Number of updates of the job: those that are done, have failed, or are still to be sent; complete once the list has been read. */
  changes: number;
  /** Number of pets whose quantity was set. */
  updated: number;
  /** Number of pets that already have the wanted quantity. */
  unchanged: number;
  /** Number of wanted pets that the service's list lacks; complete once the list has been read. */
  missing: number;
  /** Number of pets that could not be updated. */
  failed: number;
  /** Number of calls of this run, including the list but not the client's retries. */
  requests: number;
  /** According to the client's quota, nothing can be sent before this instant. */
  waitingUntil?: Date;
  /** The estimated time left in milliseconds, from the quota and the pace so far; missing until the list has been read. */
  etaMs?: number;
}

/** Items of the list between two reports. */
const LISTED_STEP = 1000;

interface ProgressParts {
  client: Pick<PetStoreApi, 'quota'>;
  job: StockJob;
  options: { onProgress?: ((progress: SyncProgress) => void) | undefined; priority: 'normal' | 'low'; now: () => number };
}

/** Reports the progress of a run to its `onProgress`. */
export class ProgressReporter {
  readonly #parts: ProgressParts;
  #phase: SyncProgress['phase'] = 'listing';
  #requests = 0;
  /** When updates began, on the monotonic clock, and how many pets were settled then. */
  #start = { atMs: 0, settled: 0 };

  constructor(parts: ProgressParts) {
    this.#parts = parts;
  }

  begin(phase: SyncProgress['phase']): void {
    // Also at an end without updates: what the list settled says nothing about their pace.
    if (this.#phase === 'listing') this.#start = { atMs: monotonicMs(), settled: this.#settled };
    this.#phase = phase;
    this.tell();
  }

  countRequest(): void {
    this.#requests += 1;
  }

  /** Called for each item of the list. */
  countListed(): void {
    if (this.#parts.job.listed % LISTED_STEP === 0) this.tell();
  }

  tell(): void {
    const { onProgress } = this.#parts.options;
    if (onProgress) unharmed(() => onProgress(this.#progress()));
  }

  #progress(): SyncProgress {
    const { client, job, options } = this.#parts;
    const nowMs = options.now();
    const quota = quotaFor(options.priority, client.quota);
    const waitingUntil = closedUntil(quota, nowMs);
    return {
      phase: this.#phase,
      wanted: job.stock.size,
      duplicates: job.stock.duplicates,
      listed: job.listed,
      changes: this.#settled + job.count('change'),
      updated: job.count('done'),
      unchanged: job.count('unchanged'),
      missing: job.count('missing'),
      failed: job.failed.size,
      requests: this.#requests,
      ...(waitingUntil && { waitingUntil }),
      ...(job.isListed && { etaMs: Math.max(estimateMs(job.count('change'), quota, nowMs), this.#paceMs()) }),
    };
  }

  /** The time that the remaining updates would take at the pace so far. */
  #paceMs(): number {
    const sent = this.#settled - this.#start.settled;
    return sent === 0 ? 0 : Math.round(((monotonicMs() - this.#start.atMs) / sent) * this.#parts.job.count('change'));
  }

  get #settled(): number {
    const { job } = this.#parts;
    return job.count('done') + job.failed.size;
  }
}

function closedUntil(quota: Quota | undefined, nowMs: number): Date | undefined {
  const { day, minute } = limitsOf(quota) ?? {};
  const ends = [quota?.closedUntil, ...[day, minute].map((window) => (window?.remaining === 0 ? window.resetAt : undefined))];
  return ends.filter((end) => end !== undefined && end.getTime() > nowMs).sort((a, b) => Number(b) - Number(a))[0];
}
