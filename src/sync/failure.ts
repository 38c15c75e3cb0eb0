import type { UpdateOutcome } from '../errors.ts';
import { SyncItemError } from './sync-item-error.ts';

/** What ends a run before everything is sent. */
export type StopReason = 'abort' | 'authentication' | 'quota';

/** A reset further away than this is the day's: the minute's is at most one minute ahead. */
const BEYOND_THE_MINUTE_MS = 120_000;

/** Errors are told apart by their fields, so that a client from another copy of the package, or a fake, does as well. */
function field(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}

/** Why this failure ends the whole run; `undefined` where it concerns one pet. */
export function stopReason(error: unknown, signal: AbortSignal | undefined, nowMs: number): StopReason | undefined {
  const kind = field(error, 'kind');
  if (kind === undefined && (signal?.aborted || field(error, 'name') === 'AbortError')) return 'abort';
  // An `apiKey` function that fails, or gives no key, is a bad key that nobody has sent.
  if (kind === 'authentication' || kind === 'configuration') return 'authentication';
  return kind === 'rate-limit' && isDayUsedUp(error, nowMs) ? 'quota' : undefined;
}

function isDayUsedUp(error: unknown, nowMs: number): boolean {
  const retryAt = field(error, 'retryAt');
  return field(error, 'status') === undefined || (retryAt instanceof Date && retryAt.getTime() - nowMs > BEYOND_THE_MINUTE_MS);
}

/** Whether the update was applied, as far as its error tells. */
export function outcomeOf(error: unknown): UpdateOutcome {
  const outcome = field(error, 'outcome');
  return outcome === 'not-sent' || outcome === 'rejected' ? outcome : 'unknown';
}

/** Whether the same update would be refused again, so that a job is finished in spite of it. */
export function isFinal(error: unknown): boolean {
  const kind = field(error, 'kind');
  if (kind === 'invalid-argument') return true;
  return outcomeOf(error) === 'rejected' && (kind === 'bad-request' || kind === 'not-found' || kind === 'unexpected-status');
}

/** What was thrown, as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new SyncItemError(`Cannot update: ${String(thrown)}`, { kind: 'unknown', cause: thrown });
}

/** The part of an error that a journal keeps. */
export function describeError(error: Error): {
  name: string;
  kind: string;
  message: string;
  code?: string;
  status?: number;
  reason?: string;
} {
  const { code, status, reason } = { code: field(error, 'code'), status: field(error, 'status'), reason: field(error, 'reason') };
  return {
    name: error.name,
    kind: String(field(error, 'kind') ?? 'unknown'),
    message: error.message.slice(0, 4096),
    ...(typeof code === 'string' && { code }),
    ...(typeof status === 'number' && { status }),
    ...(typeof reason === 'string' && { reason }),
  };
}
