import type { Call, Holdup } from '../../call.ts';
import type { SteadyClock } from '../../clock/steady-clock.ts';
import type { Answer } from '../../contract/limits.ts';
import { duration } from '../../duration.ts';
import {
  AuthenticationError,
  ConnectionError,
  type PetStoreError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedStatusError,
} from '../../errors.ts';
import type { Outlook } from '../ledger/ledger.ts';

/** Why a call waits, in words, and until when, unless only an answer can tell. */
export function holdupBy(outlook: Outlook, clock: SteadyClock): Holdup {
  const until = outlook.isUnknown || !Number.isFinite(outlook.at) ? undefined : clock.toDate(outlook.at);
  return { why: whyHeldUp(outlook, until?.toISOString()), until };
}

function whyHeldUp({ reason, isOfShare }: Outlook, until: string | undefined): string {
  if (reason === 'outage') return 'the service is failing';
  if (reason === 'in-flight') return 'the most requests allowed were in flight';
  if (until === undefined) return "no answer has yet said how much of this key's quota is left";
  if (reason === 'rate-limit') return `the service closed this key until ${until}`;
  return `${isOfShare ? "this client's share of the quota" : "this key's quota"} is used up until ${until}`;
}

/** The error of a call that does not wait for quota: like its last failure if it has one, else a RateLimitError without a status. */
export function refusalToWait(call: Call, holdup: Holdup, waitMs: number): PetStoreError {
  const why = `${holdup.why} (${longerThan(call.options.maxWaitMs, waitMs)})`;
  const retryAt = holdup.until;
  if (call.lastFailure) return notTriedAgain(call, call.lastFailure, { why, retryAt });
  return new RateLimitError(`Cannot ${call.purpose}: ${why}`, { ...call.details(), code: 'wait_too_long', retryAt });
}

/** `24 h, longer than maxWaitMs of 2 min`; if both durations read the same, `5 s longer than ...`. */
function longerThan(maxWaitMs: number, waitMs: number): string {
  const [wait, limit] = [duration(waitMs), duration(maxWaitMs)];
  return `${wait === limit ? duration(waitMs - maxWaitMs) : `${wait},`} longer than \`maxWaitMs\` of ${limit}`;
}

/** The error of a call that waited too long for the end of an outage; its class is that of the last failure. */
export function refusalInOutage(call: Call, last: PetStoreError | Answer | undefined, probeAt: Date | undefined): PetStoreError {
  const why = `the service is down for longer than \`maxWaitMs\` of ${duration(call.options.maxWaitMs)}`;
  if (call.lastFailure) return notTriedAgain(call, call.lastFailure, { why, retryAt: probeAt });
  const message = `Cannot ${call.purpose}: ${why}`;
  const details = { ...call.details(), retryAt: probeAt };
  if (last instanceof TimeoutError) return new TimeoutError(message, details);
  if (last instanceof ConnectionError) return new ConnectionError(message, { ...details, code: last.code, cause: last.cause });
  return new ServerError(message, last ? { ...details, status: last.status, code: `http_${last.status}` } : details);
}

/** The error of a call that is not retried because the retry budget is used up. */
export function refusalToRetry(call: Call, last: PetStoreError): PetStoreError {
  const why = 'too many requests fail, so retries are limited until more succeed';
  return notTriedAgain(call, last, { why, retryAt: undefined });
}

/** The classes of the failures that a call tries again after; any other one is an unexpected status. */
const TRIED_AGAIN = [RateLimitError, ConnectionError, TimeoutError, AuthenticationError, ServerError];

/** A copy of the last failure that also says why there is no retry; the failure itself is its cause. */
function notTriedAgain(call: Call, last: PetStoreError, { why, retryAt }: { why: string; retryAt: Date | undefined }): PetStoreError {
  const message = `${last.message}; not tried again: ${why}`;
  const { code, status, rateLimit, retryAfterMs, bodyText } = last;
  const details = { ...call.details(), code, status, rateLimit, retryAfterMs, bodyText, retryAt: retryAt ?? last.retryAt, cause: last };
  const Same = TRIED_AGAIN.find((each) => last instanceof each) ?? UnexpectedStatusError;
  return new Same(message, details);
}
