import { checkUpdated, type PetStoreApi } from '../api.ts';
import { eitherSignal } from '../clock/either-signal.ts';
import type { Int64, InventoryItem, PetId } from '../contract/models.ts';
import type { UpdateOutcome } from '../errors.ts';
import { PetTurns } from '../order/pet-turns.ts';
import { asFailure, isAbort, isBadOption, isFinal, outcomeOf, type Stop, stopBy } from './failure.ts';
import type { JobLog } from './job-log.ts';
import type { ProgressReporter } from './progress.ts';
import { failedRecord } from './record-error.ts';
import type { Change, StockJob } from './stock-job.ts';
import { SyncItemError } from './sync-item-error.ts';
import type { CheckedOptions } from './sync-options.ts';

/** What an update run needs. */
export interface RunParts {
  client: PetStoreApi<Int64>;
  job: StockJob;
  log: JobLog;
  progress: ProgressReporter;
  options: Pick<CheckedOptions, 'concurrency' | 'priority' | 'signal' | 'now'>;
}

/** An update that has its turn, or waits for it, and has not ended. */
interface Underway {
  /** The calls for its pet that have started since it was called, with its own. */
  readonly callIds: Set<number>;
  /** Whether it has sent no request that may have been applied, as the client's events tell. Never, if the client does not tell. */
  isUnsent: boolean;
  /** Whether an adjustment of the pet by the same client waits for it, so that it must not be low. */
  isAwaited: boolean;
  /** Ends its low call, which is then replaced by a normal one; undefined while it has none. */
  raise: (() => void) | undefined;
}

/** Sends the updates of a job until all are sent or something ends the run. Each is recorded in the journal before it is sent. */
export class UpdateRun {
  readonly #parts: RunParts;
  #stop: Stop | undefined;
  #isBroken = false;
  #openFailures = 0;
  /** By pet. */
  readonly #underway = new Map<string, Underway>();

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
  async send(): Promise<void> {
    const { client } = this.#parts;
    const stops = [
      client.on?.('started', ({ petId, callId }) => this.#underway.get(String(petId))?.callIds.add(callId)),
      client.on?.('request', (event) => this.#setUnsent(event, false)),
      // The outcome is that of all requests so far: after a 429, for example, nothing was applied.
      client.on?.('retry', (event) => this.#setUnsent(event, outcomeOf(event.error) !== 'unknown')),
    ];
    try {
      await this.#sendAll();
    } finally {
      for (const stop of stops) stop?.();
    }
  }

  async #sendAll(): Promise<void> {
    const { job, options } = this.#parts;
    const changes = job.changes();
    const workers = Array.from({ length: Math.min(options.concurrency, job.count('change')) }, () => this.#work(changes));
    const ends = await Promise.allSettled(workers);
    const broken = ends.find((end) => end.status === 'rejected');
    if (broken) throw broken.reason;
  }

  async #work(changes: Iterable<Change>): Promise<void> {
    for (const { petId, row } of changes) {
      if (this.#hasEnded()) break;
      await this.#inTurn(petId, (underway) => this.#change(petId, row, underway));
    }
    // There may be no next intent with which the last records would be written.
    await this.#parts.log.flush();
  }

  /** Waits for the adjustments of the pet that the same client is making. */
  async #inTurn(petId: PetId, change: (underway: Underway) => Promise<void>): Promise<void> {
    const { client, options } = this.#parts;
    const { signal, priority } = options;
    const underway: Underway = { callIds: new Set(), isUnsent: client.on !== undefined, isAwaited: false, raise: undefined };
    const onAwaited = () => {
      underway.isAwaited = true;
      raiseUnsent(underway);
    };
    try {
      await PetTurns.of(client).run(petId, { signal, isLow: priority === 'low', onAwaited }, () => change(underway));
    } catch (error) {
      if (!isAbort(error, signal)) throw error;
      this.#end({ stopped: 'abort' });
    }
  }

  /** Updates a pet, if there is still something to send when its turn comes. */
  async #change(petId: PetId, row: number, underway: Underway): Promise<void> {
    if (this.#hasEnded()) return;
    const { job, log } = this.#parts;
    if (job.lacksQuantity(row)) return this.#fail({ petId, row }, inDoubt(petId));
    const change = job.begin(petId, row);
    const failed = job.failed.get(row);
    if (failed) log.note(failedRecord(failed));
    if (!change) return;
    await this.#recordIntent(change);
    // The run may have ended while the intent was being written.
    if (this.#hasEnded()) this.#withdraw(change, 'not-sent');
    else await this.#update(change, underway);
  }

  #hasEnded(): boolean {
    if (this.#parts.options.signal?.aborted) this.#stop ??= { stopped: 'abort' };
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

  async #update(change: Change, underway: Underway): Promise<void> {
    const { job, log, progress } = this.#parts;
    const { petId, row, to } = change;
    this.#underway.set(String(petId), underway);
    progress.countRequest();
    try {
      const item = await this.#send(change, underway);
      checkUpdated(item, petId);
      const { quantity } = item;
      if (quantity !== to) throw unconfirmed(petId, { quantity, to });
      job.finish(row);
      log.note({ type: 'done', petId });
    } catch (error) {
      await this.#takeFailure(change, error, underway);
    }
    this.#underway.delete(String(petId));
    progress.tell();
  }

  /** Sends an update with the priority of the job, or with a normal one as soon as an adjustment of the pet waits for it. */
  async #send({ petId, to }: Change, underway: Underway): Promise<InventoryItem<Int64>> {
    const { client, options } = this.#parts;
    // Updates of a job must not be superseded, since its report says which quantities were set.
    const send = (priority: 'normal' | 'low', signal: AbortSignal | undefined) =>
      client.updateInventory(petId, { quantity: to }, { priority, latestOnly: false, signal });
    if (options.priority === 'normal' || underway.isAwaited) return send('normal', options.signal);
    const raising = new AbortController();
    underway.raise = () => raising.abort(new DOMException('A call of normal priority replaces this one', 'AbortError'));
    const { signal, stop } = eitherSignal(raising.signal, options.signal);
    try {
      return await send('low', signal);
    } catch (error) {
      if (!raising.signal.aborted || options.signal?.aborted) throw error;
      return send('normal', options.signal);
    } finally {
      stop();
    }
  }

  /** Takes an event that may be of an update under way. Calls that started before it are the caller's; a wrapper may send it later. */
  #setUnsent({ petId, callId }: { petId?: PetId; callId: number }, isUnsent: boolean): void {
    const underway = this.#underway.get(String(petId));
    if (!underway || (underway.callIds.size > 0 && !underway.callIds.has(callId))) return;
    underway.isUnsent = isUnsent;
    raiseUnsent(underway);
  }

  async #takeFailure(change: Change, thrown: unknown, { isUnsent }: Underway): Promise<void> {
    const { log, options } = this.#parts;
    const stop = stopBy(thrown, options.signal, options.now());
    if (stop === undefined && isBadOption(thrown)) {
      this.#isBroken = true;
      this.#withdraw(change, outcomeOf(thrown));
      await log.flush();
      throw thrown;
    }
    if (stop) this.#end(stop);
    else this.#fail(change, thrown);
    // The reason of an abort has no outcome.
    if (stop?.stopped === 'abort') this.#withdraw(change, isUnsent ? 'not-sent' : 'unknown');
    else if (stop || !isFinal(thrown)) this.#withdraw(change, outcomeOf(thrown));
  }

