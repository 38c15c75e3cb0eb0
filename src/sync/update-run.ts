import { checkUpdated, type PetStoreApi } from '../api.ts';
import type { Int64, PetId } from '../contract/models.ts';
import { asFailure, isBadOption, isFinal, outcomeOf, type Stop, stopBy } from './failure.ts';
import type { JobLog } from './job-log.ts';
import type { ProgressReporter } from './progress.ts';
import { recordError } from './recorded-error.ts';
import type { Change, StockJob } from './stock-job.ts';
import { SyncItemError } from './sync-item-error.ts';

/** What an update run needs. */
export interface RunParts {
  client: PetStoreApi<Int64>;
  job: StockJob;
  log: JobLog;
  progress: ProgressReporter;
  priority: 'normal' | 'low';
  signal: AbortSignal | undefined;
  now: () => number;
}

/** Stands for an error, where an update was recorded in the journal but not sent. */
const NOT_SENT = { outcome: 'not-sent' } as const;

/** Sends the updates of a job until all are sent or something ends the run. Each is recorded in the journal before it is sent. */
export class UpdateRun {
  readonly #parts: RunParts;
  #stop: Stop | undefined;
  #isBroken = false;
  #openFailures = 0;
  // The pets whose updates are waiting, and have sent no request that may have been applied; always empty if the client does not tell.
  readonly #unsent = new Set<string>();
  // By pet, the calls for it that have started since its update began, with that of the update.
  readonly #started = new Map<string, Set<number>>();

  constructor(parts: RunParts) {
    this.#parts = parts;
  }

  /** Why the run stopped early. */
  get stop(): Stop | undefined {
    return this.#stop;
  }

  /** Whether the job is finished, so that another run would have nothing to send. */
  get isComplete(): boolean {
    return this.#stop === undefined && this.#openFailures === 0;
  }

  /** @throws what the journal throws, and a ConfigurationError of the client; in both cases after all requests in flight have ended */
  async send(concurrency: number): Promise<void> {
    const { client } = this.#parts;
    const stops = [
      client.on?.('started', ({ petId, callId }) => this.#started.get(String(petId))?.add(callId)),
      client.on?.('request', (event) => this.#mayBeOwn(event) && this.#unsent.delete(String(event.petId))),
      // The outcome is that of all requests so far: after a 429, for example, nothing was applied.
      client.on?.(
        'retry',
        (event) => this.#mayBeOwn(event) && outcomeOf(event.error) !== 'unknown' && this.#unsent.add(String(event.petId)),
      ),
    ];
    try {
      await this.#sendAll(concurrency);
    } finally {
      for (const stop of stops) stop?.();
    }
  }

  async #sendAll(concurrency: number): Promise<void> {
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
      await this.#recordIntent(change);
      // The run may have ended while the intent was being written.
      if (this.#hasEnded()) this.#withdraw(change, NOT_SENT);
      else await this.#update(change);
    }
    // There may be no next intent with which the last records would be written.
    await this.#parts.log.flush();
  }

  #hasEnded(): boolean {
    if (this.#parts.signal?.aborted) this.#stop ??= { stopped: 'abort' };
    return this.#isBroken || this.#stop !== undefined;
  }

  async #recordIntent({ petId, from, to }: Change): Promise<void> {
    try {
      await this.#parts.log.record({ type: 'intent', petId, from, to });
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
  }

  async #update(change: Change): Promise<void> {
    const { client, job, log, progress, priority, signal } = this.#parts;
    const { petId, row, to } = change;
    progress.countRequest();
    if (client.on) this.#unsent.add(String(petId));
    this.#started.set(String(petId), new Set());
    try {
      // Updates of a job must not be superseded, since its report says which quantities were set.
      const item = await client.updateInventory(petId, { quantity: to }, { priority, latestOnly: false, ...(signal && { signal }) });
      checkUpdated(item, petId);
      const { quantity } = item;
      if (quantity !== to) throw unconfirmed(petId, { quantity, to });
      job.finish(row);
      log.note({ type: 'done', petId });
    } catch (error) {
      await this.#takeFailure(change, error);
    }
    this.#unsent.delete(String(petId));
    this.#started.delete(String(petId));
    progress.countUpdate();
  }

  /** Whether an event may be of the run's update of that pet. Calls that started before it are the caller's; a wrapper may send it later. */
  #mayBeOwn({ petId, callId }: { petId?: PetId; callId: number }): boolean {
    const started = this.#started.get(String(petId));
    return !started || started.size === 0 || started.has(callId);
  }

  async #takeFailure(change: Change, thrown: unknown): Promise<void> {
    const { signal, now } = this.#parts;
    const stop = stopBy(thrown, signal, now());
    if (stop === undefined && isBadOption(thrown)) return this.#breakOff(change, thrown);
    if (stop) this.#end(stop);
    else this.#fail(change, thrown);
    if (stop?.stopped === 'abort') this.#withdrawUnsent(change);
    else if (stop || !isFinal(thrown)) this.#withdraw(change, thrown);
  }

  // Of several refusals, the last one knows the latest Retry-After.
  #end(stop: Stop): void {
    if (this.#stop === undefined || this.#stop.stopped === stop.stopped) this.#stop = stop;
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
    job.fail(row, error);
    if (isFinal(thrown)) log.note({ type: 'failed', petId, quantity: to, error: recordError(error) });
    else this.#openFailures += 1;
  }

  // An aborted update of which a request has left may have been applied, so its intent stays in the journal.
  #withdrawUnsent(change: Change): void {
    if (this.#unsent.has(String(change.petId))) this.#withdraw(change, NOT_SENT);
  }

  // An update that an earlier run intended stays doubtful, since that run's request may still be in flight.
  #withdraw({ petId, row }: Change, thrown: unknown): void {
    if (outcomeOf(thrown) !== 'unknown' && !this.#parts.job.isDoubtful(row)) this.#parts.log.note({ type: 'void', petId });
  }
}

/** The answer to an update has another quantity: the service may have set that one, or another program since. */
function unconfirmed(petId: PetId, { quantity, to }: { quantity: number; to: number }): SyncItemError {
  const message = `Cannot confirm the update of pet ${petId}: the service answered with the quantity ${quantity}, not ${to}`;
  return new SyncItemError(message, { reason: 'unconfirmed', outcome: 'unknown' });
}
