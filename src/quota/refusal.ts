import type { Call } from '../call.ts';
import type { Answer } from '../contract/limits.ts';
import { ConnectionError, type PetStoreError, RateLimitError, ServerError, TimeoutError } from '../errors.ts';
import type { WaitReason } from '../events.ts';

/** A wait that is too long for a call. */
export interface LongWait {
  reason: WaitReason;
  waitMs: number;
  until: Date;
}

/** The error of a call that will not wait for quota: its own last failure where it has one, else a RateLimitError without a status. */
export function refusalToWait(call: Call, { reason, waitMs, until }: LongWait): PetStoreError {
  if (call.lastFailure) return call.lastFailure;
  const why = reason === 'rate-limit' ? 'the service closed this key' : "this key's quota is used up";
  const message = `Cannot ${call.purpose}: ${why} until ${until.toISOString()}, and ${waitMs} ms are more than the \`maxWaitMs\` of ${call.options.maxWaitMs}`;
  return new RateLimitError(message, { ...call.details(), code: 'wait_too_long', retryAt: until });
}

/** The error of a call that waited too long behind an outage: the class of the last failure. */
export function refusalInOutage(call: Call, last: PetStoreError | Answer | undefined, probeAt: Date | undefined): PetStoreError {
  if (call.lastFailure) return call.lastFailure;
  const message = `Cannot ${call.purpose}: the service is down for longer than the \`maxWaitMs\` of ${call.options.maxWaitMs} ms`;
  const details = { ...call.details(), retryAt: probeAt };
  if (last instanceof TimeoutError) return new TimeoutError(message, details);
  if (last instanceof ConnectionError) return new ConnectionError(message, { ...details, code: last.code, cause: last.cause });
  return new ServerError(message, { ...details, status: last?.status, code: `http_${last?.status}` });
}