  // Of several refusals, the last one knows the latest Retry-After.
  #end(stop: Stop): void {
    if (this.#stop === undefined || this.#stop.stopped === stop.stopped) this.#stop = stop;
  }

  #fail({ petId, row }: Pick<Change, 'petId' | 'row'>, thrown: unknown): void {
    const { job, log } = this.#parts;
    job.fail(row, asFailure(thrown, petId));
    const failed = job.failed.get(row);
    if (failed && isFinal(thrown)) log.note(failedRecord(failed));
    else this.#openFailures += 1;
  }

  /**
   * Unless the update may have been applied, its intent does not count. An update that an earlier run intended stays doubtful, since that
   * run's request may still be in flight.
   */
  #withdraw({ petId, row }: Change, outcome: UpdateOutcome): void {
    const { job, log } = this.#parts;
    if (outcome === 'unknown' || job.isDoubtful(row)) return;
    job.withdraw(row);
    log.note({ type: 'void', petId });
  }
}

/** Ends a low call that an adjustment waits for, if that loses nothing. */
function raiseUnsent({ isAwaited, isUnsent, raise }: Underway): void {
  if (isAwaited && isUnsent) raise?.();
}

/** The answer to an update has another quantity: the service may have set that one, or another program since. */
function unconfirmed(petId: PetId, { quantity, to }: { quantity: number; to: number }): SyncItemError {
  const message = `Cannot confirm the update of pet ${petId}: the service answered with the quantity ${quantity}, not ${to}`;
  return new SyncItemError(message, { reason: 'unconfirmed', outcome: 'unknown' });
}

/** Another update of the same client ended, and it is unknown whether it was applied. The next run reads a list. */
function inDoubt(petId: PetId): SyncItemError {
  const message = `Cannot update pet ${petId}: another update of this client may have changed it since the list`;
  return new SyncItemError(message, { reason: 'unconfirmed', outcome: 'not-sent' });
}
