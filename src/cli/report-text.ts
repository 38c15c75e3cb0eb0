import type { FailedUpdate, StopReason, SyncReport } from '../sync/index.ts';
import type { RecordedError } from '../sync/journal-record.ts';
import { recordError } from '../sync/record-error.ts';
import { counted } from './duration.ts';
import { messageLine } from './explain-error.ts';
import { jsonText } from './json-text.ts';

/** Most pets of a kind that the text names; `--json` names all. */
const NAMED = 20;

/** If a run ended early, its lists may be long, so they are replaced by their lengths unless `lists` is set. */
export function reportJson(
  report: SyncReport,
  { rejected = 0, lists = false }: { rejected?: number; lists?: boolean | undefined } = {},
): string {
  const failed = failedJson(report);
  const { missing, pending } = report;
  const counts = report.stopped !== undefined && !lists && { missing: missing.length, failed: failed.length, pending: pending.length };
  return `${jsonText({ ...report, error: report.error?.toJSON(), failed, ...counts, ...(rejected > 0 && { rejected }) })}\n`;
}

/** The failed pets with what JSON can show of each error. */
export function failedJson({ failed }: SyncReport): { petId: number | bigint; quantity: number; error: RecordedError }[] {
  return failed.map(({ petId, quantity, error }) => ({ petId, quantity, error: recordError(error) }));
}

export function countsText({ updated, unchanged, missing, failed, pending }: SyncReport, rejected = 0): string {
  const counts = [
    `${updated} updated`,
    `${unchanged} unchanged`,
    `${missing.length} missing`,
    `${failed.length} failed`,
    `${pending.length} pending`,
    ...(rejected > 0 ? [`${counted(rejected, 'bad row')} skipped`] : []),
  ];
  return counts.join(', ');
}

export function reportText(report: SyncReport, rejected = 0): string {
  const { missing, failed } = report;
  return [
    countsText(report, rejected),
    ...(missing.length > 0 ? [`missing: ${missing.slice(0, NAMED).join(', ')}${more(missing)}`] : []),
    ...failed.slice(0, NAMED).map((each) => `failed: ${failedText(each)}`),
    ...(failed.length > NAMED ? [`failed:${more(failed)}`] : []),
    '',
  ].join('\n');
}

export function failedText({ petId, quantity, error }: FailedUpdate): string {
  return `pet ${petId} (quantity ${quantity}): ${messageLine(error.message)}`;
}

function more(list: readonly unknown[]): string {
  return list.length > NAMED ? ` and ${list.length - NAMED} more (--json names all)` : '';
}

/** What is known of the end of a run besides its report. */
export interface Ending {
  journal: string | undefined;
  /** When quota is available again. */
  retryAt: Date | undefined;
  isDayUsedUp: boolean;
  /** A dry run leaves nothing to continue. */
  isDryRun?: boolean | undefined;
  /** What the user can do if the job is already finished. */
  hint?: string | undefined;
  /** What interrupted the run, such as a signal or `--until`. */
  interruption?: string | undefined;
}

/** One line: why a run ended early or has to be run again, or that the job was already finished; `undefined` after a complete run. */
export function explainEnd({ stopped, updated, pending, finishedAt, inDoubt }: SyncReport, ending: Ending): string | undefined {
  if (finishedAt)
    return `nothing sent: this job was finished at ${finishedAt.toISOString()}; ${ending.hint ?? 'a new job needs a new --journal'}`;
  if (stopped === undefined && inDoubt !== undefined)
    return `the job left ${counted(inDoubt, 'update')} in doubt, which may still be applied; run the same command again later to set ${inDoubt === 1 ? 'it' : 'them'} back`;
  if (stopped === undefined) return undefined;
  const when = stopped === 'quota' && ending.retryAt ? ` after ${ending.retryAt.toISOString()}` : '';
  if (ending.isDryRun) return `${whyStopped(stopped, ending)}; run it again${when}`;
  const how =
    ending.journal === undefined
      ? `run it again${when} for the rest; with adjustments, only with a --journal`
      : `run the same command again${when} to continue`;
  return `${whyStopped(stopped, ending)}: ${counted(updated, 'pet')} updated, ${counted(pending.length, 'pet')} left; ${how}`;
}

function whyStopped(stopped: StopReason, ending: Ending): string {
  if (stopped === 'abort') return ending.interruption ?? 'interrupted';
  return stopped === 'quota' ? whyNoQuota(ending) : 'the service refused the key';
}

function whyNoQuota({ retryAt, isDayUsedUp }: Ending): string {
  if (isDayUsedUp) return "today's quota is used up";
  return retryAt ? `quota is not available before ${retryAt.toISOString()}` : 'quota is not available';
}
