import { ConfigurationError, ConnectionError, TimeoutError } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { Redactor } from '../../src/redactor.ts';
import { connectionFailure, timeLimitFailure } from '../../src/transport/connection-failure.ts';
import { networkError } from '../support/answers.ts';
import { makeCall } from '../support/call.ts';

const asked = { baseUrl: 'https://pets.test:8443/api/v1', redactor: new Redactor() };

/** The failure of an attempt that was under way. */
function failureOf(thrown: unknown): unknown {
  const call = makeCall();
  call.sent();
  return connectionFailure(thrown, call, asked);
}

describe('connectionFailure', () => {
  test("refers a page to the browser's console, since it learns no more", () => {
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0' });
    const thrown = new TypeError('Failed to fetch');
    const message = 'Cannot update pet 42: the connection to pets.test:8443 failed: Failed to fetch';
    expect(failureOf(thrown)).toMatchObject({ message: `${message}; the browser's console says why` });
    vi.unstubAllGlobals();
    expect(failureOf(thrown)).toMatchObject({ message });
  });

  test("has the innermost cause's code, and says what could not be done and where", () => {
    const thrown = new TypeError('fetch failed', {
      cause: Object.assign(new Error('outer', { cause: networkError('EINNER') }), { code: 'EOUTER' }),
    });
    expect(failureOf(thrown)).toMatchObject({
      name: 'ConnectionError',
      code: 'EINNER',
      message: 'Cannot update pet 42: the connection to pets.test:8443 failed: EINNER',
      operation: 'updateInventory',
      petId: 42,
      attempts: 1,
      status: undefined,
    });
  });

  test('shows the message of the innermost cause if no cause has a code', () => {
    const failure = failureOf(new TypeError('fetch failed', { cause: new Error('other side closed') }));
    expect(failure).toBeInstanceOf(ConnectionError);
    expect(failure).toMatchObject({
      code: undefined,
      message: 'Cannot update pet 42: the connection to pets.test:8443 failed: other side closed',
    });
  });

  test.each<[string, unknown, string]>([
    ['a text', 'took longer than 200 ms', 'took longer than 200 ms'],
    [
      "the Response of msw's `HttpResponse.error()` as its cause",
      new TypeError('Failed to fetch', { cause: Response.error() }),
      'Failed to fetch',
    ],
    ['a text as its cause', new TypeError('fetch failed', { cause: 'closed' }), 'closed'],
  ])('shows the innermost reason of a fetch that threw %s', (_what, thrown, reason) => {
    expect(failureOf(thrown)).toMatchObject({ message: `Cannot update pet 42: the connection to pets.test:8443 failed: ${reason}` });
  });

  test('is a ConfigurationError that names the port if fetch blocks it: nothing was sent', () => {
    const call = makeCall();
    call.sent();
    const thrown = new TypeError('fetch failed', { cause: new Error('bad port') });
    const failure = connectionFailure(thrown, call, { baseUrl: 'http://127.0.0.1:6666/v1', redactor: new Redactor() });
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({
      message: 'Cannot update pet 42: fetch refuses the port of 127.0.0.1:6666; use another',
      option: 'baseUrl',
      outcome: 'not-sent',
      cause: { message: 'fetch failed', cause: { message: 'bad port' } },
    });
  });

  test.each([
    ['Node', networkError('ERR_ACCESS_DENIED', 'connect ERR_ACCESS_DENIED Access to this API has been restricted.')],
    ['Node, which looks up the host,', networkError('ERR_ACCESS_DENIED', 'getaddrinfo ERR_ACCESS_DENIED pets.test')],
    ['Deno', Object.assign(new Error('Requires net access to "pets.test:8443"'), { name: 'NotCapable' })],
  ])('is a ConfigurationError that names the flag if %s does not permit the connection: nothing was sent', (_runtime, thrown) => {
    const failure = failureOf(thrown);
    expect(failure).toBeInstanceOf(ConfigurationError);
    expect(failure).toMatchObject({
      message: 'Cannot update pet 42: this process may not connect to pets.test:8443 without --allow-net',
      option: 'baseUrl',
      outcome: 'not-sent',
      cause: { message: thrown.message },
    });
  });

  test.each([
    ['Node', Object.assign(new Error('Access to this API has been restricted.'), { code: 'ERR_ACCESS_DENIED' })],
    ['Deno', Object.assign(new Error('Requires write access to "/answers.json"'), { name: 'NotCapable' })],
  ])('is a ConnectionError if %s does not permit a file that a `fetch` writes: the request may have been sent', (_runtime, thrown) => {
    expect(failureOf(thrown)).toMatchObject({ kind: 'connection', outcome: 'unknown' });
  });

  test('shows the whole reason of Deno, which has no code and says last why no connection was made: nothing was sent', () => {
    const reason =
      'error sending request for url (https://pets.test:8443/v1/inventory/42): client error (Connect): dns error: failed to lookup address information: Name or service not known';
    expect(failureOf(new TypeError('fetch failed', { cause: new Error(reason) }))).toMatchObject({
      code: undefined,
      message: `Cannot update pet 42: the connection to pets.test:8443 failed: ${reason}`,
      outcome: 'not-sent',
    });
  });

  test('leaves an update unknown if Deno lost the connection while it sent the request', () => {
    const reason = 'error sending request for url (https://pets.test:8443/v1/inventory/42): client error (SendRequest): connection closed';
    expect(failureOf(new TypeError('fetch failed', { cause: new Error(reason) }))).toMatchObject({
      kind: 'connection',
      outcome: 'unknown',
    });
  });

  test.each([undefined, new Error(), { message: 7 }])('has no code and no reason for %o', (thrown) => {
    expect(failureOf(thrown)).toMatchObject({ code: undefined, message: 'Cannot update pet 42: the connection to pets.test:8443 failed' });
  });

  test.each([
    'ECONNREFUSED',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'EADDRNOTAVAIL',
    'UND_ERR_CONNECT_TIMEOUT',
    'ConnectionRefused',
    'FailedToOpenSocket',
    'CERT_HAS_EXPIRED',
    'INVALID_CA',
    'HOSTNAME_MISMATCH',
    'CRL_HAS_EXPIRED',
    'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
  ])('%s came before anything was sent', (code) => {
    expect(failureOf(networkError(code))).toMatchObject({ code, outcome: 'not-sent' });
  });

  test.each(['ETIMEDOUT', 'EMFILE', 'EACCES'])('%s of a connection that was never made came before anything was sent', (code) => {
    const connecting = (address: string) => Object.assign(new Error(`connect ${code} ${address}:443`), { code, syscall: 'connect' });
    // Node tries each address of a host, and the error of all has no system call.
    const several = Object.assign(new AggregateError([connecting('192.0.2.1'), connecting('2001:db8::1')]), { code });
    const failures = [connecting('192.0.2.1'), several].map((cause) => failureOf(new TypeError('fetch failed', { cause })));
    expect(failures).toMatchObject(Array(2).fill({ code, outcome: 'not-sent' }));
  });

  test.each([
    'ECONNRESET',
    'EPIPE',
    'ETIMEDOUT',
    'UND_ERR_SOCKET',
    'UND_ERR_HEADERS_TIMEOUT',
    'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC',
    'XECONNREFUSED',
  ])('%s leaves in doubt whether the change was applied', (code) => {
    expect(failureOf(networkError(code))).toMatchObject({ code, outcome: 'unknown' });
  });

  test.each([
    ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', /NODE_EXTRA_CA_CERTS/],
    ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', /NODE_EXTRA_CA_CERTS/],
    ['SELF_SIGNED_CERT_IN_CHAIN', /NODE_EXTRA_CA_CERTS/],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', /NODE_EXTRA_CA_CERTS/],
    ['CERT_HAS_EXPIRED', /expired/],
    ['CERT_NOT_YET_VALID', /not valid yet/],
    ['ERR_TLS_CERT_ALTNAME_INVALID', /another name/],
    ['ERR_SSL_WRONG_VERSION_NUMBER', /does not speak TLS/],
  ])('says what %s means, after the code', (code, meaning) => {
    const failure = failureOf(networkError(code));
    expect(failure).toMatchObject({ message: expect.stringMatching(meaning) });
    expect(failure).toMatchObject({ message: expect.stringContaining(`pets.test:8443 failed: ${code}: `) });
  });

  test.each([
    [407, 'Proxy response (407) !== 200 when HTTP Tunneling', ': it wants a user and a password'],
    [407, 'Proxy Authentication Required (407)', ': it wants a user and a password'],
    [403, 'Proxy response (403) !== 200 when HTTP Tunneling', ': it does not allow this host'],
    [502, 'Proxy response (502) !== 200 when HTTP Tunneling', ''],
  ])('names the %i of a proxy, from "%s": nothing was sent', (status, message, why) => {
    const cause = Object.assign(new Error(message), { code: 'UND_ERR_ABORTED' });
    expect(failureOf(new TypeError('fetch failed', { cause: new Error('Request was cancelled.', { cause }) }))).toMatchObject({
      code: `proxy_${status}`,
      message: `Cannot update pet 42: the connection to pets.test:8443 failed: a proxy in between refused it with ${status}${why}`,
      outcome: 'not-sent',
    });
  });

  test('an attempt that ran out of time is a TimeoutError that names its limit', () => {
    const call = makeCall();
    call.sent();
    const failure = timeLimitFailure(call, asked);
    expect(failure).toBeInstanceOf(TimeoutError);
    expect(failure).toMatchObject({
      message: 'Cannot update pet 42: attempt 1 had no complete answer from pets.test:8443 within its `attemptTimeoutMs` of 30 s',
      outcome: 'unknown',
    });
  });

  test('never shows the key that a library quotes', () => {
    const redactor = new Redactor();
    redactor.learn('psk_hunter2');
    const thrown = [networkError('psk_hunter2', 'Bearer psk_hunter2'), new Error('Bearer psk_hunter2')];
    const failures = thrown.map((error) => connectionFailure(error, makeCall(), { baseUrl: 'https://psk_hunter2.test/v1', redactor }));
    expect(failures.map(({ message, code, cause }) => [message, code, String(cause)].join()).join()).not.toContain('hunter2');
    expect(failures[1]?.message).toBe('Cannot update pet 42: the connection to ***.test failed: Bearer ***');
  });
});
