import type { PetId } from '../contract/models.ts';
import { BadRequestError, InvalidArgumentError, NotFoundError, UnexpectedStatusError } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import { fingerprint } from './fingerprint.ts';
import { itemsUntilAborted } from './items-until-aborted.ts';
import { JOURNAL_VERSION, type Journal, JournalError, named } from './journal.ts';
import type { JournalRecord, RecordedError } from './journal-record.ts';
import type { FailedUpdate, StockJob } from './stock-job.ts';
import { SyncItemError } from './sync-item-error.ts';

type JobRecord = Extract<JournalRecord, { type: 'job' }>;

/** What identifies the job that an undo undoes. */
export type UndoneJob = Pick<JobRecord, 'wanted'> & { undoes: string };

/** The job that a journal must belong to. */
interface OwnJob {
  job: StockJob;
  /** The service's address; undefined if the client has none. */
  store: string | undefined;
  /** Undefined if the job is not an undo. */
  undone?: UndoneJob | undefined;
  signal: AbortSignal | undefined;
}

/** What a journal says of its job. */
export interface History {
  /** The record of the job, as long as the journal lacks it. */
  opening: JobRecord | undefined;
  /** When the job was finished; undefined if it is not. */
  finishedAt: Date | undefined;
}

/**
 * Applies the records of earlier runs, which are the lines of its journal, to a job. A journal belongs to its job from the first record of a
 * pet on: before, as after a run that was refused, another job may have it.
 *
 * @throws InvalidArgumentError when the journal belongs to another job or another store, or its job was undone.
 * @throws what `recordsOf` throws
 */
export async function replay(journal: Journal, { job, store, undone, signal }: OwnJob): Promise<History> {
  const { wanted = fingerprint(job.stock), undoes } = undone ?? {};
  const own: JobRecord = { type: 'job', version: JOURNAL_VERSION, store, wanted, pets: job.stock.size, undoes };
  const history: History = { opening: own, finishedAt: undefined };
  let refusal: InvalidArgumentError | undefined;
  for await (const record of recordsOf(journal, signal)) {
    if (record.type === 'run') continue;
    if (record.type === 'job') {
      refusal = refusalOf(record, own, journal);
      history.opening = refusal && own;
      continue;
    }
    if (refusal) throw refusal;
    if (record.type === 'undo') throw wasUndone(journal, record.at);
    if (record.type === 'end') history.finishedAt = new Date(record.at);
    else takeOver(record, job);
  }
  return history;
}

/**
 * The records of a journal, the first of them its job.
 *
 * @throws JournalError when a line is neither a record nor the torn end of a run, or a newer version wrote the journal.
 * @throws the reason of an abort, without waiting for the next line
 */
export async function* recordsOf(journal: Journal, signal: AbortSignal | undefined): AsyncGenerator<JournalRecord> {
  // The schemas of records need zod, and most jobs have no journal.
  const reading = { purpose: 'read the journal', details: () => ({}), signal: signal ?? new AbortController().signal };
  const { isBeginning, mayBeTorn, newerVersion, parseRecord } = await loadPart('zod', reading, import('./journal-record.ts'));
  let lineNumber = 0;
  let tornAt: number | undefined;
  let hasBegun = false;
  for await (const line of itemsUntilAborted(journal.read(), signal)) {
    lineNumber += 1;
    const record = parseRecord(line);
    const newer = record ? undefined : newerVersion(line);
    if (newer !== undefined) throw tooNew(journal, newer);
    // A run that is killed while it writes leaves a torn line. The next run begins a new line, which may be torn too.
    if (tornAt !== undefined && !isBeginning(line)) throw unreadable(journal, tornAt);
    hasBegun ||= record?.type === 'job';
    const isPlausible = record ? hasBegun : mayBeTorn(line) && (hasBegun || isBeginning(line));
    if (!isPlausible) throw unreadable(journal, lineNumber);
    if (record) yield record;
    tornAt = record ? undefined : (tornAt ?? lineNumber);
  }
}

/** Why a journal cannot be this job's; undefined if it is. */
function refusalOf(theirs: JobRecord, own: JobRecord, journal: Journal): InvalidArgumentError | undefined {
  if (theirs.store !== own.store) return otherStore(journal, theirs.store, own.store);
  if (theirs.undoes !== own.undoes) return otherKind(journal, theirs.undoes);
  return theirs.wanted === own.wanted ? undefined : otherJob(journal, theirs.pets, own.pets);
}

function takeOver(record: Exclude<JournalRecord, { type: 'job' | 'run' | 'undo' | 'end' }>, job: StockJob): void {
  const row = job.stock.rowOf(record.petId);
  if (row === undefined) return;
  switch (record.type) {
    case 'intent':
      job.intend(row, record.from, record.to);
      break;
    case 'done':
      job.finish(row);
      break;
    case 'void':
      job.withdraw(row);
      break;
    case 'missing':
      job.miss(row);
      break;
    case 'failed':
      job.fail(row, restoreError(record.error, job.stock.petIdOf(row)), record.quantity);
  }
}

/** Restores a recorded failure. Journals only record final failures, so only a few kinds occur. */
function restoreError({ kind, message, code, status, reason }: RecordedError, petId: PetId): FailedUpdate['error'] {
  const refused = { operation: 'updateInventory', petId, code, status, outcome: 'rejected' } as const;
  switch (kind) {
    case 'bad-request':
      return new BadRequestError(message, refused);
    case 'not-found':
      return new NotFoundError(message, refused);
    case 'unexpected-status':
      return new UnexpectedStatusError(message, refused);
    case 'invalid-argument':
      return new InvalidArgumentError(message, { ...refused, outcome: 'not-sent', argument: 'quantity' });
    default:
      return new SyncItemError(message, { code, status, reason });
  }
}

function unreadable(journal: Journal, lineNumber: number): JournalError {
  const why = `line ${lineNumber} is not a record of a journal, so this is another file, or it was damaged`;
  return new JournalError(`Cannot read ${named(journal)}: ${why}`, { code: 'journal_unreadable' });
}

function tooNew(journal: Journal, version: number): JournalError {
  const why = `a newer version of petstore-inventory wrote it (format ${version}, and this one reads up to ${JOURNAL_VERSION})`;
  return new JournalError(`Cannot read ${named(journal)}: ${why}; use that version here too`, { code: 'journal_version' });
}

/** The error for a journal that belongs to a job for another address. */
export function otherStore(journal: Journal, theirs: string | undefined, ours: string | undefined): InvalidArgumentError {
  const shown = (store: string | undefined): string => store ?? 'a store with an unknown address';
  return refused(
    `Cannot use ${named(journal)} for ${shown(ours)}: it belongs to a job for ${shown(theirs)}; name journals after their job and store`,
  );
}

function wasUndone(journal: Journal, at: string): InvalidArgumentError {
  return refused(`Cannot continue with ${named(journal)}: an undo of its job began at ${at}; a new job needs a new journal`);
}

function otherKind(journal: Journal, undoes: string | undefined): InvalidArgumentError {
  const what = undoes === undefined ? 'a job that is not an undo' : 'an undo of another job';
  return refused(`Cannot use ${named(journal)} here: it belongs to ${what}; name journals after their job`);
}

function otherJob(journal: Journal, theirs: number, ours: number): InvalidArgumentError {
  const sizes = theirs === ours ? `with the same number of pets: ${ours}` : `pets there: ${theirs}, here: ${ours}`;
  return refused(
    `Cannot use ${named(journal)} for this input: it belongs to another wanted state (${sizes}); name journals after their job`,
  );
}

function refused(message: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { argument: 'journal' });
}
