import type { PetStoreApi } from '../api.ts';
import type { Quota } from '../quota/ledger/quota.ts';
import { unharmed } from '../thrown.ts';
import { estimateMs } from './estimate.ts';
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
  #job: StockJob | undefined;
  #phase: SyncProgress['phase'] = 'listing';
  #requests = 0;
  /** When updates began, and how many pets were settled then. */
  #start = { atMs: 0, settled: 0 };

  constructor(
    client: Pick<PetStoreApi, 'quota'>,
    options: { onProgress?: ((progress: SyncProgress) => void) | undefined; now: () => number },
  ) {
    this.#client = client;
    this.#listener = options.onProgress;
    this.#now = options.now;
  }

  begin(job: StockJob): void {
    this.#job = job;
    this.#tell();
  }

  countRequest(): void {
    this.#requests += 1;
  }

  countListed(listed: number): void {
    if (listed % LISTED_STEP === 0) this.#tell();
  }

  beginUpdates(job: StockJob): void {
    this.#phase = 'updating';
    this.#start = { atMs: this.#now(), settled: settled(job) };
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
    const [job, listener] = [this.#job, this.#listener];
    if (job && listener) unharmed(() => listener(this.#progressOf(job)));
  }

  #progressOf(job: StockJob): SyncProgress {
    const nowMs = this.#now();
    const quota = this.#client.quota;
    const waitingUntil = closedUntil(quota, nowMs);
    return {
      phase: this.#phase,
      wanted: job.stock.size,
      duplicates: job.stock.duplicates,
      listed: job.listed,
      changes: job.count('done') + job.count('change') + job.failed.size,
      updated: job.count('done'),
      unchanged: job.count('unchanged'),
      missing: job.count('missing'),
      failed: job.failed.size,
      requests: this.#requests,
      ...(waitingUntil && { waitingUntil }),
      ...(this.#phase !== 'listing' && { etaMs: Math.max(estimateMs(job.count('change'), quota, nowMs), this.#paceMs(job, nowMs)) }),
    };
  }

  /** The time that the remaining updates would take at the pace so far. */
  #paceMs(job: StockJob, nowMs: number): number {
    const sent = settled(job) - this.#start.settled;
    return sent === 0 ? 0 : Math.round(((nowMs - this.#start.atMs) / sent) * job.count('change'));
  }
}

function settled(job: StockJob): number {
  return job.count('done') + job.failed.size;
}

function closedUntil(quota: Quota | undefined, nowMs: number): Date | undefined {
  const ends = [quota?.closedUntil, ...[quota?.day, quota?.minute].map((window) => (window?.remaining === 0 ? window.resetAt : undefined))];
  return ends.filter((end) => end !== undefined && end.getTime() > nowMs).sort((a, b) => Number(b) - Number(a))[0];
}
