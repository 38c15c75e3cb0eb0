import type { Call } from '../call.ts';
import { wait } from '../clock/wait.ts';
import { AuthenticationError, PetStoreError } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import { backoffMs, isLeftToGate, mayRetry } from './policy.ts';

/** Limits how many retries all calls make together. */
export interface RetryPayer {
  /** Pays for another attempt after `failure`. Gives the error that ends the call in its place where nothing is left. */
  pay(call: Call, failure: PetStoreError): PetStoreError | undefined;
}

/** Knows when the gate lets the next attempt of a call go while the service is down. */
export interface RetryPacer {
  /** Undefined while the service is up. */
  outagePaceOf(call: Call): OutagePace | undefined;
}

interface OutagePace {
  /** How long the gate holds the next attempt at least. */
  delayMs: number;
  /** How long the call still waits behind the outage. */
  waitLeftMs: number;
}

/** What makes the attempts of a call, and what limits and times the retries among them. */
interface RetrySteps<T> {
  attempt: () => Promise<T>;
  payer: RetryPayer;
  pacer: RetryPacer;
  /** After a 401: whether the next attempt has another key. Only a function gives one, and is asked once for each call. */
  renewKey?: () => Promise<boolean>;
}

/**
 * Makes attempts until one succeeds, a failure is not worth another attempt, or no retries are left, to the call or to all of them.
 * Rejects with the last failure, or with the reason of an abort.
 */
export function retry<T>(call: Call, steps: RetrySteps<T>): Promise<T> {
  const first = steps.attempt();
  // Most calls succeed at once: p-retry begins, and is loaded, where the first attempt has failed.
  return first.catch((failure) => {
    const mayRenewKey = steps.renewKey !== undefined && failure instanceof AuthenticationError;
    if (call.options.maxRetries === 0 || !(mayRenewKey || isWorthAnother(failure, call))) throw failure;
    return retryFrom(first, call, steps);
  });
}

async function retryFrom<T>(first: Promise<T>, call: Call, { attempt, payer, pacer, renewKey }: RetrySteps<T>): Promise<T> {
  const { default: pRetry } = await loadPart('p-retry', call, import('p-retry'));
  return pRetry((attemptNumber) => (attemptNumber === 1 ? first : attempt()), {
    retries: call.options.maxRetries,
    // p-retry's own delay would add to ours, and its signal would throw away an answer that came just before an abort.
    minTimeout: 0,
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0) throw error;
      if (error instanceof AuthenticationError && (await renewKey?.())) return tryWithOtherKey(call, error);
      if (!isWorthAnother(error, call)) throw error;
      // A failure that closes the gate is limited by the gate.
      const refusal = isLeftToGate(error) ? undefined : payer.pay(call, error);
      if (refusal) throw refusal;
      call.lastFailure = error;
      await backOff(call, error, { retryNumber: attemptNumber, pace: pacer.outagePaceOf(call) });
    },
  });
}

/** The service did not fail, so no backoff is needed. */
function tryWithOtherKey(call: Call, failure: AuthenticationError): void {
  call.lastFailure = failure;
  call.emit('retry', (event) => ({ ...event, delayMs: 0, error: failure }));
}

/**
 * A call that is over gets no other attempt, whatever ended it. The last failure, as the cause of the next, means that the next attempt
 * was not even let through. What is not idempotent is sent again only where nothing was done.
 */
function isWorthAnother(error: unknown, call: Call): error is PetStoreError {
  if (call.signal.aborted || !(error instanceof PetStoreError)) return false;
  if (call.lastFailure !== undefined && error.cause === call.lastFailure) return false;
  return mayRetry(error) && (call.isIdempotent || isLeftToGate(error) || call.isUnsent);
}

/** In an outage the gate sets the pace, so no call stays away for longer than the gate does. */
const LONGEST_IN_OUTAGE_MS = 8_000;

interface Backoff {
  /** From 1. */
  retryNumber: number;
  pace: OutagePace | undefined;
}

/**
 * What closes the gate is waited for there; any other failure is waited for here, and in an outage the gate may hold the call longer.
 * A wait that the service asked for is never shortened: longer than the call allows, it ends the call.
 */
async function backOff(call: Call, failure: PetStoreError, { retryNumber, pace }: Backoff): Promise<void> {
  const askedMs = askedToWaitMs(failure);
  if (askedMs > call.options.maxWaitMs || (pace && pace.waitLeftMs <= 0)) throw failure;
  const longestMs = pace ? Math.min(LONGEST_IN_OUTAGE_MS, pace.waitLeftMs) : Number.POSITIVE_INFINITY;
  const ownMs = isLeftToGate(failure) ? 0 : Math.max(askedMs, Math.min(longestMs, backoffMs(retryNumber, Math.random())));
  const delayMs = Math.ceil(Math.max(askedMs, ownMs, pace?.delayMs ?? 0));
  // The call gives up the outage before the next probe.
  const isHopeless = pace !== undefined && delayMs > pace.waitLeftMs;
  if (!isHopeless) call.emit('retry', (event) => ({ ...event, delayMs, error: failure }));
  if (ownMs === 0) return;
  call.emit('wait', (event) => ({ ...event, reason: 'backoff', ms: Math.ceil(ownMs) }));
  await wait(ownMs, call.signal);
  call.waitedMs += ownMs;
}

/** How long the service or the gate that it closed wants the next attempt to wait. */
function askedToWaitMs({ retryAfterMs = 0, retryAt }: PetStoreError): number {
  return Math.max(retryAfterMs, retryAt === undefined ? 0 : retryAt.getTime() - Date.now());
}
