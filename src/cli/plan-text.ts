import type { Quota } from '../quota/ledger/quota.ts';
import { estimateMs, fitsToday } from '../sync/estimate.ts';
import type { ReviewedChange, SyncReport } from '../sync/index.ts';
import { type Paint, paintFor } from './colour.ts';
import { counted, duration } from './duration.ts';
import { jsonText } from './json-text.ts';
import { failedJson } from './report-text.ts';
import { type Terminal, writeResults } from './terminal.ts';

/** The contents of a plan. */
interface PlanParts {
  report: SyncReport;
  quota: Quota | undefined;
  /** How messages name the input. */
  name: string;
  options: { json?: boolean };
  terminal: Terminal;
  signal?: AbortSignal | undefined;
  /** Rows of the input that are skipped. */
  rejected?: number;
  /** Whether the run would send nothing, not even the list: the job is finished, or has no pets. */
  isNothingSent?: boolean;
}

/** Lines that are written at once. */
const BATCH = 1000;

/**
 * Writes a plan in the form of a diff, or as one JSON object, for as long as the pipe is open.
 *
 * @throws like `writeResults`
 */
export async function writePlan(
  changes: Iterable<ReviewedChange>,
  { report, quota, name, options, terminal, signal, rejected = 0, isNothingSent = false }: PlanParts,
): Promise<void> {
  const requests = isNothingSent ? 0 : report.pending.length + 1;
  const cost = {
    requests,
    estimatedMs: requests === 0 ? 0 : estimateMs(requests, quota, terminal.now()),
    fitsToday: fitsToday(requests, quota) ?? ('unknown' as const),
  };
  const { unchanged, missing } = report;
  const failed = failedJson(report);
  const skipped = rejected > 0 && { rejected };
  const paint = paintFor(terminal.stdout, terminal);
  const texts = options.json
    ? [`${jsonText({ changes: [...changes], unchanged, missing, failed, ...skipped, ...cost })}\n`]
    : planTexts(planLines(changes, report, paint), { name, end: `${summary(report, { ...cost, rejected })}\n`, paint });
  await writeResults(terminal.stdout, texts, { signal });
}

/** The lines with a head and an end, in batches. */
function* planTexts(lines: Iterable<string>, { name, end, paint }: { name: string; end: string; paint: Paint }): Generator<string> {
  yield `${paint('bold', '--- the stock now')}\n${paint('bold', `+++ ${name}`)}\n`;
  yield* batches(lines);
  yield end;
}

function* planLines(changes: Iterable<ReviewedChange>, { missing, failed }: SyncReport, paint: Paint): Generator<string> {
  for (const { petId, from, to, adjust } of changes) {
    const note = adjust === undefined ? '' : `  (${adjust > 0 ? '+' : ''}${adjust})`;
    yield `${paint('red', `- ${petId}  ${from}`)}\n${paint('green', `+ ${petId}  ${to}${note}`)}\n`;
  }
  for (const petId of missing) yield `${paint('yellow', `? ${petId}  missing in the service's list`)}\n`;
  for (const { petId, error } of failed) yield `${paint('yellow', `! ${petId}  ${error.message}`)}\n`;
}

function* batches(lines: Iterable<string>): Generator<string> {
  let batch: string[] = [];
  for (const line of lines) {
    if (batch.push(line) < BATCH) continue;
    yield batch.join('');
    batch = [];
  }
  yield batch.join('');
}

function summary(
  { updated, pending, unchanged, missing, failed, finishedAt }: SyncReport,
  {
    requests,
    estimatedMs,
    fitsToday: fits,
    rejected,
  }: { requests: number; estimatedMs: number; fitsToday: boolean | 'unknown'; rejected: number },
): string {
  const counts = [
    finishedAt ? `${updated} updated` : counted(pending.length, 'change'),
    `${unchanged} unchanged`,
    `${missing.length} missing`,
    ...(failed.length > 0 ? [`${failed.length} failed`] : []),
    ...(rejected > 0 ? [`${counted(rejected, 'bad row')} skipped`] : []),
  ];
  const today = fits === 'unknown' ? 'is unknown' : fits ? 'suffices' : 'does not suffice';
  return `${counts.join(', ')}: ${counted(requests, 'request')}, ${estimatedMs === 0 ? 'no waiting for quota' : `about ${duration(estimatedMs)}`}; today's quota ${today}`;
}
