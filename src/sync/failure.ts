// Errors are identified by their fields, so that the errors of another copy of the package, or of a fake client, are recognised too.
import type { PetId } from '../contract/models.ts';
import { isPetStoreError, type PetStoreFailure, type UpdateOutcome } from '../errors.ts';
import { fieldOf, isError, messageOf } from '../thrown.ts';
import type { FailedUpdate } from './stock-job.ts';
import { SyncItemError } from './sync-item-error.ts';

/**
 * Why a run ended before everything was sent: an abort, a bad key, or too long a wait for quota. Too long is a wait beyond the client's
 * `maxWaitMs`, or a 429 after the last retry, if it is the list's or closes the key for more than two minutes, for example because the day
 * is used up.
 *
 * @example
 * sandbox.revokeKey(sandbox.keys.business);
 * const report = await syncInventory(petstore, [{ petId: 1, quantity: 40 }]);
 * const stopped: StopReason | undefined = report.stopped;
 * console.log(stopped, report.pending.length); // → authentication 1
 */
export type StopReason = 'abort' | 'authentication' | 'quota';

/** The minute's limit never asks for a wait this long. After a longer wait in one answer, the next updates would be refused too. */
const LONG_WAIT_MS = 120_000;

/** The early end of a run, as its report shows it. */
export interface Stop {
  stopped: StopReason;
  error?: PetStoreFailure;
}

/** How this failure ends the whole run; `undefined` if it only concerns one pet. */
export function stopBy(error: unknown, signal: AbortSignal | undefined, nowMs: number): Stop | undefined {
  const stopped = stopReason(error, signal, nowMs);
  return stopped && { stopped, ...(stopped !== 'abort' && isPetStoreError(error) && { error }) };
}

function stopReason(error: unknown, signal: AbortSignal | undefined, nowMs: number): StopReason | undefined {
  // Checked first, since the reason of an abort may be a PetStoreError of another call.
  if (isAbort(error, signal)) return 'abort';
  const kind = fieldOf(error, 'kind');
  if (kind === undefined && (signal?.aborted || fieldOf(error, 'name') === 'AbortError')) return 'abort';
  // An `apiKey` function that fails or returns no key counts as a bad key.
  if (kind === 'authentication' || fieldOf(error, 'option') === 'apiKey') return 'authentication';
  return kind === 'rate-limit' && isWaitTooLong(error, nowMs) ? 'quota' : undefined;
}

/** Whether work ended with the reason of its signal. */
export function isAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true && error === signal.reason;
}

/** Whether a rate limit asks for too long a wait. An error without a status comes from the client: the wait was beyond its `maxWaitMs`. */
function isWaitTooLong(error: unknown, nowMs: number): boolean {
  const retryAt = fieldOf(error, 'retryAt');
  return fieldOf(error, 'status') === undefined || (retryAt instanceof Date && retryAt.getTime() - nowMs > LONG_WAIT_MS);
}

/** Whether the client refused an option, as it would for every other update. */
export function isBadOption(error: unknown): boolean {
  return fieldOf(error, 'kind') === 'configuration';
}

/** Whether the update was applied, according to its error. */
export function outcomeOf(error: unknown): UpdateOutcome {
  const outcome = fieldOf(error, 'outcome');
  return outcome === 'not-sent' || outcome === 'rejected' ? outcome : 'unknown';
}

/** Request Timeout and Too Early: the same request may succeed later (RFC 9110 section 15.5.9, RFC 8470 section 5.2). */
const TEMPORARY: ReadonlySet<unknown> = new Set([408, 425]);

/** Whether the same update would be refused again. Such a failure does not keep a job from being finished. */
export function isFinal(error: unknown): boolean {
  const kind = fieldOf(error, 'kind');
  if (kind === 'invalid-argument') return true;
  const status = fieldOf(error, 'status');
  if (TEMPORARY.has(status)) return false;
  // Without an Error body, a firewall or another site may have answered in place of the service. A redirect leads to another address.
  if (kind === 'unexpected-status' && (fieldOf(error, 'code') === `http_${status}` || Number(status) < 400)) return false;
  return outcomeOf(error) === 'rejected' && (kind === 'bad-request' || kind === 'not-found' || kind === 'unexpected-status');
}

function isSyncItemError(thrown: unknown): thrown is SyncItemError {
  return isError(thrown) && fieldOf(thrown, 'kind') === 'sync';
}

/** Turns what an update threw into a failure. Only a client that is not a `PetStoreClient` throws other errors. */
export function asFailure(thrown: unknown, petId: PetId): FailedUpdate['error'] {
  if (isPetStoreError(thrown) || isSyncItemError(thrown)) return thrown;
  const [code, status] = [fieldOf(thrown, 'code'), fieldOf(thrown, 'status')];
  return new SyncItemError(`Cannot update pet ${petId}: ${messageOf(thrown)}`, {
    reason: 'thrown',
    outcome: outcomeOf(thrown),
    cause: thrown,
    ...(typeof code === 'string' && { code }),
    ...(typeof status === 'number' && { status }),
  });
}
