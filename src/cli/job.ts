import { quotaFor } from '../sync/estimate.ts';
import type { ReviewedChange, SyncOptions, SyncReport } from '../sync/index.ts';
import { type CheckedOptions, type ReviewedList, refuseTooMany } from '../sync/sync-options.ts';
import { type Client, type CommonOptions, connect } from './connect.ts';
import { refuseGiven, refuseSharing } from './contradictions.ts';
import { counted } from './duration.ts';
import { EXIT, type ExitCode, exitCodeOf, Interruption } from './exit-code.ts';
import { explainError, oneLine } from './explain-error.ts';
import { FinishingClient } from './finishing-client.ts';
import { hideKey } from './hide-key.ts';
import type { BadRow } from './input/wanted-row.ts';
import { checkLock, type JobLock, takeLock } from './job-lock.ts';
import { maxChangesOf, untilOption, wholeNumber } from './option-values.ts';
import { writePlan } from './plan-text.ts';
import { ReportFile, type ReportParts } from './report-file.ts';
import { countsText, explainEnd, reportJson, reportText } from './report-text.ts';
import { RunRecord } from './run-record.ts';
import { progressBar, progressText, StatusLine } from './status-line.ts';
import { tell } from './tell.ts';
import { type Terminal, writeResult } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/** The options of the commands that change many pets: `sync` and `undo`. */
export interface JobOptions extends CommonOptions {
  dryRun?: boolean;
  journal?: string;
  concurrency: string;
  priority?: string;
  until?: string;
  wait?: boolean;
  maxChanges?: string;
  allowMissing?: boolean;
  lists?: boolean;
  report?: string;
  lock?: string;
}

/** The work of such a command. */
export interface Job {
  /** The name of the input in messages. */
  name: string;
  /** The journal that the job keeps. */
  journal: string | undefined;
  /** The paths that are read or written, by their names in messages. */
  files: Readonly<Record<string, string | undefined>>;
  start(client: Client | FinishingClient, options: SyncOptions): Promise<SyncReport>;
  /** Refuses changes before the first update. @throws UsageError */
  review?(changes: Iterable<ReviewedChange>): void;
  /** Such as `sync restock.csv`. */
  title: string;
  /** What the user can do if the job is already finished. */
  hint?: string;
  /** The bad rows of the input: the first of them, and how many there are. */
  input?: { readonly rejects: readonly BadRow[]; readonly rejected: number };
}

/** A job with its client, settings and output. */
interface Run {
  job: Job;
  client: Client;
  record: RunRecord;
  stopTimer: () => void;
  settings: Pick<CheckedOptions, 'concurrency' | 'priority' | 'now'> & { signal: AbortSignal };
  options: JobOptions;
  terminal: Terminal;
}

/** How a run ended. */
interface End {
  /** Undefined if the run failed before there was one. */
  report?: SyncReport;
  exitCode: ExitCode;
  /** Why it ended early, or what went wrong. */
  ending: string | undefined;
  /** What the command reports as its failure. */
  error?: unknown;
  /** Prints the result, once the report is written: its reader may pause, and a later run may replace the report meanwhile. */
  print?: () => Promise<void>;
}

const NOTICE = 'petstore: finishing the requests under way; interrupt again to end at once';

/** Runs a job, or with `--dry-run` shows its changes and cost. */
export async function runJob(job: Job, options: JobOptions, terminal: Terminal): Promise<ExitCode> {
  const limits = limitsOf(options);
  refuseUseless(job, options);
  let isUpdating = false;
  const { client, state, signal, end, stopTimer, close } = await connect(withWait(options), terminal, {
    needsState: options.lock === undefined ? undefined : '--lock',
    files: { ...job.files, '--report': options.report },
    notice: () => (isUpdating ? NOTICE : undefined),
    until: options.until === undefined ? undefined : { atMs: untilOption(options.until, terminal.now()), option: options.until },
  });
  const settings = { ...limits, signal, now: terminal.now };
  const run = { job, client, record: new RunRecord(client, terminal.now), stopTimer, settings, options, terminal };
  let lock: JobLock | undefined;
  const work = async (): Promise<End> => {
    lock = await lockOf(options, { state, onLost: end, signal, terminal });
    if (options.dryRun) return dryRun(run);
    return realRun(run, (isBegun) => {
      isUpdating = isBegun;
    });
  };
  try {
    return await withReport(run, { work, release: async () => lock?.release() });
  } finally {
    close();
  }
}

