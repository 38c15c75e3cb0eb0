import type { Call } from '../call.ts';
import { wait } from '../clock/wait.ts';
import { AuthenticationError, isPetStoreError, type PetStoreError, type PetStoreFailure } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import { backoffMs, isLeftToGate, mayRetry } from './policy.ts';

/** Limits and times the retries of all calls together. */
export interface RetryGate {
  retries: {
    /** Takes a retry out of the budget after `failure`. Returns the error that ends the call if none is left. */
    pay(call: Call, failure: PetStoreError): PetStoreError | undefined;
  };
  /** When the gate admits the next attempt of a call while the service is down; undefined while it is up. */
  outagePaceOf(call: Call): OutagePace | undefined;
}

interface OutagePace {
  /** The least time for which the gate holds the next attempt. */
  delayMs: number;
  /** How much longer the call may wait for the end of the outage. */
  waitLeftMs: number;
}

/** What makes the attempts of a call, and limits and times its retries. */
interface RetrySteps<T> {
  attempt: () => Promise<T>;
  gate: RetryGate;
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

async function retryFrom<T>(first: Promise<T>, call: Call, { attempt, gate, renewKey }: RetrySteps<T>): Promise<T> {
  const { default: pRetry } = await loadPart('p-retry', call, import('p-retry'));
  return pRetry((attemptNumber) => (attemptNumber === 1 ? first : attempt()), {
    retries: call.options.maxRetries,
    // p-retry's own delay would add to ours, and its signal would discard an answer that came just before an abort.
    minTimeout: 0,
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0) throw error;
      if (error instanceof AuthenticationError && (await renewKey?.())) {
        call.lastFailure = error;
        // Without a backoff: the service did not fail.
        call.emit('retry', (event) => ({ ...event, delayMs: 0, error }));
        return;
      }
      if (!isWorthAnother(error, call)) throw error;
      // A failure that closes the gate is limited by the gate.
      const refusal = isLeftToGate(error) ? undefined : gate.retries.pay(call, error);
      if (refusal) throw refusal;
      call.lastFailure = error;
      await backOff(call, error, { retryNumber: attemptNumber, pace: gate.outagePaceOf(call) });
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

/** The longest backoff in an outage: as long as the longest time between two probes of the gate. */
const LONGEST_IN_OUTAGE_MS = 8_000;

interface Backoff {
  /** From 1. */
  retryNumber: number;
  pace: OutagePace | undefined;
}

/**
 * Waits before the next attempt. After a failure that closes the gate, the gate does the waiting; in an outage it may hold the call longer.
 * A wait that the service asked for is never shortened: if it is longer than the call allows, the call ends.
 */
async function backOff(call: Call, failure: PetStoreFailure, { retryNumber, pace }: Backoff): Promise<void> {
  const askedMs = askedToWaitMs(failure);
  if (askedMs > call.options.maxWaitMs || (pace && pace.waitLeftMs <= 0)) throw failure;
  const longestMs = pace ? Math.min(LONGEST_IN_OUTAGE_MS, pace.waitLeftMs) : Number.POSITIVE_INFINITY;
  const ownMs = isLeftToGate(failure) ? 0 : Math.max(askedMs, Math.min(longestMs, backoffMs(retryNumber, Math.random())));
  const delayMs = Math.ceil(Math.max(askedMs, ownMs, pace?.delayMs ?? 0));
  // Whether the call gives up before the next probe of the outage.
  const isHopeless = pace !== undefined && delayMs > pace.waitLeftMs;
  if (!isHopeless) call.emit('retry', (event) => ({ ...event, delayMs, error: failure }));
  if (ownMs === 0) return;
  call.emit('wait', (event) => ({ ...event, reason: 'backoff', ms: Math.ceil(ownMs) }));
  const until = new Date(Date.now() + ownMs);
  call.holdup = () => ({ why: 'it waited to try again', until });
  await wait(ownMs, call.signal);
  call.holdup = undefined;
  call.waitedMs += ownMs;
}

/** How long the next attempt has to wait because of Retry-After or a closed gate. */
function askedToWaitMs({ retryAfterMs = 0, retryAt }: PetStoreError): number {
  return Math.max(retryAfterMs, retryAt === undefined ? 0 : retryAt.getTime() - Date.now());
}
