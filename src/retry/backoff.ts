import pRetry from 'p-retry';
import type { Call } from '../call.ts';
import { defer } from '../clock/deferred.ts';
import { startTimer } from '../clock/timer.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import type { PetStoreError, PetStoreFailure } from '../errors.ts';

// Loaded together: no call needs one without the other.
export { pRetry };

export interface OutagePace {
  /** The least time for which the gate holds the next attempt. */
  delayMs: number;
  /** The longest backoff, unless the service asked for a longer one: by then, the gate has sent a probe. */
  longestMs: number;
  /** How much longer the call may wait for the end of the outage. */
  waitLeftMs: number;
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** The largest random part added to a backoff, so that calls that failed together are not retried together. */
const JITTER = 0.25;

export interface Backoff {
  /** From 1. */
  retryNumber: number;
  isLeftToGate: boolean;
  pace: OutagePace | undefined;
  /** Calls `onRefusal` once the gate would refuse the call after its backoff. Returns a function that ends this. */
  watch: (onRefusal: (refusal: unknown) => void, backoffMs: number) => () => void;
}

/**
 * Waits before the next attempt. After a failure that closes the gate, the gate does the waiting; in an outage it may hold the call longer.
 * A wait that the service asked for is never shortened: if it is longer than the call allows, the call ends, as it does once the gate would
 * refuse it.
 */
export async function backOff(call: Call, failure: PetStoreFailure, { retryNumber, isLeftToGate, pace, watch }: Backoff): Promise<void> {
  const askedMs = askedToWaitMs(failure);
  if (askedMs > call.options.maxWaitMs || (pace && pace.waitLeftMs <= 0)) throw failure;
  const longestMs = pace?.longestMs ?? Number.POSITIVE_INFINITY;
  const ownMs = isLeftToGate ? 0 : Math.max(askedMs, Math.min(longestMs, backoffMs(retryNumber, Math.random())));
  throwIfRefused(watch, ownMs);
  const delayMs = Math.max(askedMs, ownMs, pace?.delayMs ?? 0);
  // Whether the call gives up before the next probe of the outage.
  const isHopeless = pace !== undefined && delayMs > pace.waitLeftMs;
  if (!isHopeless) call.emit('retry', (event) => ({ ...event, delayMs: Math.ceil(delayMs), error: failure }));
  if (ownMs === 0) return;
  call.emit('wait', (event) => ({ ...event, reason: 'backoff', ms: Math.ceil(ownMs) }));
  const until = new Date(Date.now() + ownMs);
  call.holdup = () => ({ why: 'it waited to try again', until });
  const { promise, resolve, reject } = defer<void>();
  // In workerd the promise has a timer until it is resolved.
  const stops = [startTimer(ownMs, resolve), watch(reject, ownMs), resolve];
  try {
    await untilAborted(promise, call.signal);
  } finally {
    for (const stop of stops) stop();
  }
  call.holdup = undefined;
  call.waitedMs += ownMs;
}

/** Called before a retry is reported. @throws the refusal of the gate if it is known already that it will not admit the call */
export function throwIfRefused(watch: Backoff['watch'], backoffMs: number): void {
  let refusal: unknown;
  watch((given) => {
    refusal = given;
  }, backoffMs)();
  if (refusal) throw refusal;
}

/** How long the next attempt has to wait because of Retry-After or a closed gate; 0 if neither is known. */
function askedToWaitMs({ retryAfterMs = 0, retryAt }: PetStoreError): number {
  return Math.max(retryAfterMs, (retryAt?.getTime() ?? 0) - Date.now());
}

/** How long to back off before retry number `retry` (from 1), in milliseconds: 500 doubling to 30,000, plus up to a quarter at random. */
export function backoffMs(retry: number, random: number): number {
  const base = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (retry - 1));
  return Math.round(base * (1 + JITTER * random));
}
