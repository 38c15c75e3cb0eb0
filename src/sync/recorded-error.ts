import type { PetId } from '../contract/models.ts';
import { BadRequestError, InvalidArgumentError, NotFoundError, UnexpectedStatusError } from '../errors.ts';
import type { UpdateFailure } from './failure.ts';
import { SyncItemError } from './sync-item-error.ts';

const KEPT_MESSAGE = 4096;

/** The part of a failure that a journal or a report keeps. */
export interface RecordedError {
  name: string;
  kind: string;
  message: string;
  code?: string | undefined;
  status?: number | undefined;
  reason?: string | undefined;
}

export function recordError(error: UpdateFailure): RecordedError {
  const { name, kind, message, code, status } = error;
  return { name, kind, message: message.slice(0, KEPT_MESSAGE), code, status, ...('reason' in error && { reason: error.reason }) };
}

/** Restores a recorded failure. Journals only record final failures, so only a few kinds occur. */
export function restoreError({ kind, message, code, status, reason }: RecordedError, petId: PetId): UpdateFailure {
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
