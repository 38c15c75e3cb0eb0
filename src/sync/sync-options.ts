import { InvalidArgumentError } from '../errors.ts';
import {
  badOption,
  booleanOption,
  checkNames,
  functionOption,
  hasMethods,
  numberOption,
  signalOption,
  wordOption,
} from '../options/rules.ts';
import type { Journal } from './journal.ts';
import type { SyncProgress } from './progress.ts';

/**
 * A planned change.
 *
 * @example
 * const review = (changes: Iterable<ReviewedChange>) => {
 *   for (const { petId, from, to } of changes) console.log(`${petId}: ${from} to ${to}`);
 * };
 * await syncInventory(petstore, [{ petId: 1, quantity: 40 }], { review }); // → 1: 0 to 40
 */
export interface ReviewedChange {
  /** The pet's id, as in its first wanted entry. */
  petId: number | bigint;
  /** The pet's quantity now. */
  from: number;
  /** The wanted quantity. */
  to: number;
  /** The adjustment, if the change comes from one. */
  adjust?: number;
}

/**
 * The counts that a review gets besides the changes.
 *
 * @example
 * const review = (_changes: Iterable<ReviewedChange>, { changes, listed }: ReviewedList) => {
 *   if (changes > listed / 10) throw new Error(`${changes} of ${listed} pets would change`);
 * };
 * const report = await syncInventory(petstore, [{ petId: 1, quantity: 40 }], { review });
 */
export interface ReviewedList {
  /** Number of items in the service's list. */
  listed: number;
  /** Number of wanted pets. */
  wanted: number;
  /** Number of updates that would be sent now. */
  changes: number;
  /** Number of wanted pets that the service's list lacks. */
  missing: number;
}

/**
 * The options of a synchronisation.
 *
 * @example
 * const options: SyncOptions = { dryRun: true, concurrency: 4, signal: AbortSignal.timeout(60_000) };
 * const { pending } = await syncInventory(petstore, [{ petId: 1, quantity: 40 }], options);
 * console.log(pending); // → [ { petId: 1, quantity: 40 } ]
 */
export interface SyncOptions {
  /**
   * Reads the list and reports every change as `pending`, but sends none and writes no journal.
   * @default false
   */
  dryRun?: boolean | undefined;
  /**
   * The journal of the job. With it, a job that was killed continues when it is started again; without it, it begins anew.
   * @default none
   */
  journal?: Journal | undefined;
  /**
   * Most updates that are called at the same time; an integer from 1 to 1,000.
   * @default 16
   */
  concurrency?: number | undefined;
  /**
   * The priority of the list and the updates among other calls of the key.
   * @default 'low'
   */
  priority?: 'normal' | 'low' | undefined;
  /**
   * Ends the run: calls in flight are aborted, and the promise resolves with a report whose `stopped` is `abort`. Before an asynchronous
   * `wanted` and the journal are read to their ends, what is pending is unknown, and the promise rejects with the signal's reason.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called for every thousand items of the list, for every update, and at the end.
   * @default none
   */
  onProgress?: ((progress: SyncProgress) => void) | undefined;
  /**
   * Most changes, as an integer of at least 0 or as a part of the service's list such as `'10%'`. With more, the run rejects with an
   * `InvalidArgumentError` after the list and before the first update.
   * @default none
   */
  maxChanges?: number | `${number}%` | undefined;
  /**
   * Called with the changes and the counts after the list and before the first update. It may iterate over the changes more than once. If
   * it throws, the run rejects with that error, and no update is sent.
   * @default none
   */
  review?: ((changes: Iterable<ReviewedChange>, list: ReviewedList) => void | Promise<void>) | undefined;
  /**
   * The clock, in milliseconds since 1970.
   * @default Date.now
   */
  now?: (() => number) | undefined;
}

const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 1000;

export const SYNC_OPTIONS = [
  'journal',
  'dryRun',
  'concurrency',
  'priority',
  'signal',
  'onProgress',
  'maxChanges',
  'review',
  'now',
] as const;

/** Checked options with their defaults. */
export type CheckedOptions = SyncOptions & { dryRun: boolean; concurrency: number; priority: 'normal' | 'low'; now: () => number };

/** Checks options and fills in their defaults. @throws ConfigurationError that names the option */
export function resolveSyncOptions(options: SyncOptions): CheckedOptions {
  checkOptions(options, SYNC_OPTIONS);
  const dryRun = booleanOption('dryRun', options.dryRun, false);
  if (options.journal !== undefined) checkJournal('journal', options.journal);
  checkMaxChanges(options.maxChanges);
  const rule = { min: 1, max: MAX_CONCURRENCY, integer: true };
  return {
    ...options,
    dryRun,
    concurrency: numberOption('concurrency', options.concurrency, DEFAULT_CONCURRENCY, rule),
    priority: wordOption<'normal' | 'low'>('priority', options.priority, 'low', ['normal', 'low']),
    now: options.now ?? Date.now,
  };
}

/** @throws ConfigurationError for a value that is not a journal */
export function checkJournal(option: string, journal: unknown): void {
  if (hasMethods(journal, ['read', 'append'])) return;
  throw badOption(option, 'a journal, such as fileJournal(path) of petstore-inventory/node gives', { shown: journal });
}

function checkMaxChanges(maxChanges: unknown): void {
  if (typeof maxChanges !== 'string') return void numberOption('maxChanges', maxChanges, undefined, { min: 0, integer: true });
  if (!isPartOfList(maxChanges))
    throw badOption('maxChanges', 'an integer of at least 0, or a part of the list such as "10%"', { shown: maxChanges });
}

/** Whether a text is a part of the service's list, such as `10%`. */
export function isPartOfList(text: string): text is `${number}%` {
  const part = /^(\d{1,3}(?:\.\d{1,9})?)%$/.exec(text)?.[1];
  return part !== undefined && Number(part) <= 100;
}

/** @throws InvalidArgumentError if a run would change more pets than its caller allows */
export function refuseTooMany(maxChanges: SyncOptions['maxChanges'], { changes, listed }: ReviewedList): void {
  if (maxChanges === undefined) return;
  const most = typeof maxChanges === 'number' ? maxChanges : Math.floor((listed * Number.parseFloat(maxChanges)) / 100 + 1e-9);
  if (changes <= most) return;
  const rule = typeof maxChanges === 'number' ? `at most ${most}` : `at most ${maxChanges} of them (${most})`;
  throw new InvalidArgumentError(
    `Cannot start: ${changes} of the ${listed} pets in the list would change, and \`maxChanges\` allows ${rule}`,
    {
      argument: 'maxChanges',
    },
  );
}

/** @throws ConfigurationError for an unknown option, or one that must be a function or a signal and is not */
export function checkOptions(options: object, known: readonly string[]): void {
  checkNames(options, known);
  for (const name of ['onProgress', 'review', 'now']) functionOption(name, Reflect.get(options, name));
  signalOption(Reflect.get(options, 'signal'));
}
