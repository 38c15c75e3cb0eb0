import { fileJournal } from '../node/file-journal.ts';
import { quotaFor } from '../sync/estimate.ts';
import type { ReviewedChange, SyncOptions, SyncReport } from '../sync/index.ts';
import { type ReviewedList, refuseTooMany } from '../sync/sync-options.ts';
import { type Client, type CommonOptions, connect } from './connect.ts';
import { refuseGiven, refuseSharing } from './contradictions.ts';
import { EXIT, type ExitCode, exitCodeOf, exitCodeOfReport } from './exit-code.ts';
import { explainError, oneLine } from './explain-error.ts';
import { FinishingClient } from './finishing-client.ts';
import { hideKey } from './hide-key.ts';
import type { BadRow } from './input/wanted-row.ts';
import { Interruption, interruptSignal } from './interrupt.ts';
import { checkLock, type JobLock, takeLock } from './job-lock.ts';
import { maxChangesOf, untilOption, wholeNumber } from './option-values.ts';
import { writePlan } from './plan-text.ts';
import { ReportFile, type ReportParts } from './report-file.ts';
import { explainEnd, reportJson, reportText } from './report-text.ts';
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
  signal: AbortSignal;
  settings: Pick<SyncOptions, 'concurrency' | 'priority' | 'signal' | 'now'>;
  options: JobOptions;
  terminal: Terminal;
  /** Takes the lock of `--lock`, if there is one. */
  lock: () => Promise<JobLock | undefined>;
}

const NOTICE = 'petstore: finishing the requests under way; interrupt again to end at once';

