import type { PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import { type StopReason, stopReason } from './failure.ts';
import { JobLog } from './job-log.ts';
import type { Journal } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';
import { ProgressReporter } from './progress.ts';
import { readList } from './read-list.ts';
import { readWanted, type Wanted } from './read-wanted.ts';
import { recordError } from './recorded-error.ts';
import { type History, replay } from './replay.ts';
import { reportOf, type SyncReport } from './report.ts';
import { type FailedUpdate, StockJob } from './stock-job.ts';
import { type ReviewedChange, resolveSyncOptions, type SyncOptions } from './sync-options.ts';
import { UpdateRun } from './update-run.ts';

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
  const [run] = await Promise.allSettled([resume(client, job, options)]);
  const [closing] = await Promise.allSettled([close(options.journal)]);
  if (run.status === 'rejected') throw run.reason;
  if (closing.status === 'rejected') throw closing.reason;
  return run.value;
}

async function resume(client: PetStoreApi<Int64>, job: StockJob, options: JobParts['options']): Promise<SyncReport> {
  const history = options.journal && (await replay(options.journal, { job, store: client.baseUrl }));
  return history?.finishedAt ? finishedReport(job, history.finishedAt) : runJob({ client, job, history, options });
}

async function close(journal: Journal | undefined): Promise<void> {
  await journal?.close?.();
}

interface JobParts {
  client: PetStoreApi<Int64>;
  job: StockJob;
  history: History | undefined;
  options: SyncOptions & { concurrency: number };
}

async function runJob({ client, job, history, options }: JobParts): Promise<SyncReport> {
  const { signal, concurrency, dryRun = false, now = Date.now } = options;
  const log = new JobLog(dryRun ? undefined : options.journal);
  const progress = new ProgressReporter(client, { onProgress: options.onProgress, now });
  progress.begin(job);
  await log.noteAll(openingRecords(job, history, now()));
  await log.flush();

  const stoppedListing = await listInto(job, { client, progress, signal, now });
  if (stoppedListing) return reportOf(job, stoppedListing);
  await log.noteAll(endListing(job));
  await options.review?.({ [Symbol.iterator]: () => reviewed(job) });
  if (dryRun) return reportOf(job, undefined);

  progress.beginUpdates(job);
  const run = new UpdateRun({ client, job, log, progress, signal, now });
  await run.send(concurrency);
  if (run.isComplete) await log.noteAll(closingRecords(job, now()));
  await log.flush();
  progress.end();
  return reportOf(job, run.stopped);
}

interface ListParts {
  client: PetStoreApi<Int64>;
  progress: ProgressReporter;
  signal: AbortSignal | undefined;
  now: () => number;
}

/** Gives why the run has to stop before it began. */
async function listInto(job: StockJob, { client, progress, signal, now }: ListParts): Promise<StopReason | undefined> {
  if (!job.needsList) return undefined;
  try {
    await readList(client, job, { signal, progress });
    return undefined;
  } catch (error) {
    const stopped = stopReason(error, signal, now());
    if (stopped === undefined) throw error;
    return stopped;
  }
}

function* openingRecords(job: StockJob, history: History | undefined, nowMs: number): Generator<JournalRecord> {
  if (history?.isNew) yield { type: 'job', version: 1, store: history.store, wanted: history.wanted, pets: job.stock.size };
  yield { type: 'run', at: new Date(nowMs).toISOString() };
}

/** Ends the list and tells the journal what it settled. */
function* endListing(job: StockJob): Generator<JournalRecord> {
  const failedBefore = job.failed.size;
  for (const petId of job.endList()) yield { type: 'done', petId };
  for (const failed of [...job.failed.values()].slice(failedBefore)) yield failedRecord(failed);
}

function failedRecord({ petId, quantity, error }: FailedUpdate): JournalRecord {
  return { type: 'failed', petId, quantity, error: recordError(error) };
}

function* closingRecords(job: StockJob, nowMs: number): Generator<JournalRecord> {
  for (const petId of job.petsThatAre('missing')) yield { type: 'missing', petId };
  yield { type: 'end', at: new Date(nowMs).toISOString(), unchanged: job.count('unchanged') };
}

/** In a finished job, what the journal does not name was unchanged. */
function finishedReport(job: StockJob, finishedAt: Date): SyncReport {
  return { ...reportOf(job, undefined), unchanged: job.count('open'), pending: [], finishedAt };
}

function* reviewed(job: StockJob): Generator<ReviewedChange> {
  for (const { petId, row, from, to } of job.changes())
    yield { petId, from, to, ...(job.stock.isRelative(row) && { adjust: job.stock.amount(row) }) };
}
