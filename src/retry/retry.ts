import pRetry from 'p-retry';
import type { Call } from '../call.ts';
import { wait } from '../clock/wait.ts';
import { PetStoreError } from '../errors.ts';
import { backoffMs, isLeftToGate, mayRetry } from './policy.ts';

/**
 * Makes attempts until one succeeds, a failure is not worth another attempt, or the call's retries are used up.
 * Rejects with the last failure, or with the reason of an abort.
 */
export function retry<T>(call: Call, attempt: () => Promise<T>): Promise<T> {
  return pRetry(attempt, {
    retries: call.options.maxRetries,
    // p-retry's own delay would add to ours, and its signal would throw away an answer that came just before an abort.
    minTimeout: 0,
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !isWorthAnother(error, call)) throw error;
      call.lastFailure = error;
      await backOff(call, error, attemptNumber);
    },
  });
}

/** The same failure a second time means that the next attempt was not even let through. */
function isWorthAnother(error: Error, call: Call): error is PetStoreError {
  return error instanceof PetStoreError && error !== call.lastFailure && mayRetry(error);
}

async function backOff(call: Call, failure: PetStoreError, retryNumber: number): Promise<void> {
  const delayMs = isLeftToGate(failure) ? 0 : backoffMs(retryNumber, Math.random());
  call.tell('retry', (event) => ({ ...event, delayMs: Math.max(delayMs, failure.retryAfterMs ?? 0), error: failure }));
  if (delayMs === 0) return;
  await wait(delayMs, call.signal);
  call.waitedMs += delayMs;
}
