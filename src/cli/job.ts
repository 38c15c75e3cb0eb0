import { resolve } from 'node:path';
import { fileJournal } from '../node/file-journal.ts';
import type { ReviewedChange, SyncOptions, SyncReport } from '../sync/index.ts';
import { type ReviewedList, refuseTooMany } from '../sync/sync-options.ts';
import { type Client, type CommonOptions, connect } from './connect.ts';
import { EXIT, type ExitCode, exitCodeOfReport } from './exit-code.ts';
import { oneLine } from './explain-error.ts';
import { FinishingClient } from './finishing-client.ts';
import { Interruption, interruptSignal } from './interrupt.ts';
import { writePlan } from './plan-text.ts';
import { progressBar, progressText } from './progress-bar.ts';
import { hearRefusals, type Refusals } from './refusals.ts';
import { explainEnd, reportJson, reportText } from './report-text.ts';
import { StatusLine } from './status-line.ts';
import { tell } from './tell.ts';
import { type Terminal, writeResult } from './terminal.ts';
import { untilOption } from './time-option.ts';
import { UsageError } from './usage-error.ts';

/** The options of a command that brings many pets to a state. */
export interface JobOptions extends CommonOptions {
  dryRun?: boolean;
  journal?: string;
  concurrency: string;
  priority?: string;
  until?: string;
  maxChanges?: string;
  allowMissing?: boolean;
  lists?: boolean;
}

/** What such a command does. */
export interface Job {
  /** What messages call where the wanted state comes from. */
  name: string;
  /** The journal that the job keeps. */
  journal: string | undefined;
  /** Files that are read or written, by what messages call them: each has to be another. */
  files: Readonly<Record<string, string | undefined>>;
  start(client: Client | FinishingClient, options: SyncOptions): Promise<SyncReport>;
  /** Refuses changes before the first update. @throws UsageError */
  review?(changes: Iterable<ReviewedChange>): void;
  /** How many rows of its input were bad. */
  rejected?(): number;
}

/** A job with all that it runs with. */
interface Run {
  job: Job;
  client: Client;
  refusals: Refusals;
  signal: AbortSignal;
  settings: Pick<SyncOptions, 'concurrency' | 'priority' | 'signal' | 'now'>;
  options: JobOptions;
  terminal: Terminal;
}

const NOTICE = 'petstore: finishing the requests under way; interrupt again to end at once';

/** Does a job, or with `--dry-run` shows what that would take. */
export async function runJob(job: Job, options: JobOptions, terminal: Terminal): Promise<ExitCode> {
  const limits = limitsOf(options);
  checkDistinct(job.files);
  const until = options.until === undefined ? undefined : { atMs: untilOption(options.until, terminal.now()), option: options.until };
  if (options.sandbox && job.journal !== undefined)
    throw new UsageError('Cannot use --journal with --sandbox: that sandbox is gone when the command ends, so nothing could go on there');
  const { client, close } = await connect(options, terminal);
  const { signal, stopListening } = interruptSignal(terminal, { notice: options.dryRun ? undefined : NOTICE, until });
  try {
    const settings = { ...limits, signal, now: terminal.now };
    const run = { job, client, refusals: hearRefusals(client), signal, settings, options, terminal };
    return options.dryRun ? await dryRun(run) : await realRun(run);
  } finally {
    stopListening();
    close();
  }
}

async function realRun({ job, client, settings, options, terminal, ...rest }: Run): Promise<ExitCode> {
  const status = StatusLine.of(terminal);
  let report: SyncReport;
  try {
    report = await job.start(new FinishingClient(client), {
      ...settings,
      onProgress: (progress) => status.show({ bar: progressBar(progress), progress: progressText(progress) }),
      review: (changes, list) => refuse({ job, options, changes, list }),
    });
  } finally {
    status.clear();
  }
  const rejected = job.rejected?.() ?? 0;
  try {
    await writeResult(
      terminal.stdout,
      options.json ? reportJson(report, { rejected, lists: options.lists }) : reportText(report, rejected),
    );
  } finally {
    tellEnd(report, { job, client, settings, options, terminal, ...rest });
  }
  return exitCode(report, { signal: rest.signal, rejected });
}

