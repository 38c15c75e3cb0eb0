import type { UpdateOutcome } from '../errors.ts';

/**
 * The fields of a `SyncItemError` besides its message, for tests that make one.
 *
 * @see {@link SyncItemError} for an example
 */
export interface SyncItemErrorDetails {
  /** The code of the thrown error. @default `reason` */
  code?: string | undefined;
  /** The HTTP status of the thrown error. */
  status?: number | undefined;
  /** `conflict`, `duplicate`, `unconfirmed` or `thrown`. */
  reason?: 'conflict' | 'duplicate' | 'unconfirmed' | 'thrown' | (string & {}) | undefined;
  /** Whether the change was applied. */
  outcome?: UpdateOutcome | undefined;
  /** The error that a client other than `PetStoreClient` threw. */
  cause?: unknown;
}

/**
 * The failure of one pet, found by the synchronisation itself. `reason` is `conflict` (the pet was changed by others: its quantity is
 * neither the one before a doubtful or undone update nor the one after it), `duplicate` (the service lists the pet more than once),
 * `unconfirmed` (the answer to its update has another quantity, or nothing was sent since another update of the same client, of unknown
 * outcome, may have changed the pet) or `thrown` (a client that is not a `PetStoreClient` threw `cause`).
 *
 * @example
 * const error = new SyncItemError('Cannot update pet 1: the service lists it twice', { reason: 'duplicate' });
 * console.log(error.kind, error.code, error.outcome); // → sync duplicate undefined
 */
export class SyncItemError extends Error {
  /** The name of the class, even if a minifier renames the class. */
  override readonly name = 'SyncItemError';
  /** The kind of error; the same in all copies of the package. */
  readonly kind = 'sync';
  /** The code of the thrown error, else the `reason`. */
  readonly code: string | undefined;
  /** The HTTP status of the thrown error. */
  readonly status: number | undefined;
  /** `conflict`, `duplicate`, `unconfirmed` or `thrown`. */
  readonly reason: SyncItemErrorDetails['reason'];
  /** Whether the change was applied; undefined for `conflict` and `duplicate`: nothing was sent for these. */
  readonly outcome: UpdateOutcome | undefined;

  /** Called by a synchronisation, and by tests. */
  constructor(message: string, details: SyncItemErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? details.reason;
    this.status = details.status;
    this.reason = details.reason;
    this.outcome = details.outcome;
  }

  /** Everything but the stack and the cause, ready for a log. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}
