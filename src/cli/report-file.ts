import type { Stats } from 'node:fs';
import { extname } from 'node:path';
import type { Quota } from '../quota/ledger/quota.ts';
import type { ReviewedChange, SyncReport } from '../sync/index.ts';
import { recordError } from '../sync/record-error.ts';
import { messageOf } from '../thrown.ts';
import { csvLine } from './csv-line.ts';
import { counted, duration } from './duration.ts';
import type { ExitCode } from './exit-code.ts';
import { messageLine, oneLine } from './explain-error.ts';
import type { BadRow } from './input/wanted-row.ts';
import { jsonText } from './json-text.ts';
import { checkReplaceable, found, replaceFile } from './replace-file.ts';
import { failedJson, failedText } from './report-text.ts';
import type { ObservedQuota, RecordedWait, RunRecord } from './run-record.ts';
import { cannotOpen, UsageError } from './usage-error.ts';

/** The contents of a report. */
export interface ReportParts {
  /** Such as `sync restock.csv`. */
  title: string;
  service: string;
  journal: string | undefined;
  isDryRun: boolean;
  record: RunRecord;
  endedAtMs: number;
  quota: Quota;
  /** Undefined for a run that ended with an error. */
  report: SyncReport | undefined;
  rejects: readonly BadRow[];
  rejected: number;
  exitCode: ExitCode;
  /** Why it ended early, or what went wrong. */
  ending: string | undefined;
}

const FORMATS = { '.json': jsonReport, '.csv': csvReport, '.txt': textReport } as const;

/** The file of a run's report: checked before the first request, and written whole at the end of the run. */
export class ReportFile {
  readonly #path: string;
  readonly #format: (parts: ReportParts) => string;
  /** What the latest `write` left at the path. */
  #written: Stats | undefined;

  private constructor(path: string, format: (parts: ReportParts) => string) {
    this.#path = path;
    this.#format = format;
  }

  /** Checks that the report can be written, and leaves an earlier one as it is. @throws UsageError */
  static async at(path: string): Promise<ReportFile> {
    const format = Object.entries(FORMATS).find(([extension]) => extension === extname(path).toLowerCase())?.[1];
    if (!format) throw new UsageError(`Cannot use --report ${path}: its name must end in .json, .csv or .txt, which sets its format`);
    try {
      await checkReplaceable(path);
      return new ReportFile(path, format);
    } catch (error) {
      throw cannotOpen('--report', { path, error });
    }
  }