async function dryRun({ job, client, signal, settings, options, terminal, ...rest }: Run): Promise<ExitCode> {
  let planned: { changes: Iterable<ReviewedChange>; list: ReviewedList } | undefined;
  const report = await job.start(client, {
    ...settings,
    dryRun: true,
    review: (changes, list) => {
      planned = { changes, list };
    },
  });
  tellEnd(report, { job, client, signal, settings, options, terminal, ...rest });
  if (report.stopped !== undefined) return exitCode(report, { signal, rejected: 0 });
  await writePlan(planned?.changes ?? [], { report, quota: client.quota, name: job.name, options, terminal });
  if (planned) refuse({ job, options, ...planned });
  return EXIT.done;
}

interface Reviewed {
  job: Job;
  options: JobOptions;
  changes: Iterable<ReviewedChange>;
  list: ReviewedList;
}

/** @throws UsageError, InvalidArgumentError for changes that whoever started the job cannot have meant */
function refuse({ job, options, changes, list }: Reviewed): void {
  if (list.missing > list.wanted / 2 && !options.allowMissing) {
    const what = `${list.missing} of its ${list.wanted} pets are missing in the service's list of ${list.listed}`;
    throw new UsageError(`Cannot use ${job.name}: ${what}; check the file and the address, or allow it with --allow-missing`);
  }
  refuseTooMany(maxChangesOf(options), list);
  job.review?.(changes);
}

function tellEnd(report: SyncReport, { job, client, refusals, signal, terminal }: Run): void {
  const { retryAt, refusal } = refusals.latest();
  if (refusal !== undefined && (report.stopped === 'quota' || report.stopped === 'authentication'))
    tell(terminal, `petstore: ${oneLine(refusal)}`);
  const line = explainEnd(report, {
    journal: job.journal,
    retryAt,
    isDayUsedUp: client.quota.day.remaining === 0,
    interruption: signal.reason instanceof Interruption ? signal.reason.message : undefined,
  });
  if (line !== undefined) tell(terminal, line);
}

function exitCode(report: SyncReport, { signal, rejected }: { signal: AbortSignal; rejected: number }): ExitCode {
  if (report.stopped === 'abort' && signal.reason instanceof Interruption) return signal.reason.exitCode;
  const code = exitCodeOfReport(report);
  return code === EXIT.done && rejected > 0 ? EXIT.partlyDone : code;
}

/** The journal of a job, as an option of a synchronisation. */
export function journalOf(path: string | undefined): Pick<SyncOptions, 'journal'> {
  return path === undefined ? {} : { journal: fileJournal(path) };
}

/** @throws UsageError where one file would be written over another */
function checkDistinct(files: Job['files']): void {
  const names = new Map<string, string>();
  for (const [name, path] of Object.entries(files)) {
    if (path === undefined) continue;
    const known = names.get(resolve(path));
    if (known !== undefined) throw new UsageError(`Cannot use ${path} as ${name}: it is ${known} already`);
    names.set(resolve(path), name);
  }
}

function limitsOf(options: JobOptions): Pick<SyncOptions, 'concurrency' | 'priority'> {
  maxChangesOf(options);
  const { priority = 'low' } = options;
  if (priority !== 'low' && priority !== 'normal') throw new UsageError(`Cannot use --priority ${priority}: it must be low or normal`);
  return { priority, concurrency: wholeNumber('concurrency', options.concurrency, { min: 1, max: 1000 }) };
}

/** @throws UsageError */
export function wholeNumber(option: string, text: string, { min, max }: { min: number; max: number }): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= min && number <= max) return number;
  throw new UsageError(`Cannot use --${option} ${text}: it must be a whole number from ${min} to ${max}`);
}

function maxChangesOf({ maxChanges }: JobOptions): SyncOptions['maxChanges'] {
  if (maxChanges === undefined) return undefined;
  const [, number, percent] = /^(\d{1,9}|\d{1,3}\.\d{1,3}(?=%))(%)?$/.exec(maxChanges) ?? [];
  if (number === undefined || (percent && Number(number) > 100))
    throw new UsageError(
      `Cannot use --max-changes ${maxChanges}: it must be a number of pets such as 500, or a part of the list such as 10%`,
    );
  return percent ? `${Number(number)}%` : Number(number);
}
