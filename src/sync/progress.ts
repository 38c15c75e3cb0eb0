import type { PetStoreApi } from '../api.ts';
import type { Quota } from '../quota/ledger/quota.ts';
import { unharmed } from '../thrown.ts';
import { estimateMs, quotaFor } from './estimate.ts';
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
  /** Number of updates of the job: those that are done, have failed, or are still to be sent. */
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

/** Reports the progress of a run to a listener. */
export class ProgressReporter {
  readonly #listener: ((progress: SyncProgress) => void) | undefined;
  readonly #client: Pick<PetStoreApi, 'quota'>;
  readonly #now: () => number;
  readonly #priority: 'normal' | 'low';
  readonly #job: StockJob;
  #phase: SyncProgress['phase'] = 'listing';
  #requests = 0;
  /** When updates began, and how many pets were settled then. */
  #start = { atMs: 0, settled: 0 };

  constructor(
    client: Pick<PetStoreApi, 'quota'>,
    job: StockJob,
    options: { onProgress: ((progress: SyncProgress) => void) | undefined; priority: 'normal' | 'low'; now: () => number },
  ) {
    this.#client = client;
    this.#job = job;
    this.#listener = options.onProgress;
    this.#now = options.now;
    this.#priority = options.priority;
  }

  begin(): void {
    this.#tell();
  }

  countRequest(): void {
    this.#requests += 1;
  }

  countListed(listed: number): void {
    if (listed % LISTED_STEP === 0) this.#tell();
  }

  beginUpdates(): void {
    this.#phase = 'updating';
    this.#start = { atMs: this.#now(), settled: this.#settled };
    this.#tell();
  }

  countUpdate(): void {
    this.#tell();
  }

  end(): void {
    this.#phase = 'done';
    this.#tell();
  }

  #tell(): void {
    const listener = this.#listener;
    if (listener) unharmed(() => listener(this.#progress()));
  }

  #progress(): SyncProgress {
    const job = this.#job;
    const nowMs = this.#now();
    const quota = quotaFor(this.#priority, this.#client.quota);
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
      ...(this.#phase !== 'listing' && { etaMs: Math.max(estimateMs(job.count('change'), quota, nowMs), this.#paceMs(nowMs)) }),
    };
  }

  /** The time that the remaining updates would take at the pace so far. */
  #paceMs(nowMs: number): number {
    const sent = this.#settled - this.#start.settled;
    return sent === 0 ? 0 : Math.round(((nowMs - this.#start.atMs) / sent) * this.#job.count('change'));
  }

  get #settled(): number {
    return this.#job.count('done') + this.#job.failed.size;
  }
}

function closedUntil(quota: Quota | undefined, nowMs: number): Date | undefined {
  const share = quota?.share ?? quota;
  const ends = [quota?.closedUntil, ...[share?.day, share?.minute].map((window) => (window?.remaining === 0 ? window.resetAt : undefined))];
  return ends.filter((end) => end !== undefined && end.getTime() > nowMs).sort((a, b) => Number(b) - Number(a))[0];
}
