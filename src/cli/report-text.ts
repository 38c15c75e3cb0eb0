import type { FailedUpdate, StopReason, SyncReport } from '../sync/index.ts';
import { recordError } from '../sync/recorded-error.ts';
import { counted } from './duration.ts';
import { oneLine } from './explain-error.ts';
import { jsonText } from './json-text.ts';

/** Pets that are named one by one for a human; `--json` names all. */
const NAMED = 20;

/** A run that ended early is told in counts, since what it left may be long; `lists` asks for the pets all the same. */
export function reportJson(
  report: SyncReport,
  { rejected = 0, lists = false }: { rejected?: number; lists?: boolean | undefined } = {},
): string {
  const failed = report.failed.map(({ petId, quantity, error }) => ({ petId, quantity, error: recordError(error) }));
  const { missing, pending } = report;
  const counts = report.stopped !== undefined && !lists && { missing: missing.length, failed: failed.length, pending: pending.length };
  return `${jsonText({ ...report, failed, ...counts, ...(rejected > 0 && { rejected }) })}\n`;
}

export function reportText({ updated, unchanged, missing, failed, pending }: SyncReport, rejected = 0): string {
  const counts = [
    `${updated} updated`,
    `${unchanged} unchanged`,
    `${missing.length} missing`,
    `${failed.length} failed`,
    `${pending.length} pending`,
    ...(rejected > 0 ? [`${counted(rejected, 'bad row')} passed over`] : []),
  ];
  return [
    counts.join(', '),
    ...(missing.length > 0 ? [`missing: ${missing.slice(0, NAMED).join(', ')}${more(missing)}`] : []),
    ...failed.slice(0, NAMED).map(describeFailed),
    ...(failed.length > NAMED ? [`failed:${more(failed)}`] : []),
    '',
  ].join('\n');
}

function describeFailed({ petId, quantity, error }: FailedUpdate): string {
  return `failed: pet ${petId} (quantity ${quantity}): ${oneLine(error.message)}`;
}

function more(list: readonly unknown[]): string {
  return list.length > NAMED ? ` and ${list.length - NAMED} more (--json names all)` : '';
}

/** What is known, beside its report, of how a run ended. */
export interface Ending {
  journal: string | undefined;
  /** When quota is available again. */
  retryAt: Date | undefined;
  isDayUsedUp: boolean;
  /** What can be done about a job that is finished already. */
  hint?: string | undefined;
  /** What ended it, such as a signal or `--until`, where it did not end by itself. */
  interruption?: string | undefined;
}

/** Why a run ended early and how to go on, or why it had nothing to do, on one line; `undefined` where it went to its end. */
export function explainEnd({ stopped, updated, pending, finishedAt }: SyncReport, ending: Ending): string | undefined {
  if (finishedAt)
    return `nothing sent: this job was finished at ${finishedAt.toISOString()}; ${ending.hint ?? 'a new job needs a new --journal'}`;
  if (stopped === undefined) return undefined;
  const when = stopped === 'quota' && ending.retryAt ? ` after ${ending.retryAt.toISOString()}` : '';
  const how =
    ending.journal === undefined
      ? `run it again${when} for the rest; with adjustments, only with a --journal`
      : `run the same command again${when} to go on`;
  return `${whyStopped(stopped, ending)}: ${counted(updated, 'pet')} updated, ${counted(pending.length, 'pet')} left; ${how}`;
}

function whyStopped(stopped: StopReason, ending: Ending): string {
  if (stopped === 'abort') return ending.interruption ?? 'interrupted';
  return stopped === 'quota' ? whyNoQuota(ending) : 'the service refused the key; check PETSTORE_API_KEY';
}

function whyNoQuota({ retryAt, isDayUsedUp }: Ending): string {
  if (isDayUsedUp) return "today's quota is used up";
  return retryAt ? `quota is not available before ${retryAt.toISOString()}` : 'quota is not available';
}