  /** Whether the file holds no report yet. */
  async isEmpty(): Promise<boolean> {
    return ((await this.#found())?.size ?? 0) === 0;
  }

  /** Whether the file still is what `write` wrote, and not the report of another run. */
  async isOwn(): Promise<boolean> {
    const [now, then] = [await this.#found(), this.#written];
    return now?.ino === then?.ino && now?.mtimeMs === then?.mtimeMs;
  }

  async write(parts: ReportParts): Promise<void> {
    try {
      await replaceFile(this.#path, this.#format(parts));
      this.#written = await this.#found();
    } catch (error) {
      throw new Error(`Cannot write --report ${this.#path}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** What is at the path; undefined also if the system cannot tell, as it then cannot write there, which `write` reports. */
  #found(): Promise<Stats | undefined> {
    return found(this.#path).catch(() => undefined);
  }
}

/** The result of a change. */
type Result = 'updated' | 'failed' | 'pending';

/** The changes with their results. */
function* resultsOf({ record, report }: ReportParts): Generator<ReviewedChange & { at?: Date; result: Result }> {
  const failed = new Set(report?.failed.map(({ petId }) => String(petId)));
  for (const change of record.changes())
    yield { ...change, result: failed.has(String(change.petId)) ? 'failed' : change.at ? 'updated' : 'pending' };
}

function countsOf({ report, rejected, record }: ReportParts): Record<string, number> {
  if (!report) {
    const changes = [...record.changes()];
    const updated = changes.filter(({ at }) => at !== undefined).length;
    return { updated, unchanged: 0, missing: 0, failed: 0, pending: changes.length - updated, rejected };
  }
  const { updated, unchanged, missing, failed, pending } = report;
  return { updated, unchanged, missing: missing.length, failed: failed.length, pending: pending.length, rejected };
}

/** The waits of the run. It may have ended before the predicted end of one. */
function waitsOf({ record, endedAtMs }: ReportParts): RecordedWait[] {
  return record.waits.map((wait) => ({ ...wait, untilMs: Math.min(wait.untilMs, endedAtMs) }));
}

function jsonReport(parts: ReportParts): string {
  const { title, service, journal, isDryRun, record, endedAtMs, quota, report, rejects, exitCode, ending } = parts;
  const instant = (observed: ObservedQuota | undefined) => observed && { ...observed, atMs: undefined, at: new Date(observed.atMs) };
  const waits = waitsOf(parts).map(({ reason, fromMs, untilMs }) => ({ reason, from: new Date(fromMs), until: new Date(untilMs) }));
  return `${jsonText({
    title,
    service,
    journal,
    dryRun: isDryRun,
    from: new Date(record.beganAtMs),
    to: new Date(endedAtMs),
    exitCode,
    ending,
    counts: countsOf(parts),
    requests: record.requests,
    quota: { atStart: instant(record.quotaAtStart), atEnd: instant(record.quotaAtEnd), day: quota.day },
    changes: [...resultsOf(parts)],
    failed: report ? failedJson(report) : [],
    missing: report?.missing ?? [],
    pending: report?.pending ?? [],
    rejects,
    waits,
  })}\n`;
}

const COLUMNS = ['what', 'petId', 'from', 'to', 'row', 'at', 'until', 'detail'] as const;
type Row = Partial<Record<(typeof COLUMNS)[number], string | number | bigint | undefined>>;

function csvReport(parts: ReportParts): string {
  const lines = Array.from(csvRows(parts), (row) => csvLine(COLUMNS.map((column) => String(row[column] ?? ''))));
  return `${COLUMNS.join(',')}\n${lines.join('\n')}\n`;
}

function* csvRows(parts: ReportParts): Generator<Row> {
  const { record, endedAtMs, report, rejects } = parts;
  const messages = new Map(report?.failed.map(({ petId, error }) => [String(petId), messageLine(recordError(error).message)]));
  yield { what: 'run', at: iso(record.beganAtMs), until: iso(endedAtMs), detail: summaryOf(parts).join('; ') };
  for (const { petId, from, to, at, result } of resultsOf(parts))
    yield { what: result, petId, from, to, at: at?.toISOString(), detail: messages.get(String(petId)) };
  const planned = new Set(Array.from(record.changes(), ({ petId }) => String(petId)));
  for (const { petId, quantity } of report?.failed ?? [])
    if (!planned.has(String(petId))) yield { what: 'failed', petId, to: quantity, detail: messages.get(String(petId)) };
  for (const petId of report?.missing ?? []) yield { what: 'missing', petId };
  for (const { row, reason, text } of rejects) yield { what: 'rejected', row, detail: `${reason}: ${text}` };
  for (const { reason, fromMs, untilMs } of waitsOf(parts)) yield { what: 'wait', at: iso(fromMs), until: iso(untilMs), detail: reason };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** Most lines of one kind in a text report, which people send by mail. */
const NAMED = 100;

function textReport(parts: ReportParts): string {
  const { title, service, journal, isDryRun, record, endedAtMs, report, rejects, rejected } = parts;
  const waits = waitsOf(parts).map(({ reason, fromMs, untilMs }) => `  ${iso(fromMs)} to ${iso(untilMs)}: ${reason}`);
  return [
    `petstore ${title}${isDryRun ? ' --dry-run' : ''}`,
    ...summaryOf(parts),
    '',
    `Service   ${service}`,
    `Journal   ${journal ?? 'none'}`,
    `From      ${iso(record.beganAtMs)}`,
    `To        ${iso(endedAtMs)} (${duration(endedAtMs - record.beganAtMs)})`,
    ...section('Changes', changeLines(parts)),
    ...section(
      'Failed',
      report?.failed.map((each) => `  ${failedText(each)}`),
    ),
    ...section(
      "Missing in the service's list",
      report?.missing.map((petId) => `  pet ${petId}`),
    ),
    ...section(
      'Bad rows',
      rejects.map(({ row, reason, text }) => `  row ${row}: ${reason}: ${oneLine(text)}`),
      rejected,
    ),
    ...section('Waits', waits),
    '',
  ].join('\n');
}

function changeLines(parts: ReportParts): string[] {
  return Array.from(resultsOf(parts), ({ petId, from, to, at, result }) => {
    const when = at === undefined ? '' : ` ${at.toISOString()}`;
    return `${String(petId).padStart(12)}  ${String(from).padStart(8)} -> ${String(to).padEnd(8)}  ${result}${when}`;
  });
}

function section(title: string, lines: readonly string[] = [], count = lines.length): string[] {
  if (count === 0) return [];
  const more = count > NAMED ? [`  and ${count - NAMED} more: a report in .json or .csv names them`] : [];
  return ['', `${title} (${count})`, ...lines.slice(0, NAMED), ...more];
}

/** The end of the run, its results, its requests, and the quota that is left. */
function summaryOf(parts: ReportParts): string[] {
  const { exitCode, ending, record, quota } = parts;
  const { sent, lists, updates, retries, refused } = record.requests;
  const counts = Object.entries(countsOf(parts)).map(([name, count]) => `${count} ${name}`);
  return [
    `Exit code ${exitCode}: ${counts.join(', ')}`,
    ...(ending === undefined ? [] : [ending]),
    `${counted(sent, 'request')} sent: ${counted(lists, 'list')}, ${counted(updates, 'update')}; ${retries} of them retries, ${refused} refused (429)`,
    `Left at the end: ${leftOf(record.quotaAtEnd)}; of the day: ${quota.day.resetAt ? `${quota.day.remaining} of ${quota.day.limit}` : 'unknown'}`,
  ];
}

function leftOf(observed: ObservedQuota | undefined): string {
  if (observed?.remaining === undefined) return 'unknown';
  return `${observed.remaining} of ${observed.limit ?? 'unknown'} (from the last answer)`;
}
