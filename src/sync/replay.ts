import { InvalidArgumentError } from '../errors.ts';
import { fingerprint } from './fingerprint.ts';
import { type Journal, JournalError } from './journal.ts';
import { JOB_PREFIX, type JournalRecord, parseRecord, RUN_PREFIX } from './journal-record.ts';
import { restoreError } from './recorded-error.ts';
import type { FailedUpdate, StockJob } from './stock-job.ts';

/** What a journal says of a job: nothing yet, begun, or finished. */
export interface History {
  isNew: boolean;
  /** When the job had nothing left to do; undefined while it has. */
  finishedAt: Date | undefined;
  /** Tells the wanted state of this job from others. */
  wanted: string;
  /** The address that the job is for, where the client tells it. */
  store: string | undefined;
}

/** What a journal has to fit. */
interface OwnJob {
  job: StockJob;
  store: string | undefined;
}

/**
 * Takes over what a journal tells of earlier runs.
 *
 * @throws InvalidArgumentError when the journal belongs to another wanted state, or to another store.
 * @throws JournalError when a line is neither a record nor the torn end of a run.
 */
export async function replay(journal: Journal, { job, store }: OwnJob): Promise<History> {
  const history: History = { isNew: true, finishedAt: undefined, wanted: fingerprint(job.stock), store };
  let lineNumber = 0;
  let tornAt: number | undefined;
  for await (const line of journal.read()) {
    lineNumber += 1;
    const record = parseRecord(line);
    // A run that was killed while it wrote leaves a torn line; the next run begins on a new one, and may tear that too.
    if (tornAt !== undefined && !beginsRun(line)) throw unreadable(journal, tornAt);
    if (record) takeOver(record, { history, job, journal });
    else if (history.isNew && !beginsRun(line)) throw unreadable(journal, lineNumber);
    tornAt = record ? undefined : (tornAt ?? lineNumber);
  }
  return history;
}

/** Tells whether a line is the first of a run, or the part of one that fits. */
function beginsRun(line: string): boolean {
  return [JOB_PREFIX, RUN_PREFIX].some((prefix) => line.startsWith(prefix.slice(0, line.length)));
}

function takeOver(record: JournalRecord, { history, job, journal }: { history: History; job: StockJob; journal: Journal }): void {
  if (record.type === 'job') {
    if (record.store !== history.store) throw otherStore(journal, record.store, history.store);
    if (record.wanted !== history.wanted) throw otherJob(journal, record.pets, job.stock.size);
    history.isNew = false;
  } else if (history.isNew) throw unreadable(journal, 1);
  else if (record.type === 'end') history.finishedAt = new Date(record.at);
  else if (record.type !== 'run') takeOverPet(record, job);
}

type PetRecord = Exclude<JournalRecord, { type: 'job' | 'run' | 'end' }>;

function takeOverPet(record: PetRecord, job: StockJob): void {
  const row = job.stock.rowOf(record.petId);
  if (row === undefined) return;
  switch (record.type) {
    case 'intent':
      job.promise(row, record.from, record.to);
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
      job.fail(row, restoreFailure(record));
  }
}

function restoreFailure({ petId, quantity, error }: Extract<PetRecord, { type: 'failed' }>): FailedUpdate {
  return { petId, quantity, error: restoreError(error, petId) };
}

function named(journal: Journal): string {
  return journal.name === undefined ? 'this journal' : `journal ${journal.name}`;
}

function unreadable(journal: Journal, lineNumber: number): JournalError {
  return new JournalError(`Cannot resume from ${named(journal)}: line ${lineNumber} is not a record of a journal`, {
    code: 'journal_unreadable',
  });
}

function otherStore(journal: Journal, theirs: string | undefined, ours: string | undefined): InvalidArgumentError {
  const shown = (store: string | undefined): string => store ?? 'a store whose address is not known';
  return new InvalidArgumentError(
    `Cannot use ${named(journal)} for ${shown(ours)}: it belongs to a job for ${shown(theirs)}; name journals after their job and store`,
    { argument: 'journal' },
  );
}

function otherJob(journal: Journal, theirs: number, ours: number): InvalidArgumentError {
  const sizes = theirs === ours ? `of as many pets: ${ours}` : `${theirs} pets, not ${ours}`;
  return new InvalidArgumentError(
    `Cannot use ${named(journal)} for this input: it belongs to another wanted state (${sizes}); name journals after their job`,
    { argument: 'journal' },
  );
}
