import type { PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import { asFailure, isBadOption, isFinal, outcomeOf, type StopReason, stopReason } from './failure.ts';
import type { JobLog } from './job-log.ts';
import type { ProgressReporter } from './progress.ts';
import { recordError } from './recorded-error.ts';
import type { Change, StockJob } from './stock-job.ts';

/** What a run of updates works with. */
export interface RunParts {
  client: PetStoreApi<Int64>;
  job: StockJob;
  log: JobLog;
  progress: ProgressReporter;
  priority: 'normal' | 'low';
  signal: AbortSignal | undefined;
  now: () => number;
}

/** The record that ends a promise whose request was never sent. */
const NOT_SENT = { outcome: 'not-sent' } as const;

/** Sends the updates of a job, each promised to the journal first, until all are sent or something ends the run. */
export class UpdateRun {
  readonly #parts: RunParts;
  #stopped: StopReason | undefined;
  #isBroken = false;
  #openFailures = 0;

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /** Why the run stopped early. */
  get stopped(): StopReason | undefined {
    return this.#stopped;
  }

  /** Whether the job is finished: another run could not change anything. */
  get isComplete(): boolean {
    return this.#stopped === undefined && this.#openFailures === 0;
  }

  /** @throws what the journal throws, and a ConfigurationError of the client, when the requests that are under way have ended. */
  async send(concurrency: number): Promise<void> {
    const { job } = this.#parts;
    const changes = job.changes();
    const workers = Array.from({ length: Math.min(concurrency, job.count('change')) }, () => this.#work(changes));
    const ends = await Promise.allSettled(workers);
    const broken = ends.find((end) => end.status === 'rejected');
    if (broken) throw broken.reason;
    if (job.count('change') > 0) this.#hasEnded();
  }

  async #work(changes: Iterable<Change>): Promise<void> {
    for (const change of changes) {
      if (this.#hasEnded()) return;
      await this.#promise(change);
      // Something may have ended the run while the promise was being written.
      if (this.#hasEnded()) this.#withdraw(change, NOT_SENT);
      else await this.#update(change);
    }
  }

  #hasEnded(): boolean {
    if (this.#parts.signal?.aborted) this.#stopped ??= 'abort';
    return this.#isBroken || this.#stopped !== undefined;
  }

  async #promise({ petId, from, to }: Change): Promise<void> {
    try {
      await this.#parts.log.promise({ type: 'intent', petId, from, to });
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
  }

  async #update(change: Change): Promise<void> {
    const { client, job, log, progress, priority, signal } = this.#parts;
    const { petId, row, to } = change;
    progress.countRequest();
    try {
      // Updates of a job are not superseded, so that its report states what was set.
      await client.updateInventory(petId, { quantity: to }, { priority, latestOnly: false, ...(signal && { signal }) });
      job.finish(row);
      log.note({ type: 'done', petId });
    } catch (error) {
      await this.#takeFailure(change, error);
    }
    progress.countUpdate();
  }

  async #takeFailure(change: Change, thrown: unknown): Promise<void> {
    const { signal, now } = this.#parts;
    const stopped = stopReason(thrown, signal, now());
    if (stopped === undefined && isBadOption(thrown)) return this.#breakOff(change, thrown);
    if (stopped) this.#stopped ??= stopped;
    else this.#fail(change, thrown);
    // An aborted update may already be applied, whatever the abort's reason is.
    if (stopped === 'abort') return;
    if (stopped || !isFinal(thrown)) this.#withdraw(change, thrown);
  }

  async #breakOff(change: Change, thrown: unknown): Promise<never> {
    this.#isBroken = true;
    this.#withdraw(change, thrown);
    await this.#parts.log.flush();
    throw thrown;
  }

  #fail({ petId, row, to }: Change, thrown: unknown): void {
    const { job, log } = this.#parts;
    const error = asFailure(thrown);
    job.fail(row, { petId, quantity: to, error });
    if (isFinal(thrown)) log.note({ type: 'failed', petId, quantity: to, error: recordError(error) });
    else this.#openFailures += 1;
  }

  // An update that an earlier run promised stays in doubt: that run's own request may still be under way.
  #withdraw({ petId, row }: Change, thrown: unknown): void {
    if (outcomeOf(thrown) !== 'unknown' && !this.#parts.job.isDoubtful(row)) this.#parts.log.note({ type: 'void', petId });
  }
}
