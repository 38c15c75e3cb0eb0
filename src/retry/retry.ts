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

/** Only a 429 and a 503 close the gate; what any other failure asks to wait is waited for here, and never shortened. */
async function backOff(call: Call, failure: PetStoreError, retryNumber: number): Promise<void> {
  const askedMs = failure.retryAfterMs ?? 0;
  const isGates = isLeftToGate(failure);
  if (!isGates && askedMs > call.options.maxWaitMs) throw failure;
  const delayMs = Math.max(askedMs, isGates ? 0 : backoffMs(retryNumber, Math.random()));
  call.tell('retry', (event) => ({ ...event, delayMs, error: failure }));
  if (isGates) return;
  await wait(delayMs, call.signal);
  call.waitedMs += delayMs;
}
