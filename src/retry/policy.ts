import { isCertificateCode } from '../certificate-codes.ts';
import { isServiceFailure } from '../contract/http.ts';
import { isPetStoreError, type PetStoreError } from '../errors.ts';
import { isFinalProxyCode } from '../proxy-codes.ts';

/**
 * TLS alerts by which the service refuses the client's certificate, or asks for one. Deno gives no code, but a message that calls the service's
 * certificate `peer certificate`.
 */
const CERTIFICATE_ALERT = /_CERTIFICATE|peer certificate/;

/**
 * Whether the same request may succeed later. Sending an update again is safe: it sets a quantity, and does not add to one.
 * Retried are 408, 425, 429 and every 5xx but 501 and 505; failed connections, unless because of a certificate or a proxy that does not
 * allow them; and attempts that ran out of time.
 */
export function mayRetry({ kind, status, message, code = message }: PetStoreError): boolean {
  switch (kind) {
    case 'rate-limit':
      return status === 429;
    case 'server':
      return isServiceFailure(status ?? 0);
    case 'unexpected-status':
      return status === 408 || status === 425;
    case 'connection':
      return !isAboutCertificates(code) && !isFinalProxyCode(code);
    case 'timeout':
      return true;
    default:
      return false;
  }
}

/**
 * Whether the same call may succeed later, so that a queue or a job can make it again, after `error.retryAt` if that is known: a 429, a wait
 * for quota or an outage longer than allowed, a 408, 425 or 5xx but 501 and 505, a failed connection, or a timeout. Errors of every copy of
 * the package are recognised; false for anything else, and for a call of `fetch` whose outcome is `unknown`, which may not be repeatable.
 *
 * @example
 * sandbox.faults.add({ times: 1, status: 503 });
 * const busy = await petstore.listInventory({ maxRetries: 0 }).catch((thrown) => thrown);
 * const missing = await petstore.updateInventory(999, { quantity: 1 }).catch((thrown) => thrown);
 * console.log(isRetryable(busy), isRetryable(missing)); // → true false
 */
export function isRetryable(error: unknown): boolean {
  if (!isPetStoreError(error)) return false;
  const { kind, status, operation, outcome } = error;
  if (operation === 'fetch' && outcome === 'unknown') return false;
  const hasWaited = status === undefined && (kind === 'rate-limit' || kind === 'server');
  return hasWaited || mayRetry(error);
}

/** A wrong certificate will still be wrong in a second, and an attacker may be in between. */
function isAboutCertificates(code: string): boolean {
  return isCertificateCode(code) || CERTIFICATE_ALERT.test(code);
}

/** Whether the gate does the waiting: a wait that the service asked for closes it for every call, and a backoff would only add to it. */
export function isLeftToGate(failure: PetStoreError): boolean {
  return failure.status === 429 || (failure.status === 503 && failure.retryAfterMs !== undefined);
}