/** Runs a job, or with `--dry-run` shows its changes and cost. */
export async function runJob(job: Job, options: JobOptions, terminal: Terminal): Promise<ExitCode> {
  const limits = limitsOf(options);
  refuseUseless(job, options);
  const until = options.until === undefined ? undefined : { atMs: untilOption(options.until, terminal.now()), option: options.until };
  const { client, state, close } = await connect(withWait(options), terminal, {
    needsState: options.lock === undefined ? undefined : '--lock',
    files: { ...job.files, '--report': options.report },
  });
  // A run that still waits for its lock has sent nothing; a dry run sends no updates.
  let mayUpdate = false;
  const { signal, end, stopListening } = interruptSignal(terminal, { notice: () => (mayUpdate ? NOTICE : undefined), until });
  const settings = { ...limits, signal, now: terminal.now };
  const lock = async () => {
    const taken = await lockOf(options, { state, onLost: end, signal, terminal });
    mayUpdate = !options.dryRun;
    return taken;
  };
  try {
    return await withReport({ job, client, record: new RunRecord(client, terminal.now), signal, settings, options, terminal, lock });
  } finally {
    stopListening();
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

/** Runs the job while it holds its lock. */
async function lockedRun(run: Run): Promise<End> {
  const lock = await run.lock();
  try {
    return await (run.options.dryRun ? dryRun(run) : realRun(run));
  } finally {
    await lock?.release();
  }
}

/** How a run ended: with a report, or with an error. */
type End = { report: SyncReport; exitCode: ExitCode; ending: string | undefined } | { error: unknown };

/** Runs the job, and writes the file of `--report`, even if the run fails. */
async function withReport(run: Run): Promise<ExitCode> {
  const { options } = run;
  const file = options.report === undefined ? undefined : await ReportFile.at(options.report);
  const end = await lockedRun(run).catch((error: unknown): End => ({ error }));
  const [writing] = await Promise.allSettled([file && writeReport(run, { end, file })]);
  if ('error' in end) throw end.error;
  if (writing.status === 'rejected') throw writing.reason;
  return end.exitCode;
}

/** Writes the report. A run of a job that was finished earlier does nothing, so it does not overwrite the report of an earlier run. */
async function writeReport(run: Run, { end, file }: { end: End; file: ReportFile }): Promise<void> {
  const wasFinished = 'report' in end && end.report.finishedAt !== undefined;
  if (wasFinished && !(await file.isEmpty()))
    tell(run.terminal, `petstore: --report ${run.options.report} keeps its report of the earlier run`);
  else await file.write(reportParts(run, end));
}

function reportParts({ job, client, record, options, terminal }: Run, end: End): ReportParts {
  const { rejects = [], rejected = 0 } = job.input ?? {};
  const { title, journal } = job;
  const about = { title, journal, service: hideKey(client.baseUrl, terminal), isDryRun: options.dryRun ?? false };
  const known = { ...about, record, endedAtMs: terminal.now(), quota: client.quota, rejects, rejected };
  if (!('error' in end)) return { ...known, ...end };
  const exitCode = end.error instanceof Interruption ? end.error.exitCode : exitCodeOf(end.error);
  return { ...known, report: undefined, exitCode, ending: explainError(end.error) };
}

async function realRun(run: Run): Promise<End> {
  const { job, client, record, settings, options, terminal } = run;
  const status = StatusLine.of(terminal);
  let report: SyncReport;
  try {
    report = await job.start(new FinishingClient(client), {
      ...settings,
      // `progress.requests` counts calls, some of which still wait. The status line shows the requests that were sent.
      onProgress: (progress) =>
        status.show({ bar: progressBar(progress), progress: progressText({ ...progress, requests: record.requests.sent }) }),
      review: (changes, list) => {
        if (options.report !== undefined) record.plan(changes);
        refuse({ job, options, changes, list });
      },
    });
  } finally {
    status.clear();
  }
  const rejected = job.input?.rejected ?? 0;
  let ending: string | undefined;
  try {
    await writeResult(
      terminal.stdout,
      options.json ? reportJson(report, { rejected, lists: options.lists }) : reportText(report, rejected),
    );
  } finally {
    ending = tellEnd(run, report);
  }
  return { report, ending, exitCode: exitCode(report, { signal: run.signal, rejected }) };
}

async function dryRun(run: Run): Promise<End> {
  const { job, client, record, signal, settings, options, terminal } = run;
  let planned: { changes: Iterable<ReviewedChange>; list: ReviewedList } | undefined;
  const report = await job.start(client, {
    ...settings,
    dryRun: true,
    review: (changes, list) => {
      planned = { changes, list };
      if (options.report !== undefined) record.plan(changes);
    },
  });
  const ending = tellEnd(run, report);
  if (report.stopped !== undefined) return { report, ending, exitCode: exitCode(report, { signal, rejected: 0 }) };
  const isNothingSent = record.requests.sent === 0;
  const rejected = job.input?.rejected ?? 0;
  const quota = quotaFor(settings.priority ?? 'low', client.quota);
  const parts = { report, quota, name: job.name, options, terminal, rejected, isNothingSent };
  await writePlan(planned?.changes ?? [], parts);
  if (planned) refuse({ job, options, ...planned });
  return { report, ending, exitCode: rejected > 0 ? EXIT.partlyDone : EXIT.done };
}

interface Reviewed {
  job: Job;
  options: JobOptions;
  changes: Iterable<ReviewedChange>;
  list: ReviewedList;
}

/** @throws UsageError, InvalidArgumentError for changes that are probably a mistake */
function refuse({ job, options, changes, list }: Reviewed): void {
  if (list.missing > list.wanted / 2 && !options.allowMissing) {
    const what = `${list.missing} of its ${list.wanted} pets are missing in the service's list of ${list.listed}`;
    throw new UsageError(`Cannot use ${job.name}: ${what}; check the file and the address, or allow it with --allow-missing`);
  }
  refuseTooMany(maxChangesOf(options), list);
  job.review?.(changes);
}

/** Prints why a run ended early and how to continue it. Returns what it printed. */
function tellEnd({ job, client, record, signal, options, terminal }: Run, report: SyncReport): string | undefined {
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
  const lines = [
    ...(refusal && report.stopped === 'quota' ? [oneLine(refusal.message)] : []),
    ...(refusal && report.stopped === 'authentication' ? [explainError(refusal)] : []),
    ...(line === undefined ? [] : [line]),
    ...(lost === undefined ? [] : [`${lost} while the last requests were under way; another run may have begun`]),
  ];
  for (const each of lines) tell(terminal, `petstore: ${each}`);
  return lines.length > 0 ? lines.join('; ') : undefined;
}

/** The loss of the lock, if it ended the run. It is the only interruption that is a failure. */
function lostLock({ reason }: AbortSignal): Interruption | undefined {
  return reason instanceof Interruption && reason.exitCode === EXIT.failure ? reason : undefined;
}

function exitCode(report: SyncReport, { signal, rejected }: { signal: AbortSignal; rejected: number }): ExitCode {
  if (lostLock(signal)) return EXIT.failure;
  if (report.stopped === 'abort' && signal.reason instanceof Interruption) return signal.reason.exitCode;
  const code = exitCodeOfReport(report);
  return code === EXIT.done && rejected > 0 ? EXIT.partlyDone : code;
}

/** Longer than a day, so that a job waits for the next day's quota. */
const LONGEST_WAIT = '7d';

/** The options with `--wait` turned into a maxWait. */
function withWait(options: JobOptions): JobOptions {
  if (!options.wait) return options;
  if (options.maxWait !== undefined) throw new UsageError('Cannot use --wait with --max-wait: --wait waits as long as the service asks');
  return { ...options, maxWait: LONGEST_WAIT };
}

/** The `journal` option for `syncInventory`, if there is a path. */
export function journalOf(path: string | undefined): Pick<SyncOptions, 'journal'> {
  return path === undefined ? {} : { journal: fileJournal(path) };
}

/** @throws UsageError for an option that would have no effect */
function refuseUseless({ journal }: Job, { json, dryRun, lists, lock, sandbox, state }: JobOptions): void {
  if (!json) refuseGiven({ '--lists': lists }, 'without --json: it changes only the JSON output; add --json');
  if (dryRun) refuseGiven({ '--lists': lists }, 'with --dry-run, which lists the pets anyway; leave --lists out');
  if (sandbox) refuseGiven({ '--journal': journal }, 'with --sandbox: that sandbox ends with the command, so the job could not be resumed');
  refuseSharing({ '--lock': lock }, { sandbox, state });
}

function limitsOf(options: JobOptions): Pick<SyncOptions, 'concurrency' | 'priority'> {
  maxChangesOf(options);
  const { priority = 'low' } = options;
  if (priority !== 'low' && priority !== 'normal') throw new UsageError(`Cannot use --priority ${priority}: it must be low or normal`);
  return { priority, concurrency: wholeNumber('concurrency', options.concurrency, { min: 1, max: 1000 }) };
}
