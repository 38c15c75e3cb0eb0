import type { UpdateOutcome } from '../errors.ts';

/** What is known of a `SyncItemError` besides its message. */
export interface SyncItemErrorDetails {
  code?: string | undefined;
  status?: number | undefined;
  reason?: string | undefined;
  outcome?: UpdateOutcome | undefined;
  cause?: unknown;
}

/**
 * A failure of one pet that is none of the service's: `reason` is `conflict` (a doubtful update was resumed, and the pet stands at
 * neither of its quantities), `duplicate` (the service lists the pet twice) or `thrown` (a client that is no `PetStoreClient` threw
 * `cause`).
 */
export class SyncItemError extends Error {
  override readonly name = 'SyncItemError';
  readonly kind = 'sync';
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly outcome: UpdateOutcome | undefined;

  constructor(message: string, details: SyncItemErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code ?? details.reason;
    this.status = details.status;
    this.reason = details.reason;
    this.outcome = details.outcome;
  }
}
