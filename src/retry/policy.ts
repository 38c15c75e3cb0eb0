import { isCertificateCode } from '../certificate-codes.ts';
import { isServiceFailure } from '../contract/http.ts';
import { ConnectionError, type PetStoreError, RateLimitError, ServerError, TimeoutError, UnexpectedStatusError } from '../errors.ts';
import { isFinalProxyCode } from '../proxy-codes.ts';

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 30_000;
/** The largest random part added to a backoff, so that calls that failed together are not retried together. */
const JITTER = 0.25;

/** TLS alerts by which the service refuses the client's certificate, or asks for one. */
const CERTIFICATE_ALERT = /_CERTIFICATE/;

/**
 * Whether the same request may succeed later. Sending an update again is safe: it sets a quantity, and does not add to one.
 * Retried are 408, 425, 429 and every 5xx but 501 and 505; failed connections, unless because of a certificate or a proxy that does not
 * allow them; and attempts that ran out of time.
 */
export function mayRetry(failure: PetStoreError): boolean {
  if (failure instanceof RateLimitError) return failure.status === 429;
  if (failure instanceof ServerError) return isServiceFailure(failure.status ?? 0);
  if (failure instanceof UnexpectedStatusError) return failure.status === 408 || failure.status === 425;
  if (failure instanceof ConnectionError) return !isAboutCertificates(failure.code ?? '') && !isFinalProxyCode(failure.code ?? '');
  return failure instanceof TimeoutError;
}

/** A wrong certificate will still be wrong in a second, and an attacker may be in between. */
function isAboutCertificates(code: string): boolean {
  return isCertificateCode(code) || CERTIFICATE_ALERT.test(code);
}

/** How long to back off before retry number `retry` (from 1), in milliseconds: 500 doubling to 30,000, plus up to a quarter at random. */
export function backoffMs(retry: number, random: number): number {
  const base = Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** (retry - 1));
  return Math.round(base * (1 + JITTER * random));
}

/** Whether the gate does the waiting: a wait that the service asked for closes it for every call, and a backoff would only add to it. */
export function isLeftToGate(failure: PetStoreError): boolean {
  return failure.status === 429 || (failure.status === 503 && failure.retryAfterMs !== undefined);
}
