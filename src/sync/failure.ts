// Errors are told apart by their fields, so that a client from another copy of the package, or a fake, does as well.
import { isPetStoreError, type PetStoreFailure, type UpdateOutcome } from '../errors.ts';
import { fieldOf, messageOf } from '../thrown.ts';
import { SyncItemError } from './sync-item-error.ts';

/**
 * What ends a run before everything is sent: an abort, a bad key, or too long a wait for quota. That is one beyond the client's
 * `maxWaitMs`, or a 429 left after the retries that closes the key for more than two minutes: a used-up day is one of several causes.
 *
 * @example
 * sandbox.revokeKey(sandbox.keys.business);
 * const report = await syncInventory(petstore, [{ petId: 1, quantity: 40 }]);
 * const stopped: StopReason | undefined = report.stopped;
 * console.log(stopped, report.pending.length); // → authentication 1
 */
export type StopReason = 'abort' | 'authentication' | 'quota';

/** A wait longer than this is not for the plan's minute, which turns within one: the pets that follow would meet it too. */
const LONG_WAIT_MS = 120_000;

/** Why this failure ends the whole run; `undefined` where it concerns one pet. */
export function stopReason(error: unknown, signal: AbortSignal | undefined, nowMs: number): StopReason | undefined {
  // Checked first: the abort's reason may be a PetStoreError, which would describe another call.
  if (signal?.aborted && error === signal.reason) return 'abort';
  const kind = fieldOf(error, 'kind');
  if (kind === undefined && (signal?.aborted || fieldOf(error, 'name') === 'AbortError')) return 'abort';
  // An `apiKey` function that fails, or gives no key, is a bad key that nobody has sent.
  if (kind === 'authentication' || (kind === 'configuration' && fieldOf(error, 'option') === 'apiKey')) return 'authentication';
  return kind === 'rate-limit' && isWaitTooLong(error, nowMs) ? 'quota' : undefined;
}

/** Without a status, the client itself would not wait so long. */
function isWaitTooLong(error: unknown, nowMs: number): boolean {
  const retryAt = fieldOf(error, 'retryAt');
  return fieldOf(error, 'status') === undefined || (retryAt instanceof Date && retryAt.getTime() - nowMs > LONG_WAIT_MS);
}

/** Whether an option is bad, so that every other update would be refused like this one. */
export function isBadOption(error: unknown): boolean {
  return fieldOf(error, 'kind') === 'configuration';
}

/** Whether the update was applied, as far as its error tells. */
export function outcomeOf(error: unknown): UpdateOutcome {
  const outcome = fieldOf(error, 'outcome');
  return outcome === 'not-sent' || outcome === 'rejected' ? outcome : 'unknown';
}

/** Request Timeout and Too Early: the same request may succeed in a while (RFC 9110 section 15.5.9, RFC 8470 section 5.2). */
const PASSING: ReadonlySet<unknown> = new Set([408, 425]);

/** Whether the same update would be refused again, so that a job is finished in spite of it. */
export function isFinal(error: unknown): boolean {
  const kind = fieldOf(error, 'kind');
  if (kind === 'invalid-argument') return true;
  if (PASSING.has(fieldOf(error, 'status'))) return false;
  return outcomeOf(error) === 'rejected' && (kind === 'bad-request' || kind === 'not-found' || kind === 'unexpected-status');
}

/** Why an update failed: an error of the client, or one of the synchronisation itself. */
export type UpdateFailure = PetStoreFailure | SyncItemError;

/** What an update threw, as a failure; only a client of another make throws what is none. */
export function asFailure(thrown: unknown): UpdateFailure {
  if (isPetStoreError(thrown)) return thrown;
  const [code, status] = [fieldOf(thrown, 'code'), fieldOf(thrown, 'status')];
  return new SyncItemError(`Cannot update: ${messageOf(thrown)}`, {
    reason: 'thrown',
    outcome: outcomeOf(thrown),
    cause: thrown,
    ...(typeof code === 'string' && { code }),
    ...(typeof status === 'number' && { status }),
  });
}
