import { isCertificateCode } from '../certificate-codes.ts';
import { ConnectionError, type PetStoreError, RateLimitError, ServerError, TimeoutError, UnexpectedStatusError } from '../errors.ts';
import { isFinalProxyCode } from '../proxy-codes.ts';

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** The most that is added at random, so that callers who failed together do not come back together. */
const JITTER = 0.25;

/** The service refused a certificate of ours, or wants one. */
const CERTIFICATE_ALERT = /_CERTIFICATE/;

/**
 * Tells whether the same request may succeed in a while. Sending an update again is safe: it sets a quantity, it does not add to one.
 * Rules: 408, 425, 429 and every 5xx but 501 and 505; connections that failed, but not for a certificate
 * or a proxy that does not allow them; attempts that ran out of time.
 */
export function mayRetry(failure: PetStoreError): boolean {
  if (failure instanceof RateLimitError) return failure.status === 429;
  if (failure instanceof ServerError) return failure.status !== undefined && failure.status !== 501 && failure.status !== 505;
  if (failure instanceof UnexpectedStatusError) return failure.status === 408 || failure.status === 425;
  if (failure instanceof ConnectionError) return !isAboutCertificates(failure.code ?? '') && !isFinalProxyCode(failure.code ?? '');
  return failure instanceof TimeoutError;
}

/** A certificate that is wrong now will be wrong in a second, and somebody may be in between. */
function isAboutCertificates(code: string): boolean {
  return isCertificateCode(code) || CERTIFICATE_ALERT.test(code);
}

/** How long to back off before retry number `retry` (from 1), in milliseconds: 500 doubling to 30,000, plus up to a quarter at random. */
export function backoffMs(retry: number, random: number): number {
  const base = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (retry - 1));
  return Math.round(base * (1 + JITTER * random));
}

/** A wait that the service asked for is the gate's: it closes for every call, and the backoff would only add to it. */
export function isLeftToGate(failure: PetStoreError): boolean {
  return failure.status === 429 || (failure.status === 503 && failure.retryAfterMs !== undefined);
}
