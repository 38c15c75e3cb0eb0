import type { PetId } from '../contract/models.ts';
import { BadRequestError, InvalidArgumentError, NotFoundError, UnexpectedStatusError } from '../errors.ts';
import type { RecordedError } from './journal-record.ts';
import type { FailedUpdate } from './stock-job.ts';
import { SyncItemError } from './sync-item-error.ts';

const KEPT_MESSAGE = 4096;

export function recordError(error: FailedUpdate['error']): RecordedError {
  const { name, kind, message, code, status } = error;
  return { name, kind, message: message.slice(0, KEPT_MESSAGE), code, status, ...('reason' in error && { reason: error.reason }) };
}

/** Restores a recorded failure. Journals only record final failures, so only a few kinds occur. */
export function restoreError({ kind, message, code, status, reason }: RecordedError, petId: PetId): FailedUpdate['error'] {
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
