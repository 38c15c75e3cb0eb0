import {
  AuthenticationError,
  BadRequestError,
  ConfigurationError,
  ConnectionError,
  InvalidArgumentError,
  InvalidResponseError,
  isRetryable,
  NotFoundError,
  RateLimitError,
  ServerError,
  TimeoutError,
  UnexpectedStatusError,
} from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import { isLeftToGate, mayRetry } from '../../src/retry/policy.ts';

describe('isRetryable', () => {
  test.each([
    ['a 429', new RateLimitError('x', { status: 429 })],
    ['a wait for quota that was too long', new RateLimitError('x')],
    ['an outage that was too long', new ServerError('x')],
    [
      'a 503 of an update that may have been applied',
      new ServerError('x', { status: 503, operation: 'updateInventory', outcome: 'unknown' }),
    ],
    ['a fetch that was not sent', new ConnectionError('x', { operation: 'fetch', outcome: 'not-sent' })],
    [
      'an error of another copy of the package',
      Object.assign(Object.create({ [Symbol.for('petstore-inventory.error')]: true }), { kind: 'timeout' }),
    ],
  ])('is true for %s', (_, failure) => {
    expect(isRetryable(failure)).toBe(true);
  });

  test.each([
    ['a fetch that may have been received', new ConnectionError('x', { operation: 'fetch', outcome: 'unknown' })],
    ['a 501', new ServerError('x', { status: 501 })],
    ['a certificate that is not trusted', new ConnectionError('x', { code: 'CERT_HAS_EXPIRED' })],
    ['a pet that does not exist', new NotFoundError('x', { status: 404 })],
    ['an abort', new DOMException('x', 'AbortError')],
    ['nothing', undefined],
  ])('is false for %s', (_, failure) => {
    expect(isRetryable(failure)).toBe(false);
  });
});

describe('mayRetry', () => {
  test.each([
    new RateLimitError('x', { status: 429 }),
    new UnexpectedStatusError('x', { status: 408 }),
    new UnexpectedStatusError('x', { status: 425 }),
    ...[500, 502, 503, 504, 507, 511, 599].map((status) => new ServerError('x', { status })),
    new TimeoutError('x'),
    new ConnectionError('x'),
    ...[
      'ECONNREFUSED',
      'ECONNRESET',
      'ENOTFOUND',
      'EAI_AGAIN',
      'UND_ERR_SOCKET',
      'EPIPE',
      'ERR_TLS_HANDSHAKE_TIMEOUT',
      'proxy_429',
      'proxy_502',
    ].map((code) => new ConnectionError('x', { code })),
  ])('is true for $name $status $code', (failure) => {
    expect(mayRetry(failure)).toBe(true);
  });

  test.each([
    new RateLimitError('x'),
    new ServerError('x'),
    new ServerError('x', { status: 501 }),
    new ServerError('x', { status: 505 }),
    new BadRequestError('x', { status: 400 }),
    new AuthenticationError('x', { status: 401 }),
    new NotFoundError('x', { status: 404 }),
    ...[301, 302, 307, 308, 304, 403, 405, 409, 410, 418, 422, 451].map((status) => new UnexpectedStatusError('x', { status })),
    new InvalidResponseError('x', { reason: 'schema', status: 200 }),
    new InvalidArgumentError('x', { argument: 'petId' }),
    new ConfigurationError('x', { option: 'apiKey' }),
    ...[
      'proxy_403',
      'proxy_407',
      'CERT_HAS_EXPIRED',
      'CERT_NOT_YET_VALID',
      'INVALID_CA',
      'INVALID_PURPOSE',
      'PATH_LENGTH_EXCEEDED',
      'HOSTNAME_MISMATCH',
      'CRL_HAS_EXPIRED',
      'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
      'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED',
      'DEPTH_ZERO_SELF_SIGNED_CERT',
      'SELF_SIGNED_CERT_IN_CHAIN',
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
      'ERR_TLS_CERT_ALTNAME_INVALID',
    ].map((code) => new ConnectionError('x', { code })),
    new ConnectionError(
      '… failed: error sending request for url (https://a/v1): client error (Connect): invalid peer certificate: Expired',
    ),
  ])('is false for $name $status $code', (failure) => {
    expect(mayRetry(failure)).toBe(false);
  });
});

test('isLeftToGate: a 429, and a 503 with Retry-After', () => {
  const failures = [
    new RateLimitError('x', { status: 429 }),
    new ServerError('x', { status: 503, retryAfterMs: 0 }),
    new ServerError('x', { status: 503 }),
    new ServerError('x', { status: 500, retryAfterMs: 5_000 }),
    new ConnectionError('x'),
  ];
  expect(failures.map(isLeftToGate)).toEqual([true, true, false, false, false]);
});