/** A dry run needs no lock, since it changes nothing, but refuses one that the run would refuse. */
async function lockOf({ lock, dryRun }: JobOptions, parts: Omit<Parameters<typeof takeLock>[0], 'name'>): Promise<JobLock | undefined> {
  if (lock === undefined) return undefined;
  if (!dryRun) return takeLock({ ...parts, name: lock });
  checkLock(lock, parts.state);
  return undefined;
}

interface Work {
  work: () => Promise<End>;
  /** Releases the lock of the job, if it holds one: a reader who pauses must not keep it. */
  release: () => Promise<void>;
}

/** Does the work of a job, writes the file of `--report`, even if the work fails, and prints the result. */
async function withReport(run: Run, { work, release }: Work): Promise<ExitCode> {
  const { report } = run.options;
  const file = report === undefined ? undefined : await ReportFile.at(report);
  const done = await work().catch(failed);
  // A run of a job that was finished earlier does nothing, so it does not replace the report of an earlier run.
  const isKept = file !== undefined && done.report?.finishedAt !== undefined && !(await file.isEmpty());
  const write = async (end: End) => (isKept ? undefined : await file?.write(reportParts(run, end)));
  let unwritten = await failureOf(() => write(done));
  await release();
  const unprinted = await failureOf(() => done.print?.());
  const end = { ...done, ...unprinted };
  if (unprinted && (await file?.isOwn())) unwritten = await failureOf(() => write(end));
  if (isKept) tell(run.terminal, `petstore: --report ${report} keeps its report of the earlier run`);
  if (unwritten && 'error' in end) tell(run.terminal, `petstore: ${unwritten.ending}`);
  const failure = 'error' in end ? end : unwritten;
  if (failure) throw failure.error;
  return end.exitCode;
}

/** How a step fails; undefined if it does not. */
async function failureOf(step: () => unknown): Promise<End | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): End {
  return { error, exitCode: exitCodeOf(error), ending: explainError(error) };
}

function reportParts({ job, client, record, options, terminal }: Run, { report, exitCode, ending }: End): ReportParts {
  const { rejects = [], rejected = 0 } = job.input ?? {};
  const { title, journal } = job;
  const about = { title, journal, service: hideKey(client.baseUrl, terminal), isDryRun: options.dryRun ?? false };
  return { ...about, record, endedAtMs: terminal.now(), quota: client.quota, rejects, rejected, report, exitCode, ending };
}

/** Does the job. `setUpdating` is called with true before the first update, and with false after the last. */
async function realRun(run: Run, setUpdating: (isUpdating: boolean) => void): Promise<End> {
  const { job, client, record, settings, options, terminal } = run;
  const status = StatusLine.of(terminal);
  let report: SyncReport;
  try {
    report = await job.start(new FinishingClient(client, (petId) => record.confirm(petId)), {
      ...settings,
      // `progress.requests` counts calls, some of which still wait. The status line shows the requests that were sent.
      onProgress: (progress) =>
        status.show({ bar: progressBar(progress), progress: progressText({ ...progress, requests: record.requests.sent }) }),
      review: (changes, list) => {
        if (options.report !== undefined) record.plan(changes);
        refuse(run, { changes, list });
        setUpdating(true);
      },
    });
  } catch (error) {
    if (record.updated > 0) tell(terminal, `petstore: ${counted(record.updated, 'pet')} updated before the run failed`);
    throw error;
  } finally {
    status.clear();
    setUpdating(false);
  }
  const rejected = job.input?.rejected ?? 0;
  const text = options.json ? reportJson(report, { rejected, lists: options.lists }) : reportText(report, rejected);
  const outcome = `the result: ${countsText(report, rejected)}`;
  const lines = endLines(run, report);
  const print = () => writeResult(terminal.stdout, text, { signal: settings.signal, outcome }).finally(() => tellLines(lines, terminal));
  return { report, ending: lines.join('; ') || undefined, exitCode: exitCode(run, report), print };
}

async function dryRun(run: Run): Promise<End> {
  const { job, client, record, stopTimer, settings, options, terminal } = run;
  let planned: Planned | undefined;
  const report = await job.start(client, {
    ...settings,
    dryRun: true,
    review: (changes, list) => {
      planned = { changes, list };
      if (options.report !== undefined) record.plan(changes);
    },
  });
  // A reader may take longer over the plan than until the time of --until.
  stopTimer();
  const lines = endLines(run, report);
  tellLines(lines, terminal);
  const ending = lines.join('; ') || undefined;
  if (report.stopped !== undefined) return { report, ending, exitCode: exitCode(run, report) };
  const isNothingSent = record.requests.sent === 0;
  const rejected = job.input?.rejected ?? 0;
  const quota = quotaFor(settings.priority, client.quota);
  const parts = { report, quota, name: job.name, options, terminal, signal: settings.signal, rejected, isNothingSent };
  const print = () => writePlan(planned?.changes ?? [], parts);
  const refusal = await failureOf(() => planned && refuse(run, planned));
  return { report, ending, exitCode: rejected > 0 ? EXIT.partlyDone : EXIT.done, ...refusal, print };
}

