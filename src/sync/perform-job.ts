import type { PetStoreApi } from '../api.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { Int64 } from '../contract/models.ts';
import { Departures } from '../departures.ts';
import { isPetStoreError } from '../errors.ts';
import { UpdateNews } from '../update-news.ts';
import { busy } from './busy.ts';
import { isAbort, type Stop, stopBy } from './failure.ts';
import { JobLog } from './job-log.ts';
import { type Journal, named } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';
import { ProgressReporter } from './progress.ts';
import { type ListOptions, readList } from './read-list.ts';
import { failedRecord } from './record-error.ts';
import { type History, replay, type UndoneJob } from './replay.ts';
import { reportOf, type SyncReport } from './report.ts';
import type { StockJob } from './stock-job.ts';
import { type CheckedOptions, type ReviewedChange, type ReviewedList, refuseTooMany } from './sync-options.ts';
import { type RunParts, UpdateRun } from './update-run.ts';

/** A job with its client and options. */
interface JobParts {
  client: PetStoreApi<Int64>;
  job: StockJob;
  options: CheckedOptions;
  undone?: UndoneJob;
  /** Whether it is not finished even when its updates, which are so many, were sent: what it found may still change. */
  staysOpen?: (updates: number) => boolean;
  /** Called before the first update, if there is one. */
  beforeUpdates?: () => Promise<void>;
}

/**
 * Does what is left of a job. For a finished job, it returns the report and sends nothing.
 *
 * @throws the reason of an abort before the journal is read to its end: a report would show adjustments as pending that are done
 */
export async function performJob(parts: JobParts): Promise<SyncReport> {
  const { job, options } = parts;
  const history = await readHistory(parts);
  if (history?.finishedAt) return finishedReport(job, history.finishedAt);
  const progress = new ProgressReporter(parts);
  const stopFollowing = UpdateNews.from(parts.client).follow(job);
  try {
    const stop: Stop | undefined = options.signal?.aborted ? { stopped: 'abort' } : await runJob({ ...parts, progress }, history);
    progress.begin('done');
    return reportOf(job, stop);
  } finally {
    stopFollowing();
  }
}

/** Reads the job's journal; undefined if it has none. */
async function readHistory({ client, job, options, undone }: JobParts): Promise<History | undefined> {
  const { journal, signal } = options;
  return journal && replay(journal, { job, store: client.baseUrl, undone, signal });
}

/** The journals of the jobs and undos that have not ended. */
const inUse = new WeakSet<Journal>();

/**
 * Does a job that has its journals for itself, then closes them.
 *
 * @throws the job's error, else a journal's; a JournalError if another job of this process uses one of them
 */
export async function withJournals(journals: readonly (Journal | undefined)[], job: () => Promise<SyncReport>): Promise<SyncReport> {
  const own = new Set(journals.filter((journal) => journal !== undefined));
  for (const each of own) if (inUse.has(each)) throw busy(named(each));
  for (const each of own) inUse.add(each);
  const [run] = await Promise.allSettled([job()]);
  const closings = await Promise.allSettled([...own].map(async (each) => each.close?.()));
  for (const each of own) inUse.delete(each);
  if (run.status === 'rejected') throw run.reason;
  for (const closing of closings) if (closing.status === 'rejected') throw closing.reason;
  return run.value;
}

/** Returns why the run stopped early, if it did. */
async function runJob(
  { client, job, options, progress, staysOpen, beforeUpdates }: JobParts & Pick<RunParts, 'progress'>,
  history: History | undefined,
): Promise<Stop | undefined> {
  const { dryRun, now } = options;
  const log = new JobLog(dryRun ? undefined : options.journal);
  progress.begin('listing');
  await log.recordAll(openingRecords(history, now()));

  const stoppedListing = await listInto({ client, job, progress, options });
  if (stoppedListing) return stoppedListing;
  const failedBefore = job.failed.size;
  await log.recordAll(job.endList().map((petId) => ({ type: 'done', petId }) as const));
  const stoppedReview = await review(job, options);
  if (dryRun || stoppedReview) return stoppedReview;
  const updates = job.count('change');
  if (updates > 0) await beforeUpdates?.();
  // Only now, since with the first record of a pet the journal belongs to this job, which may have been refused.
  await log.recordAll(failedRecords(job, failedBefore));

  progress.begin('updating');
  const run = new UpdateRun({ client, job, log, progress, options });
  await run.send();
  if (run.isComplete && !staysOpen?.(updates)) await log.recordAll(closingRecords(job, now()));
  return run.stop;
}

/** Reads the list. Returns why the run has to stop, if it has to. */
async function listInto({ client, job, progress, options }: Omit<RunParts, 'log'>): Promise<Stop | undefined> {
  const { signal, priority, now } = options;
  try {
    await readLatest(client, job, { signal, progress, priority });
    return undefined;
  } catch (error) {
    const stop = stopBy(error, signal, now());
    if (stop) return stop;
    // However short the wait that is left, no update can be sent without the list.
    if (isPetStoreError(error) && error.kind === 'rate-limit') return { stopped: 'quota', error };
    throw error;
  }
}

/** Reads the list. What the client itself sets after the list has been sent counts more than the list. */
async function readLatest(client: PetStoreApi<Int64>, job: StockJob, options: ListOptions): Promise<void> {
  let reading: Promise<void> | undefined;
  const begin = () => {
    reading ??= readList(client, job, options);
  };
  const stop = Departures.of(client)?.watch(begin, (hasLeft) => {
    if (hasLeft) job.listSent();
  });
  begin();
  await reading?.finally(stop);
}

/** Lets the caller refuse the changes before they are sent. Returns why the run has to stop, if it is aborted meanwhile. */
async function review(job: StockJob, options: CheckedOptions): Promise<Stop | undefined> {
  const list: ReviewedList = {
    listed: job.listed,
    wanted: job.stock.size,
    changes: job.count('change'),
    missing: job.count('missing'),
  };
  refuseTooMany(options.maxChanges, list);
  const { signal } = options;
  try {
    const reviewing = options.review?.({ [Symbol.iterator]: () => reviewed(job) }, list);
    await (reviewing && signal ? untilAborted(Promise.resolve(reviewing), signal) : reviewing);
    return signal?.aborted ? { stopped: 'abort' } : undefined;
  } catch (error) {
    if (isAbort(error, signal)) return { stopped: 'abort' };
    throw error;
  }
}

function* openingRecords(history: History | undefined, nowMs: number): Generator<JournalRecord> {
  if (history?.opening) yield history.opening;
  yield { type: 'run', at: new Date(nowMs).toISOString() };
}

function* failedRecords({ failed }: StockJob, failedBefore: number): Generator<JournalRecord> {
  for (const each of [...failed.values()].slice(failedBefore)) yield failedRecord(each);
}

function* closingRecords(job: StockJob, nowMs: number): Generator<JournalRecord> {
  for (const petId of job.petsThatAre('missing')) yield { type: 'missing', petId };
  yield { type: 'end', at: new Date(nowMs).toISOString(), unchanged: job.count('unchanged') };
}

/** The report of a finished job, in which the pets without a record were unchanged. */
function finishedReport(job: StockJob, finishedAt: Date): SyncReport {
  return { ...reportOf(job), unchanged: job.count('open'), pending: [], finishedAt };
}

function* reviewed(job: StockJob): Generator<ReviewedChange> {
  for (const { petId, row, from, to } of job.changes())
    yield { petId, from, to, ...(job.stock.isRelative(row) && { adjust: job.stock.amount(row) }) };
}
