import type { Call } from '../call.ts';
import { AuthenticationError, isPetStoreError, type PetStoreError, type PetStoreFailure } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import type { Backoff, OutagePace } from './backoff.ts';
import { isLeftToGate, mayRetry } from './policy.ts';

/** Limits and times the retries of all calls together. */
export interface RetryGate {
  retries: {
    /** Takes a retry out of the budget after `failure`. Returns the error that ends the call if none is left. */
    pay(call: Call, failure: PetStoreError): PetStoreError | undefined;
  };
  /** When the gate admits the next attempt of a call while the service is down; undefined while it is up. */
  outagePaceOf(call: Call): OutagePace | undefined;
}

/** What makes the attempts of a call, and limits and times its retries. */
interface RetrySteps<T> {
  attempt: () => Promise<T>;
  gate: RetryGate;
  watch: Backoff['watch'];
  /** After a 401: whether the next attempt has another key. Only an `apiKey` function can give one; each call tries this once. */
  renewKey?: (() => Promise<boolean>) | undefined;
}

/**
 * Makes attempts until one succeeds, a failure is not worth another attempt, or no retries are left for this call or for all calls.
 * Rejects with the last failure, or with the reason of an abort.
 */
export function retry<T>(call: Call, steps: RetrySteps<T>): Promise<T> {
  const first = steps.attempt();
  // Most calls succeed at once, so p-retry is loaded and started only after the first attempt has failed.
  return first.catch((failure) => {
    const mayRenewKey = steps.renewKey !== undefined && failure instanceof AuthenticationError;
    if (call.options.maxRetries === 0 || !(mayRenewKey || isWorthAnother(failure, call))) throw failure;
    return retryFrom(first, call, steps);
  });
}

async function retryFrom<T>(first: Promise<T>, call: Call, { attempt, gate, watch, renewKey }: RetrySteps<T>): Promise<T> {
  const { pRetry, backOff, throwIfRefused } = await loadPart('p-retry', call, import('./backoff.ts'));
  return pRetry((attemptNumber) => (attemptNumber === 1 ? first : attempt()), {
    retries: call.options.maxRetries,
    // p-retry's own delay would add to ours, and its signal would discard an answer that came just before an abort.
    minTimeout: 0,
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0) throw error;
      if (error instanceof AuthenticationError && (await renewKey?.())) {
        call.lastFailure = error;
        throwIfRefused(watch, 0);
        // Without a backoff: the service did not fail.
        call.emit('retry', (event) => ({ ...event, delayMs: 0, error }));
        return;
      }
      if (!isWorthAnother(error, call)) throw error;
      // A failure that closes the gate is limited by the gate.
      const isOfGate = isLeftToGate(error);
      const refusal = isOfGate ? undefined : gate.retries.pay(call, error);
      if (refusal) throw refusal;
      call.lastFailure = error;
      await backOff(call, error, { retryNumber: attemptNumber, isLeftToGate: isOfGate, pace: gate.outagePaceOf(call), watch });
    },
  });
}

/**
 * Whether a failure is worth another attempt. A call that has ended gets none. If the cause of a failure is the failure before it, the gate
 * refused the attempt, so there is none either. A request that is not idempotent is sent again only if the service refused to handle it
 * (a 429, or a 503 with Retry-After), or if it was not sent.
 */
function isWorthAnother(error: unknown, call: Call): error is PetStoreFailure {
  if (call.signal.aborted || !isPetStoreError(error)) return false;
  if (call.lastFailure !== undefined && error.cause === call.lastFailure) return false;
  return mayRetry(error) && (call.isIdempotent || isLeftToGate(error) || call.isUnsent);
}