interface Planned {
  changes: Iterable<ReviewedChange>;
  list: ReviewedList;
}

/** @throws UsageError, InvalidArgumentError for changes that are probably a mistake */
function refuse({ job, options }: Run, { changes, list }: Planned): void {
  if (list.missing > list.wanted / 2 && !options.allowMissing) {
    const what = `${list.missing} of its ${list.wanted} pets are missing in the service's list of ${list.listed}`;
    throw new UsageError(`Cannot use ${job.name}: ${what}; check the file and the address, or allow it with --allow-missing`);
  }
  refuseTooMany(maxChangesOf(options), list);
  job.review?.(changes);
}

/** Why a run ended early and how to continue it. */
function endLines({ job, client, record, settings: { signal }, options }: Run, report: SyncReport): string[] {
  const { refusal, retryAt } = record;
  const line = explainEnd(report, {
    journal: job.journal,
    hint: job.hint,
    retryAt,
    isDayUsedUp: client.quota.day.remaining === 0,
    isDryRun: options.dryRun,
    interruption: signal.reason instanceof Interruption ? signal.reason.message : undefined,
  });
  const lost = report.stopped === 'abort' ? undefined : lostLock(signal)?.message;
  return [
    ...(refusal && report.stopped === 'quota' ? [oneLine(refusal.message)] : []),
    ...(refusal && report.stopped === 'authentication' ? [explainError(refusal)] : []),
    ...(line === undefined ? [] : [line]),
    ...(lost === undefined ? [] : [`${lost} while the last requests were under way; another run may have begun`]),
  ];
}

function tellLines(lines: readonly string[], terminal: Terminal): void {
  for (const line of lines) tell(terminal, `petstore: ${line}`);
}

/** The loss of the lock, if it ended the run. It is the only interruption that is a failure. */
function lostLock({ reason }: AbortSignal): Interruption | undefined {
  return reason instanceof Interruption && reason.exitCode === EXIT.failure ? reason : undefined;
}

/** Missing pets count as partly done: the wanted state was not reached. */
function exitCode({ job, settings: { signal } }: Run, { stopped, failed, missing }: SyncReport): ExitCode {
  if (stopped === 'abort' || lostLock(signal)) return exitCodeOf(signal.reason);
  if (stopped !== undefined) return EXIT[stopped];
  return failed.length + missing.length + (job.input?.rejected ?? 0) > 0 ? EXIT.partlyDone : EXIT.done;
}

/** Longer than a day, so that a job waits for the next day's quota. */
const LONGEST_WAIT = '7d';

/** The options with `--wait` turned into a maxWait. */
function withWait(options: JobOptions): JobOptions {
  if (options.maxWait !== undefined) refuseGiven({ '--wait': options.wait }, 'with --max-wait: --wait waits as long as the service asks');
  return options.wait ? { ...options, maxWait: LONGEST_WAIT } : options;
}

/** @throws UsageError for an option that would have no effect */
function refuseUseless({ journal }: Job, { json, dryRun, lists, lock, sandbox, state }: JobOptions): void {
  if (!json) refuseGiven({ '--lists': lists }, 'without --json: it changes only the JSON output; add --json');
  if (dryRun) refuseGiven({ '--lists': lists }, 'with --dry-run, which lists the pets anyway; leave --lists out');
  if (sandbox) refuseGiven({ '--journal': journal }, 'with --sandbox: that sandbox ends with the command, so the job could not be resumed');
  refuseSharing({ '--lock': lock }, { sandbox, state });
}

function limitsOf(options: JobOptions): Pick<CheckedOptions, 'concurrency' | 'priority'> {
  maxChangesOf(options);
  const { priority = 'low' } = options;
  if (priority !== 'low' && priority !== 'normal') throw new UsageError(`Cannot use --priority ${priority}: it must be low or normal`);
  return { priority, concurrency: wholeNumber('concurrency', options.concurrency, { min: 1, max: 1000 }) };
}
