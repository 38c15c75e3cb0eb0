import type { Call } from '../call.ts';
import type { Answer } from '../contract/limits.ts';
import { ConnectionError, type PetStoreError, RateLimitError, ServerError, TimeoutError } from '../errors.ts';
import type { Outlook } from './ledger.ts';

/** The error of a call that will not wait for quota: its own last failure where it has one, else a RateLimitError without a status. */
export function refusalToWait(call: Call, { at, reason }: Outlook, nowMs: number): PetStoreError {
  if (call.lastFailure) return call.lastFailure;
  const why = reason === 'rate-limit' ? 'the service closed this key' : "this key's quota is used up";
  const waitMs = Math.ceil(at - nowMs);
  const message = `Cannot ${call.purpose}: ${why} until ${new Date(at).toISOString()}, and ${waitMs} ms are more than the \`maxWaitMs\` of ${call.options.maxWaitMs}`;
  return new RateLimitError(message, { ...call.details(), code: 'wait_too_long', retryAt: new Date(at) });
}

/** The error of a call that waited too long behind an outage: the class of the last failure. */
export function refusalInOutage(call: Call, last: PetStoreError | Answer | undefined, probeAtMs: number): PetStoreError {
  if (call.lastFailure) return call.lastFailure;
  const message = `Cannot ${call.purpose}: the service is down for longer than the \`maxWaitMs\` of ${call.options.maxWaitMs} ms`;
  const retryAt = Number.isFinite(probeAtMs) ? new Date(probeAtMs) : undefined;
  const details = { ...call.details(), retryAt };
  if (last instanceof TimeoutError) return new TimeoutError(message, details);
  if (last instanceof ConnectionError) return new ConnectionError(message, { ...details, code: last.code, cause: last.cause });
  return new ServerError(message, { ...details, status: last?.status, code: `http_${last?.status}` });
}
