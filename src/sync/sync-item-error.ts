import type { UpdateOutcome } from '../errors.ts';

/**
 * What is known of a `SyncItemError` besides its message: its fields, for tests that make one.
 *
 * @see {@link SyncItemError} for an example
 */
export interface SyncItemErrorDetails {
  /** The code of what was thrown; the `reason` where there is none. */
  code?: string | undefined;
  /** The HTTP status of what was thrown. */
  status?: number | undefined;
  /** Why. */
  reason?: string | undefined;
  /** Whether the change was applied. */
  outcome?: UpdateOutcome | undefined;
  /** What a client that is no `PetStoreClient` threw. */
  cause?: unknown;
}

/**
 * A failure of one pet that is none of the service's: `reason` is `conflict` (a doubtful update was resumed, and the pet stands at
 * neither of its quantities), `duplicate` (the service lists the pet twice) or `thrown` (a client that is no `PetStoreClient` threw
 * `cause`).
 *
 * @example
 * const error = new SyncItemError('Cannot update pet 1: the service lists it twice', { reason: 'duplicate', outcome: 'not-sent' });
 * console.log(error.kind, error.code, error.outcome); // → sync duplicate not-sent
 */
export class SyncItemError extends Error {
  /** The name of the class, also where a minifier renames it. */
  override readonly name = 'SyncItemError';
  /** Decide by this. */
  readonly kind = 'sync';
  /** The `reason`, or the code of what was thrown. */
  readonly code: string | undefined;
  /** The HTTP status of what was thrown. */
  readonly status: number | undefined;
  /** `conflict`, `duplicate` or `thrown`. */
  readonly reason: string | undefined;
  /** Whether the change was applied. */
  readonly outcome: UpdateOutcome | undefined;

  /** Made by a synchronisation; by you in tests. */
  constructor(message: string, details: SyncItemErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? details.reason;
    this.status = details.status;
    this.reason = details.reason;
    this.outcome = details.outcome;
  }
}
