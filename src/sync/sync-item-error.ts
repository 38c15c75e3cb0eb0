import type { UpdateOutcome } from '../errors.ts';

/** Why a pet failed without a request, or what a journal tells of an earlier request. */
export interface SyncItemErrorDetails {
  name?: string | undefined;
  kind?: string | undefined;
  code?: string | undefined;
  status?: number | undefined;
  reason?: string | undefined;
  outcome?: UpdateOutcome | undefined;
  cause?: unknown;
}

/**
 * A failure of one pet that comes from the synchronisation itself: `reason` is `conflict` (a doubtful update was resumed, and the
 * pet stands at neither of its quantities) or `duplicate` (the service lists the pet twice).
 *
 * A failure that was read from a journal comes back as one too, with the `name`, `kind`, `code`, `status` and message that it had.
 */
export class SyncItemError extends Error {
  override readonly name: string;
  readonly kind: string;
  readonly code: string | undefined;
  readonly status: number | undefined;
  readonly reason: string | undefined;
  readonly outcome: UpdateOutcome | undefined;

  constructor(message: string, details: SyncItemErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = details.name ?? 'SyncItemError';
    this.kind = details.kind ?? 'sync';
    this.code = details.code ?? details.reason;
    this.status = details.status;
    this.reason = details.reason;
    this.outcome = details.outcome;
  }
}
