import { checkClient, type PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import { InvalidArgumentError } from '../errors.ts';
import { hidingKey } from '../hiding-key.ts';
import { badOption } from '../options/rules.ts';
import { IntColumn } from '../stock/int-column.ts';
import { JobLog } from './job-log.ts';
import { type Journal, named } from './journal.ts';
import type { JournalRecord } from './journal-record.ts';
import { performJob, withJournals } from './perform-job.ts';
import { otherStore, recordsOf, type UndoneJob } from './replay.ts';
import type { SyncReport } from './report.ts';
import { StockJob } from './stock-job.ts';
import { type CheckedOptions, checkJournal, checkOptions, resolveSyncOptions, SYNC_OPTIONS, type SyncOptions } from './sync-options.ts';
import { WantedStock } from './wanted-stock.ts';

/**
 * The options of an undo: those of a synchronisation, and the journal of the job to undo.
 *
 * @example
 * const journal = fileJournal('restock.journal');
 * await syncInventory(petstore, [{ petId: 1, adjust: 5 }], { journal });
 * const options: UndoOptions = { journal, dryRun: true };
 * console.log((await undoSync(petstore, options)).pending); // → [ { petId: 1, quantity: 0 } ]
 */
export interface UndoOptions extends Omit<SyncOptions, 'journal'> {
  /** The journal of the job to undo. Before the first update of the undo, it is closed to that job. */
  journal: Journal;
  /**
   * The journal of the undo itself. With it, an undo that was killed continues when it is started again, and the undo can be undone.
   * @default `journal.undoJournal()`, if there is one: for `fileJournal`, the file with `.undo` after its name
   */
  undoJournal?: Journal | undefined;
}

/**
 * Reverses a job: every pet that still has the quantity that the job set gets the quantity that it had before. Pets that were changed
 * since then are `failed` with the reason `conflict`, and nothing is sent for them. Pets that already have their earlier quantity are
 * `unchanged`.
 *
 * An undo is a job itself: one list, then only the updates that change something. If it is killed and started again, it continues; a
 * finished undo sends nothing; and it can be undone with its own journal.
 *
 * A process that still performs the job stops before its next record, but updates that it has recorded may still be sent. So if the
 * journal leaves updates in doubt, the undo stays unfinished: started again, it sets back what changed since.
 *
 * @throws InvalidArgumentError for a value that is not a client, or a journal that holds no job or a job of another store; nothing was sent.
 * @throws ConfigurationError for an unknown or bad option; nothing was sent.
 * @throws JournalError when a journal cannot be read, written or closed, or a newer version wrote it; `journal_busy` while the job is at work
 *   in this process with the same journal.
 * @throws PetStoreError when the list fails; no update was sent.
 * @throws the reason of an abort that comes before the journals are read to their ends: what is pending is then unknown. Nothing was sent.
 * @example
 * const journal = fileJournal('discount.journal');
 * await syncInventory(petstore, [{ petId: 1, quantity: 40 }, { petId: 2, adjust: -1 }], { journal });
 * const report = await undoSync(petstore, { journal });
 * console.log(report.updated, report.failed); // → 2 []
 */
export async function undoSync(client: PetStoreApi<Int64>, options: UndoOptions): Promise<SyncReport> {
  const parts = hidingKey(client, () => resolveUndoOptions(options));
  checkClient(client, parts.options.dryRun ? ['streamInventory'] : undefined);
  return withJournals([parts.options.journal, parts.journal], () => undo(client, parts));
}

interface UndoParts {
  journal: Journal;
  /** With the journal of the undo itself. */
  options: CheckedOptions;
}

async function undo(client: PetStoreApi<Int64>, { journal, options }: UndoParts): Promise<SyncReport> {
  const past = await readPast(journal, client.baseUrl, options.signal);
  const { stock, ...expected } = toBeSetBack(past.updates);
  const inDoubt = expected.late.length;
  const report = await performJob({
    client,
    job: new StockJob(stock, expected),
    options,
    undone: past.identity,
    // A job that this undo does not close may go on.
    staysOpen: (updates) => inDoubt > 0 || (updates === 0 && past.mayGoOn),
    // If the job's process still runs, it finds this line, which it has not written, and stops.
    beforeUpdates: async () => {
      if (!past.isClosed) await new JobLog(journal).record({ type: 'undo', at: new Date(options.now()).toISOString() });
    },
  });
  return inDoubt === 0 || options.dryRun || report.stopped !== undefined ? report : { ...report, inDoubt };
}

function resolveUndoOptions(given: UndoOptions): UndoParts {
  checkOptions(given, [...SYNC_OPTIONS, 'undoJournal']);
  const { journal, undoJournal, ...rest } = given;
  if (journal === undefined) throw badOption('journal', 'the journal of the job that is undone', { shown: journal });
  checkJournal('journal', journal);
  if (undoJournal !== undefined) checkJournal('undoJournal', undoJournal);
  return { journal, options: { ...resolveSyncOptions(rest), journal: undoJournal ?? journal.undoJournal?.() } };
}

/** How an update ended. It is in doubt while the journal has no end of it, so that the job's process may still send it. */
const [IN_DOUBT, DONE, NOT_APPLIED] = [0, 1, 2];

/** The last update that a job intended for each pet, in columns: a job may have millions. */
class PastUpdates {
  /** The pets, and their quantities before. */
  readonly before = new WantedStock();
  /** By row, the quantities after. */
  readonly after = new IntColumn();
  readonly ends = new IntColumn(1);
}

/** The job that is undone, from its journal. */
interface Past {
  identity: UndoneJob;
  updates: PastUpdates;
  /** Whether an earlier undo began and closed the job. */
  isClosed: boolean;
  /** Whether the job is neither finished nor closed. */
  mayGoOn: boolean;
}

/** @throws InvalidArgumentError, JournalError, the reason of an abort */
async function readPast(journal: Journal, store: string | undefined, signal: AbortSignal | undefined): Promise<Past> {
  const updates = new PastUpdates();
  let job: Extract<JournalRecord, { type: 'job' }> | undefined;
  let beganAt: string | undefined;
  let [isClosed, isFinished] = [false, false];
  for await (const record of recordsOf(journal, signal)) {
    // Updates that a run recorded after the undo had closed the job were never sent, or are in doubt already.
    isClosed ||= record.type === 'undo';
    if (isClosed) break;
    if (record.type === 'job') [job, beganAt] = [record, undefined];
    isFinished = record.type === 'end';
    if (record.type === 'run') beganAt ??= record.at;
    takeRecord(updates, record);
  }
  if (!job) throw new InvalidArgumentError(`Cannot undo ${named(journal)}: it has no job`, { argument: 'journal' });
  if (job.store !== store) throw otherStore(journal, job.store, store);
  const identity = { wanted: job.wanted, undoes: `${job.wanted} ${beganAt ?? ''}` };
  return { updates, identity, isClosed, mayGoOn: !isClosed && !isFinished };
}

function takeRecord({ before, after, ends }: PastUpdates, record: JournalRecord): void {
  if (record.type === 'intent') {
    before.add({ petId: record.petId, quantity: record.from });
    const row = before.rowOf(record.petId) ?? 0;
    after.set(row, record.to);
    ends.set(row, IN_DOUBT);
    return;
  }
  if (record.type !== 'void' && record.type !== 'failed' && record.type !== 'done') return;
  // A pet that was listed twice failed without an update, so an earlier one stays in doubt.
  if (record.type === 'failed' && record.error.reason === 'duplicate') return;
  const row = before.rowOf(record.petId);
  if (row !== undefined) ends.set(row, record.type === 'done' ? DONE : NOT_APPLIED);
}

/** The updates that were or may have been applied: by row, the quantity to restore, and the one that the pet must have now. */
function toBeSetBack({ before, after, ends }: PastUpdates): { stock: WantedStock; left: Float64Array; late: number[] } {
  const stock = new WantedStock();
  const left: number[] = [];
  const late: number[] = [];
  for (const [petId, row] of before.pets()) {
    if (ends.get(row) === NOT_APPLIED) continue;
    if (ends.get(row) === IN_DOUBT) late.push(left.length);
    stock.add({ petId, quantity: before.amount(row) });
    left.push(after.get(row));
  }
  return { stock, left: Float64Array.from(left), late };
}
