import { fileJournal } from '../../node/file-journal.ts';
import { type ReviewedChange, type SyncReport, syncInventory } from '../../sync/index.ts';
import { type Client, type CommonOptions, connect } from '../connect.ts';
import { EXIT, type ExitCode, exitCodeOfReport } from '../exit-code.ts';
import { FinishingClient } from '../finishing-client.ts';
import { inputName } from '../input/open-input.ts';
import { readInput } from '../input/read-input.ts';
import { interruptSignal } from '../interrupt.ts';
import { writePlan } from '../plan-text.ts';
import { progressBar, progressText } from '../progress-bar.ts';
import { hearQuotaReturn } from '../quota-return.ts';
import { explainEnd, reportJson, reportText } from '../report-text.ts';
import { StatusLine } from '../status-line.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SyncCommandOptions extends CommonOptions {
  dryRun?: boolean;
  journal?: string;
  allowNegative?: boolean;
  concurrency: string;
}

const NOTICE = 'petstore: finishing the requests under way; interrupt again to end at once';

/** Brings the stock to the state that a file describes, or with `--dry-run` shows what that would take. */
export async function sync(path: string, options: SyncCommandOptions, terminal: Terminal): Promise<ExitCode> {
  const concurrency = concurrencyOf(options.concurrency);
  if (options.sandbox && options.journal !== undefined)
    throw new UsageError('Cannot use --journal with --sandbox: that sandbox is gone when the command ends, so nothing could go on there');
  const { client, close } = await connect(options, terminal);
  const { signal, stopListening } = interruptSignal(terminal, options.dryRun ? undefined : NOTICE);
  try {
    const run = { client, quotaReturn: hearQuotaReturn(client), signal, concurrency, path, options, terminal };
    return options.dryRun ? await dryRun(run) : await realRun(run);
  } finally {
    stopListening();
    close();
  }
}

interface Run {
  client: Client;
  /** When there is quota again, where a call was refused for want of it. */
  quotaReturn: () => Date | undefined;
  signal: AbortSignal;
  concurrency: number;
  path: string;
  options: SyncCommandOptions;
  terminal: Terminal;
}

async function realRun({ client, quotaReturn, signal, concurrency, path, options, terminal }: Run): Promise<ExitCode> {
  const status = StatusLine.of(terminal);
  let report: SyncReport;
  try {
    report = await syncInventory(new FinishingClient(client), readInput(path, terminal), {
      ...journalOf(options),
      ...{
        concurrency,
        signal,
        now: terminal.now,
        onProgress: (progress) => status.show({ bar: progressBar(progress), progress: progressText(progress) }),
      },
      review: (changes) => refuseNegative(changes, path, options),
    });
  } finally {
    status.clear();
  }
  try {
    await writeResult(terminal.stdout, options.json ? reportJson(report) : reportText(report));
  } finally {
    tellEnd(report, { client, quotaReturn, options, terminal });
  }
  return exitCodeOfReport(report);
}

async function dryRun({ client, quotaReturn, signal, path, options, terminal }: Run): Promise<ExitCode> {
  let planned: Iterable<ReviewedChange> = [];
  const review = (changes: Iterable<ReviewedChange>): void => {
    refuseNegative(changes, path, options);
    planned = changes;
  };
  const report = await syncInventory(client, readInput(path, terminal), {
    ...journalOf(options),
    dryRun: true,
    signal,
    now: terminal.now,
    review,
  });
  tellEnd(report, { client, quotaReturn, options, terminal });
  if (report.stopped !== undefined) return exitCodeOfReport(report);
  await writePlan(planned, { report, quota: client.quota, name: inputName(path), options, terminal });
  return EXIT.done;
}

function tellEnd(report: SyncReport, { client, quotaReturn, options, terminal }: Omit<Run, 'signal' | 'concurrency' | 'path'>): void {
  const isDayUsedUp = client.quota.day.remaining === 0;
  const line = explainEnd(report, { journal: options.journal, retryAt: quotaReturn(), isDayUsedUp });
  if (line !== undefined) tell(terminal, line);
}

function journalOf({ journal }: SyncCommandOptions): { journal?: ReturnType<typeof fileJournal> } {
  return journal === undefined ? {} : { journal: fileJournal(journal) };
}

function concurrencyOf(text: string): number {
  const concurrency = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (concurrency >= 1 && concurrency <= 1000) return concurrency;
  throw new UsageError(`Cannot use --concurrency ${text}: it must be a whole number from 1 to 1000`);
}

/** The service owns the bounds of a quantity; but a stock below zero is likelier a typing error. */
function refuseNegative(changes: Iterable<ReviewedChange>, path: string, { allowNegative }: SyncCommandOptions): void {
  if (allowNegative) return;
  for (const { petId, from, to, adjust } of changes) {
    if (to >= 0) continue;
    const what = `${adjust === undefined ? 'it' : `the adjustment ${adjust}`} would take pet ${petId} from ${from} to ${to}`;
    throw new UsageError(`Cannot use ${inputName(path)}: ${what}; correct it, or allow it with --allow-negative`);
  }
}
