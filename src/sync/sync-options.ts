import { badOption, hasMethods, numberOption, refuseUnknown, signalOption } from '../options/rules.ts';
import type { Journal } from './journal.ts';
import type { SyncProgress } from './progress.ts';

/**
 * A change as it is planned.
 *
 * @example
 * const review = (changes: Iterable<ReviewedChange>) => {
 *   for (const { petId, from, to } of changes) console.log(`${petId}: ${from} to ${to}`);
 * };
 * await syncInventory(petstore, [{ petId: 1, quantity: 40 }], { review }); // → 1: 0 to 40
 */
export interface ReviewedChange {
  /** The pet, as it was first wanted. */
  petId: number | bigint;
  /** Where the pet stands. */
  from: number;
  /** Where it shall stand. */
  to: number;
  /** What is added; there when the change comes from an adjustment. */
  adjust?: number;
}

/**
 * How a synchronisation runs.
 *
 * @example
 * const options: SyncOptions = { dryRun: true, concurrency: 4, signal: AbortSignal.timeout(60_000) };
 * const { pending } = await syncInventory(petstore, [{ petId: 1, quantity: 40 }], options);
 * console.log(pending); // → [ { petId: 1, quantity: 40 } ]
 */
export interface SyncOptions {
  /**
   * Read the list and report every change as `pending`, but send none and write no journal.
   * @default false
   */
  dryRun?: boolean | undefined;
  /**
   * Where the job is written down, so that it can be killed and go on. Without it, a job that was killed begins anew.
   * @default none
   */
  journal?: Journal | undefined;
  /**
   * Updates that are handed to the client at once; an integer from 1 to 1,000.
   * @default 16
   */
  concurrency?: number | undefined;
  /**
   * Ends the run: what is under way is aborted, and the promise resolves with a report whose `stopped` is `abort`.
   * @default none
   */
  signal?: AbortSignal | undefined;
  /**
   * Called for every thousand items of the list, for every update, and at the end.
   * @default none
   */
  onProgress?: ((progress: SyncProgress) => void) | undefined;
  /**
   * Sees the changes, as often as it likes, after the list and before the first update; what it throws ends the run, and nothing is sent.
   * @default none
   */
  review?: ((changes: Iterable<ReviewedChange>) => void | Promise<void>) | undefined;
  /**
   * The clock, in milliseconds since 1970.
   * @default Date.now
   */
  now?: (() => number) | undefined;
}

const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 1000;

const SYNC_OPTIONS = ['dryRun', 'journal', 'concurrency', 'signal', 'onProgress', 'review', 'now'] as const;

/** Checks what the caller gave and fills in the concurrency. @throws ConfigurationError that names the option */
export function resolveSyncOptions(options: SyncOptions): SyncOptions & { concurrency: number } {
  checkOptions(options, SYNC_OPTIONS);
  const { dryRun, journal } = options;
  if (dryRun !== undefined && typeof dryRun !== 'boolean') throw badOption('dryRun', 'true or false', { shown: dryRun });
  if (journal !== undefined && !hasMethods(journal, ['read', 'append']))
    throw badOption('journal', 'a journal, such as fileJournal(path) of petstore-inventory/node gives', { shown: journal });
  const rule = { min: 1, max: MAX_CONCURRENCY, integer: true };
  return { ...options, concurrency: numberOption('concurrency', options.concurrency, DEFAULT_CONCURRENCY, rule) };
}

/** @throws ConfigurationError for a name that is not among `known`, and for what is no function or no signal where one is asked for */
export function checkOptions(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null) throw badOption('options', 'an object', { shown: options });
  refuseUnknown(options, known);
  for (const name of ['onProgress', 'review', 'now']) {
    const value: unknown = Reflect.get(options, name);
    if (value !== undefined && typeof value !== 'function') throw badOption(name, 'a function', { shown: value });
  }
  signalOption(Reflect.get(options, 'signal'));
}
