import { ConfigurationError } from '../errors.ts';
import type { Journal } from './journal.ts';
import type { SyncProgress } from './progress.ts';

/** A change as it is planned; `adjust` is there when it comes from an adjustment. */
export interface ReviewedChange {
  petId: number | bigint;
  from: number;
  to: number;
  adjust?: number;
}

/** How a synchronisation runs. */
export interface SyncOptions {
  /**
   * Read the list and report every change as `pending`, but send none and write no journal.
   * @default false
   */
  dryRun?: boolean | undefined;
  /** Where the job is written down, so that it can be killed and go on. Without it, a job that was killed begins anew. */
  journal?: Journal | undefined;
  /**
   * Updates that are handed to the client at once; an integer from 1 to 1,000.
   * @default 16
   */
  concurrency?: number | undefined;
  /** Ends the run: what is under way is aborted, and the promise resolves with a report whose `stopped` is `abort`. */
  signal?: AbortSignal | undefined;
  /** Called for every thousand items of the list, for every update, and at the end. */
  onProgress?: ((progress: SyncProgress) => void) | undefined;
  /** Sees the changes, as often as it likes, after the list and before the first update; what it throws ends the run, and nothing is sent. */
  review?: ((changes: Iterable<ReviewedChange>) => void | Promise<void>) | undefined;
  /**
   * The clock, in milliseconds since 1970.
   * @default Date.now
   */
  now?: (() => number) | undefined;
}

const DEFAULT_CONCURRENCY = 16;
const MAX_CONCURRENCY = 1000;

/** @throws ConfigurationError for a `concurrency` out of range. */
export function resolveConcurrency(concurrency: number = DEFAULT_CONCURRENCY): number {
  if (Number.isInteger(concurrency) && concurrency >= 1 && concurrency <= MAX_CONCURRENCY) return concurrency;
  throw new ConfigurationError(`Cannot use ${concurrency} as \`concurrency\`: it must be an integer from 1 to ${MAX_CONCURRENCY}`, {
    option: 'concurrency',
  });
}
