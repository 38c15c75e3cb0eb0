import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, createZstdCompress, gzipSync } from 'node:zlib';
import { ConnectionError, isPetStoreError, PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { undiciFetch } from 'petstore-inventory/undici';
import { Agent, DecoratorHandler, type Dispatcher, RetryAgent } from 'undici';
import { Agent as AgentOf7, ProxyAgent as ProxyAgentOf7, RetryAgent as RetryAgentOf7 } from 'undici-7';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { collectGarbage } from '../support/garbage.ts';
import { portOf } from '../support/port-of.ts';
import {
  type Authority,
  makeAuthority,
  startGoAway,
  startHttp,
  startHttp2,
  startProxy,
  startSilent,
  startTls,
  startTlsProxy,
} from './networks.ts';

const KEY = 'psk_0123456789';
const PASSWORD = 'pass-word-0123456789';
let authority: Authority;
beforeAll(() => {
  authority = makeAuthority();
});
afterAll(() => authority[Symbol.dispose]());
beforeEach(() => {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY']) vi.stubEnv(name, '').stubEnv(name.toLowerCase(), '');
  return () => void vi.unstubAllEnvs();
});

function clientOf(baseUrl: string, fetch: typeof globalThis.fetch, options: PetStoreClientOptions = {}): PetStoreClient {
  return new PetStoreClient({ apiKey: KEY, baseUrl, plan: 'unlimited', maxRetries: 0, fetch, ...options });
}

async function failureOf(work: Promise<unknown>) {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isPetStoreError(error)) throw new Error(`not a PetStoreError: ${error}`);
  return error;
}

type Fetch = typeof globalThis.fetch;

const items = [{ petId: 1, quantity: 2, status: 'sold' }];

describe('a service with its own certificate authority', () => {
  test('is reached with `ca`, as text or as the path of a file', async () => {
    await using service = await startTls(authority);
    expect(await clientOf(service.url, undiciFetch({ ca: authority.ca })).listInventory()).toEqual(items);
    expect(await clientOf(service.url, undiciFetch({ ca: join(authority.folder, 'ca.pem') })).listInventory()).toEqual(items);
  });

  test('is reached with NODE_EXTRA_CA_CERTS, also beside a `ca` of another authority', async () => {
    using other = makeAuthority();
    await using service = await startTls(authority);
    const script = `import { undiciFetch } from ${JSON.stringify(new URL('../../src/undici/index.ts', import.meta.url).href)};
      const response = await undiciFetch({ ca: process.argv[1] })('${service.url}/inventory');
      console.log(response.status);`;
    const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(authority.folder, 'ca.pem') };
    const words = ['--input-type=module', '--eval', script, '--', join(other.folder, 'ca.pem')];
    const { stdout } = await promisify(execFile)(process.execPath, words, { env });
    expect(stdout).toBe('200\n');
  });

  test('is refused without it, and the message names the setting', async () => {
    await using service = await startTls(authority);
    const error = await failureOf(clientOf(service.url, undiciFetch()).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({
      kind: 'connection',
      code: expect.stringMatching(/^(?:UNABLE_TO_VERIFY|SELF_SIGNED)/),
      outcome: 'not-sent',
    });
    expect(error.message).toContain('look at `ca` of undiciFetch, or NODE_EXTRA_CA_CERTS');
    expect(service.asked).toEqual([]);
  });
});

describe('a service that wants a client certificate', () => {
  test('is reached with `cert` and `key`', async () => {
    await using service = await startTls(authority, { wantsClient: true });
    const fetch = undiciFetch({ ca: authority.ca, cert: authority.clientCert, key: authority.clientKey });
    expect(await clientOf(service.url, fetch).updateInventory(1, { quantity: 2 })).toEqual(items[0]);
  });

  test('refuses a client without a certificate, and nothing was changed', async () => {
    await using service = await startTls(authority, { wantsClient: true });
    const error = await failureOf(clientOf(service.url, undiciFetch({ ca: authority.ca })).updateInventory(1, { quantity: 2 }));
    expect(error.kind).toBe('connection');
    expect(service.asked).toEqual([]);
  });
});

type Library = () => Promise<object>;
const UNDICIS: [version: string, library: Library][] = [
  ['8', () => import('undici')],
  ['7', () => import('undici-7')],
];

/** Makes `undiciFetch` load this version, until the test ends. */
function use(library: Library): void {
  vi.doMock('undici', library);
  onTestFinished(() => void vi.doUnmock('undici'));
}

describe('a service that speaks only HTTP/2', () => {
  test('is reached, many calls over one connection', async () => {
    await using service = await startHttp2(authority);
    const client = clientOf(service.url, undiciFetch({ ca: authority.ca }));
    const lists = await Promise.all(Array.from({ length: 20 }, () => client.listInventory()));
    expect(lists).toHaveLength(20);
    expect(new Set(service.asked)).toEqual(new Set(['GET 2.0']));
  });

  test('that refuses a stream leaves an update not sent', async () => {
    await using service = await startHttp2(authority, (asked) => (request, response) => {
      asked.push(`${request.method}`);
      if ('stream' in response) response.stream.close(7);
    });
    const error = await failureOf(clientOf(service.url, undiciFetch({ ca: authority.ca })).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'connection', outcome: 'not-sent' });
  });

  test('that resets a stream for another reason leaves an update in doubt', async () => {
    await using service = await startHttp2(authority, () => (_request, response) => {
      if ('stream' in response) response.stream.close(2);
    });
    const error = await failureOf(clientOf(service.url, undiciFetch({ ca: authority.ca })).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'connection', outcome: 'unknown' });
  });

  test.each([
    { what: 'in good order before a stream leaves its update not sent', goAway: { lastStream: 0, code: 0 }, outcome: 'not-sent' },
    { what: 'for a reason after a stream leaves its update in doubt', goAway: { lastStream: 1, code: 2 }, outcome: 'unknown' },
  ])('that goes away $what', async ({ goAway, outcome }) => {
    await using service = await startGoAway(authority, goAway);
    const error = await failureOf(clientOf(service.url, undiciFetch({ ca: authority.ca })).updateInventory(1, { quantity: 2 }));
    expect(service.asked.length).toBeGreaterThanOrEqual(1);
    expect(error).toMatchObject({ kind: 'connection', outcome });
  });

  test('fails no other request with the reason of an abort after it went away', async () => {
    const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
    await using service = await startHttp2(authority, (asked) => (_request, response) => {
      const session = 'stream' in response ? response.stream.session : undefined;
      const count = asked.push('');
      if (count > 3) response.end('answered');
      if (count !== 3) return;
      session?.goaway(0, 1);
      // The client answers it once it has read the GOAWAY before it.
      session?.ping(() => leave());
    });
    const fetch = undiciFetch({ ca: authority.ca });
    const [first, second] = [new AbortController(), new AbortController()];
    const calls = [first.signal, second.signal, null].map((signal) => fetch(service.url, { signal }));
    const ends = calls.map((call) => call.then((response) => response.text()).catch((error: Error) => `failed: ${error.cause}`));
    await gone;
    first.abort(new Error('of the first'));
    second.abort(new Error('of the second'));
    expect((await Promise.all(ends))[2]).not.toContain('of the');
  });

  test.each(UNDICIS)('gets no further request on a connection without an answer in time (undici %s)', async (_version, library) => {
    use(library);
    const sessions = new Set<unknown>();
    await using service = await startHttp2(authority, (asked) => (_request, response) => {
      sessions.add('stream' in response && response.stream.session);
      asked.push(`on connection ${sessions.size}`);
      if (asked.length !== 2) response.end(JSON.stringify(items));
    });
    const client = clientOf(service.url, undiciFetch({ ca: authority.ca, allowH2: true }), { maxRetries: 1 });
    await client.listInventory();
    expect(await client.listInventory({ attemptTimeoutMs: 1_000 })).toEqual(items);
    expect(service.asked).toEqual(['on connection 1', 'on connection 1', 'on connection 2']);
  });

  test('keeps a connection on which another answer came while one did not come in time', async () => {
    const sessions = new Set<unknown>();
    await using service = await startHttp2(authority, (asked) => (_request, response) => {
      sessions.add('stream' in response && response.stream.session);
      if (asked.push('') !== 1) response.end('soon');
    });
    const fetch = undiciFetch({ ca: authority.ca });
    // No timer, which a busy machine may fire before the answer.
    const limit = new AbortController();
    const late = fetch(service.url, { signal: limit.signal }).catch((error: Error) => error.name);
    await expect.poll(() => service.asked).toHaveLength(1);
    const soon = async () => (await fetch(service.url)).text();
    const before = await soon();
    limit.abort(new DOMException('late', 'TimeoutError'));
    expect([before, await late, await soon(), sessions.size]).toEqual(['soon', 'TimeoutError', 'soon', 1]);
  });

  test('answers a call that shares its connection with one that runs out of time', async () => {
    const late: (() => void)[] = [];
    await using service = await startHttp2(authority, () => (_request, response) => {
      late.push(() => response.end(JSON.stringify(items)));
    });
    const client = clientOf(service.url, undiciFetch({ ca: authority.ca }));
    const patient = client.listInventory();
    await expect.poll(() => late).toHaveLength(1);
    const hurried = await failureOf(client.listInventory({ attemptTimeoutMs: 100 }));
    for (const answer of late) answer();
    expect([hurried.kind, await patient]).toEqual(['timeout', items]);
  });
});

describe('an update that waits for a connection', () => {
  const LIMITS = [{ attemptTimeoutMs: 100 }, { totalTimeoutMs: 100 }];

  test.each(UNDICIS.flatMap(([version, library]) => LIMITS.map((limit) => [limit, version, library] as const)))(
    'is not sent if it ends at %o (undici %s)',
    async (limit, _version, library) => {
      use(library);
      await using service = await startHttp(({ method }, response) => method === 'GET' && response.end('[]'));
      const client = clientOf(service.url, undiciFetch({ connections: 1 }));
      await client.listInventory();
      const sent = failureOf(client.updateInventory(1, { quantity: 2 }));
      const waiting = await failureOf(client.updateInventory(2, { quantity: 2 }, limit));
      for (const socket of service.sockets) socket.destroy();
      expect([waiting.kind, waiting.outcome, (await sent).outcome]).toEqual(['timeout', 'not-sent', 'unknown']);
    },
  );
});

describe('behind a forward proxy', () => {
  test('the option `proxy` sends requests through it', async () => {
    await using service = await startTls(authority);
    await using proxy = await startProxy();
    const client = clientOf(service.url, undiciFetch({ ca: authority.ca, proxy: proxy.url }));
    expect(await client.listInventory()).toEqual(items);
    expect(proxy.led).toEqual(['tunnel localhost']);
  });

  test('HTTPS_PROXY with user and password sends requests through it, and NO_PROXY around it', async () => {
    await using service = await startTls(authority);
    await using proxy = await startProxy(PASSWORD);
    vi.stubEnv('HTTPS_PROXY', `http://user:${PASSWORD}@127.0.0.1:${proxy.port}`);
    expect(await clientOf(service.url, undiciFetch({ ca: authority.ca })).listInventory()).toEqual(items);
    expect(proxy.led).toEqual(['tunnel localhost']);
    vi.stubEnv('NO_PROXY', 'localhost');
    expect(await clientOf(service.url, undiciFetch({ ca: authority.ca })).listInventory()).toEqual(items);
    expect(proxy.led).toEqual(['tunnel localhost']);
  });

  test.each(
    UNDICIS.flatMap(([version, library]) => ['*', 'other.test, *', '[::1]', '::1'].map((none) => [none, version, library] as const)),
  )('NO_PROXY=%s leads around it (undici %s)', async (none, _version, library) => {
    use(library);
    await using proxy = await startProxy();
    vi.stubEnv('HTTP_PROXY', proxy.url).stubEnv('NO_PROXY', none);
    await expect(undiciFetch()('http://[::1]:9')).rejects.toMatchObject({ cause: { cause: { code: 'ECONNREFUSED' } } });
    expect(proxy.led).toEqual([]);
  });

  test('a failure names no proxy if NO_PROXY exempts the host', async () => {
    await using service = await startHttp((_, response) => response.end());
    vi.stubEnv('HTTPS_PROXY', 'http://proxy.example:3128');
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    const failure = await clientOf(service.url.replace('http:', 'https:'), undiciFetch()).listInventory().catch(String);
    expect(failure).toMatch(/does not speak TLS/);
    expect(failure).not.toContain('HTTPS_PROXY');
  });

  test.each(UNDICIS)('that leads to a service without TLS is not named (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startHttp((_, response) => response.end());
    await using proxy = await startProxy();
    const fetch = undiciFetch({ proxy: proxy.url });
    const error = await failureOf(clientOf(service.url.replace('http:', 'https:'), fetch).listInventory());
    expect(error.message).toMatch(/the server there does not speak TLS$/);
  });

  test.each(UNDICIS)('HTTP/2 goes through it too (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startHttp2(authority);
    await using proxy = await startProxy();
    const fetch = undiciFetch({ ca: authority.ca, proxy: proxy.url, allowH2: true });
    expect(await clientOf(service.url, fetch).listInventory()).toEqual(items);
    expect(service.asked).toEqual(['GET 2.0']);
  });

  test.each(UNDICIS)('that speaks TLS and offers HTTP/2, requests go through it (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startHttp2(authority);
    await using proxy = await startTlsProxy(authority);
    const fetch = undiciFetch({ ca: authority.ca, proxy: proxy.url, allowH2: true });
    expect(await clientOf(service.url, fetch).listInventory()).toEqual(items);
    expect(proxy.led).toEqual(['tunnel localhost']);
  });

  test.each(UNDICIS)('whose certificate is for another name is what the message names (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startTls(authority);
    await using proxy = await startTlsProxy({ cert: authority.clientCert, key: authority.clientKey });
    const fetch = undiciFetch({ ca: authority.ca, proxy: proxy.url });
    const error = await failureOf(clientOf(service.url, fetch).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID', outcome: 'not-sent' });
    expect(error.message).toContain(`look at \`proxy\`, which says ${proxy.url}`);
    expect(proxy.led).toEqual([]);
  });

  test('that wants a password, a call is not sent and says so once', async () => {
    await using service = await startTls(authority);
    await using proxy = await startProxy(PASSWORD);
    vi.stubEnv('HTTPS_PROXY', `http://user:wrong-${PASSWORD}@127.0.0.1:${proxy.port}`);
    const client = clientOf(service.url, undiciFetch({ ca: authority.ca }), { maxRetries: 3 });
    const error = await failureOf(client.updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'connection', code: 'proxy_407', attempts: 1, outcome: 'not-sent' });
    expect(error.message).toContain(`look at HTTPS_PROXY, which says http://***@127.0.0.1:${proxy.port}`);
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain(PASSWORD);
  });

  test.each(UNDICIS)('that wants a password for an http: address, a call is not sent (undici %s)', async (_version, library) => {
    use(library);
    const asked: unknown[] = [];
    await using service = await startHttp((request, response) => response.end(asked.push(request.url)));
    await using proxy = await startProxy(PASSWORD);
    vi.stubEnv('HTTP_PROXY', `http://user:wrong-${PASSWORD}@127.0.0.1:${proxy.port}`);
    const error = await failureOf(clientOf(service.url, undiciFetch(), { maxRetries: 3 }).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'connection', code: 'proxy_407', attempts: 1, outcome: 'not-sent' });
    expect(error.message).toContain(`look at HTTP_PROXY, which says http://***@127.0.0.1:${proxy.port}`);
    expect(asked).toEqual([]);
  });

  test.each(UNDICIS)('that wants a user without a password gets it (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startTls(authority);
    await using proxy = await startProxy('');
    const fetch = undiciFetch({ ca: authority.ca, proxy: proxy.url.replace('//', '//user@') });
    expect(await clientOf(service.url, fetch).listInventory()).toEqual(items);
    expect(proxy.led).toHaveLength(1);
  });

  test('that is down, a call names the setting', async () => {
    const error = await failureOf(
      clientOf('https://pets.test/v1', undiciFetch({ proxy: 'http://127.0.0.1:9' })).updateInventory(1, { quantity: 2 }),
    );
    expect(error).toMatchObject({ kind: 'connection', code: 'ECONNREFUSED', outcome: 'not-sent' });
    expect(error.message).toContain('look at `proxy`, which says http://127.0.0.1:9');
  });

  test.each(UNDICIS)('that never answers a CONNECT, later calls reach the service (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startTls(authority);
    await using proxy = await startProxy(undefined, { unanswered: 1 });
    const fetch = undiciFetch({ ca: authority.ca, proxy: proxy.url, connectTimeoutMs: 1_000, connections: 1 });
    const client = clientOf(service.url, fetch);
    const error = await failureOf(client.updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'connection', code: 'UND_ERR_HEADERS_TIMEOUT', outcome: 'not-sent' });
    expect(error.message).toContain(`look at \`proxy\`, which says ${proxy.url}`);
    expect(await client.listInventory()).toEqual(items);
  });

  test.each(UNDICIS)('a request that waits is sent after another ran out of time (undici %s)', async (_version, library) => {
    use(library);
    const answer = (asked: unknown[]) => (_request: unknown, response: { end(body: string): unknown }) => {
      if (asked.push('') > 1) response.end('late');
    };
    await using service = await startTls(authority, { answer });
    await using proxy = await startProxy();
    const fetch = undiciFetch({ ca: authority.ca, proxy: proxy.url, connections: 1 });
    // No timer, which a busy machine may fire before the request is sent.
    const limit = new AbortController();
    const hurried = fetch(service.url, { signal: limit.signal }).catch((error: Error) => error.name);
    const patient = fetch(service.url).then((response) => response.text(), String);
    await expect.poll(() => service.asked).toHaveLength(1);
    limit.abort(new DOMException('late', 'TimeoutError'));
    expect(await Promise.all([hurried, patient])).toEqual(['TimeoutError', 'late']);
    expect(proxy.led).toHaveLength(2);
  });

  test.each(UNDICIS)('the service may take longer than `connectTimeoutMs` to answer (undici %s)', async (_version, library) => {
    use(library);
    await using service = await startHttp((_request, response) => void setTimeout(() => response.end(JSON.stringify(items)), 1_500));
    await using proxy = await startProxy();
    expect(await clientOf(service.url, undiciFetch({ proxy: proxy.url, connectTimeoutMs: 1_000 })).listInventory()).toEqual(items);
    expect(proxy.led).toHaveLength(1);
  });

  test.each(UNDICIS)('`connectTimeoutMs` limits a handshake with the service (undici %s)', async (_version, library) => {
    use(library);
    await using silent = await startSilent();
    await using proxy = await startProxy();
    const fetch = undiciFetch({ proxy: proxy.url, connectTimeoutMs: 1_000 });
    const error = await failureOf(clientOf(silent.url, fetch).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT', outcome: 'not-sent' });
  });

  test.each(UNDICIS.flatMap(([version, library]) => (['end', 'resetAndDestroy'] as const).map((end) => [end, version, library] as const)))(
    'that closes the connection of a CONNECT (%s), a call is not sent and names the setting (undici %s)',
    async (end, _version, library) => {
      use(library);
      let connections = 0;
      const proxy = createTcpServer((socket) => {
        connections += 1;
        socket.on('error', () => {}).once('data', () => socket[end]());
      });
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
      onTestFinished(() => void proxy.close());
      const url = `http://127.0.0.1:${portOf(proxy)}`;
      const client = clientOf('https://pets.test/v1', undiciFetch({ proxy: url }), { attemptTimeoutMs: 10_000 });
      const error = await failureOf(client.updateInventory(1, { quantity: 2 }));
      expect(error).toMatchObject({ kind: 'connection', outcome: 'not-sent' });
      expect(error.message).toContain(`look at \`proxy\`, which says ${url}`);
      expect(connections).toBe(1);
    },
  );

  test('that answers a page, a call names the setting', async () => {
    const page = createServer();
    page.on('connect', (_request, socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\n\r\n<html>no</html>'));
    await new Promise<void>((resolve) => page.listen(0, '127.0.0.1', resolve));
    const address = page.address();
    const port = typeof address === 'object' && address ? address.port : 0;
    const error = await failureOf(
      clientOf('https://pets.test/v1', undiciFetch({ proxy: `http://127.0.0.1:${port}` })).updateInventory(1, { quantity: 2 }),
    );
    page.close();
    expect(error).toMatchObject({ kind: 'connection', code: 'proxy_502', outcome: 'not-sent' });
    expect(error.message).toContain(`look at \`proxy\`, which says http://127.0.0.1:${port}`);
  });
});

describe('undiciFetch refuses', () => {
  const refusal = (options: Parameters<typeof undiciFetch>[0]) => () => undiciFetch(options);

  test('a certificate authority that is not a certificate, or cannot be read', () => {
    expect(refusal({ ca: '/nowhere/ca.pem' })).toThrow(
      'Cannot use "/nowhere/ca.pem" as `ca`: it must be PEM text, or the path of a PEM file that can be read (ENOENT)',
    );
    expect(refusal({ ca: new URL(import.meta.url).pathname })).toThrow('`ca`: it must be a certificate in PEM text');
    expect(refusal({ ca: authority.key })).toThrow('there is none in this text');
  });

  test('a client certificate or a passphrase without the key, a key without a certificate, and a key of another certificate', () => {
    expect(refusal({ passphrase: PASSWORD })).toThrow('as `key`: it must be the private key of `cert` and `passphrase`, which need it');
    expect(refusal({ cert: authority.clientCert })).toThrow('as `key`: it must be the private key of `cert`');
    expect(refusal({ key: authority.clientKey })).toThrow('as `cert`: it must be the certificate of `key`');
    expect(refusal({ cert: authority.clientCert, key: authority.key })).toThrow('as `key`: it must be the private key of `cert`');
  });

  test('an invalid address of a proxy, without showing the password', () => {
    expect(refusal({ proxy: `ftp://user:${PASSWORD}@proxy.test` })).toThrow(
      'Cannot use "ftp://***@proxy.test" as `proxy`: it must be the address of an http or https proxy',
    );
    vi.stubEnv('HTTPS_PROXY', `ftp://user:${PASSWORD}@proxy.test`);
    expect(refusal({})).toThrow(/^(?!.*pass-word).*"ftp:\/\/\*\*\*@proxy\.test" as `HTTPS_PROXY`/);
  });

  test('a password with a bare %', () => {
    expect(refusal({ proxy: 'http://user:100%sure@proxy.test' })).toThrow(
      /^(?!.*sure).*`proxy`.* with \/ in the password as %2F, and % as %25$/,
    );
    vi.stubEnv('HTTPS_PROXY', 'user:100%sure@proxy.test:3128');
    expect(refusal({})).toThrow('`HTTPS_PROXY`');
  });
});

describe('undiciFetch', () => {
  test('asks only for encodings with one meaning, and not for deflate', async () => {
    await using service = await startHttp((request, response) => response.end(request.headers['accept-encoding']));
    expect(await (await undiciFetch()(service.url)).text()).toBe('gzip, br');
  });

  test.each(['gzip, identity', 'identity,GZIP', 'x-gzip,', 'identity', ', identity'])(
    'decodes a body whose Content-Encoding is %j, for a client too',
    async (coding) => {
      const text = JSON.stringify(items);
      await using service = await startHttp((_request, response) => {
        response.setHeader('content-encoding', coding).end(/gzip/i.test(coding) ? gzipSync(text) : text);
      });
      const fetch = undiciFetch();
      expect(await (await fetch(service.url)).text()).toBe(text);
      expect(await clientOf(service.url, fetch).listInventory({ headers: { 'accept-encoding': 'gzip, identity' } })).toEqual(items);
    },
  );

  test.each([
    ['a form', () => new URLSearchParams({ a: '1' }), '3'],
    ['bytes', () => new Uint8Array(5).buffer, '5'],
    ['a blob', () => new Blob(['four']), '4'],
    ['a stream', () => new Blob(['four']).stream(), undefined],
  ])('sends %s with its length if that is known', async (_, body, length) => {
    await using service = await startHttp((request, response) => response.end(String(request.headers['content-length'])));
    const init = { method: 'POST', body: body(), duplex: 'half' };
    expect(await (await undiciFetch()(service.url, init)).text()).toBe(String(length));
  });

  test.each([
    ['text', { body: 'text' }, 'text/plain;charset=UTF-8'],
    ['text with a type', { body: 'text', headers: { 'Content-TYPE': 'text/html' } }, 'text/html'],
    ['an empty text', { body: '' }, 'text/plain;charset=UTF-8'],
    ['bytes', { body: new Uint8Array(5) }, undefined],
    ['nothing', {}, undefined],
  ])('sends %s with the Content-Type of fetch', async (_, init, type) => {
    await using service = await startHttp((request, response) => response.end(String(request.headers['content-type'])));
    const sent = [undiciFetch(), globalThis.fetch].map(async (fetch) => (await fetch(service.url, { method: 'POST', ...init })).text());
    expect(await Promise.all(sent)).toEqual([String(type), String(type)]);
  });

  test.each([
    ['a method in lower case', { method: 'post', headers: { 'accept-encoding': 'identity' } }],
    ['names of headers in upper case', { headers: { 'Accept-Encoding': 'identity' } }],
    ['a header with a line break at its end', { headers: { 'accept-encoding': 'identity\n' } }],
    ['a header by two names', { headers: { 'Accept-Encoding': 'identity', 'accept-encoding': 'gzip' } }],
  ])('sends %s as fetch does', async (_, init) => {
    await using service = await startHttp(({ method, headersDistinct }, response) => {
      response.end(JSON.stringify([method, headersDistinct['accept-encoding']]));
    });
    const [own, global] = await Promise.all(
      [undiciFetch(), globalThis.fetch].map(async (fetch) => (await fetch(service.url, init)).text()),
    );
    expect(own).toBe(global);
  });

  test('refuses a GET with a body, as fetch does', async () => {
    const init = { body: new Uint8Array(1) };
    await expect(undiciFetch()('http://127.0.0.1:1', init)).rejects.toThrow(/GET\/HEAD method cannot have body/);
  });

  test('gives a Response whose address has no fragment, and whose clone has its fields', async () => {
    await using service = await startHttp((_request, response) => response.writeHead(600, 'D\u00e9j\u00e0').end());
    const response = await undiciFetch()(`${service.url}/pets#rex`);
    const fields = { status: 600, statusText: expect.stringMatching(/^D.+j/), url: `${service.url}/pets` };
    expect(response.clone()).toMatchObject(fields);
    expect(response).toMatchObject(fields);
  });

  test('does not decode a body of more codings than fetch does, and drops its connection', async () => {
    await using service = await startHttp((_request, response) => {
      response.setHeader('content-encoding', Array(6).fill('gzip').join()).write(gzipSync(''));
    });
    const error = await failureOf(clientOf(service.url, undiciFetch()).listInventory());
    expect(error).toMatchObject({ kind: 'connection', message: expect.stringContaining('the body has 6 codings, more than 5') });
    await expect.poll(() => service.sockets.size).toBe(0);
  });

  test.runIf(createZstdCompress)('does not decode zstd with a window beyond 8 MiB', async () => {
    await using service = await startHttp((_request, response) => {
      const windowed = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 24 } });
      windowed.pipe(response.setHeader('content-encoding', 'zstd'));
      windowed.write(Buffer.alloc(1));
      windowed.end();
    });
    await expect((await undiciFetch()(service.url)).text()).rejects.toThrow('too much memory');
  });

  test('gives a client its answer without making a Response', async () => {
    await using service = await startHttp((_request, response) => response.end(JSON.stringify(items)));
    const client = clientOf(service.url, undiciFetch());
    const made = vi.spyOn(globalThis, 'Response');
    onTestFinished(() => made.mockRestore());
    const { data, headers } = await client.listInventory().withResponse();
    expect([data, headers.get('content-length')]).toEqual([items, String(JSON.stringify(items).length)]);
    expect(headers).toBeInstanceOf(Headers);
    expect(made).not.toHaveBeenCalled();
    await client.fetch('/inventory');
    expect(made).toHaveBeenCalled();
  });

  test('makes Headers only for callers who read them', async () => {
    await using service = await startHttp((_request, response) => response.end(JSON.stringify(items)));
    const client = clientOf(service.url, undiciFetch());
    await client.listInventory();
    const made = vi.spyOn(globalThis, 'Headers');
    onTestFinished(() => made.mockRestore());
    await client.listInventory();
    expect(made).not.toHaveBeenCalled();
    await client.listInventory().withResponse();
    expect(made).toHaveBeenCalledOnce();
  });

  test.each([
    ['a wrapper with its properties', (fetch: Fetch, call: Fetch) => Object.assign(call, fetch)],
    ['a wrapper that inherits from it', (fetch: Fetch, call: Fetch) => Object.setPrototypeOf(call, fetch)],
    ['a Proxy', (fetch: Fetch, call: Fetch) => new Proxy(fetch, { apply: (_, _this, args: Parameters<Fetch>) => call(...args) })],
  ])('is not called in place of %s', async (_, wrap) => {
    await using service = await startHttp((_request, response) => response.end(JSON.stringify(items)));
    const fetch = undiciFetch();
    let calls = 0;
    const call: Fetch = (input, init) => {
      calls += 1;
      return fetch(input, init);
    };
    expect(await clientOf(service.url, wrap(fetch, call)).listInventory()).toEqual(items);
    expect(calls).toBe(1);
  });

  test('can be mocked', async () => {
    const mocked = vi.fn(undiciFetch()).mockImplementation(async () => Response.json(items));
    expect(await clientOf('http://127.0.0.1:1/v1', mocked).listInventory()).toEqual(items);
    expect(mocked).toHaveBeenCalledOnce();
  });

  test.each([
    ['a Blob', () => new Blob(['x'])],
    ['a form', () => new FormData()],
    ['parameters', () => new URLSearchParams({ a: '1' })],
    ['a stream', () => new Blob(['x']).stream()],
  ])('ends a request with %s at an abort, also after a garbage collection', async (_, body) => {
    await using silent = await startHttp((request) => void request.resume());
    const ending = new AbortController();
    const init = { method: 'POST', body: body(), signal: ending.signal };
    const call = clientOf(silent.url, undiciFetch()).fetch('/orders', init).catch(String);
    await expect.poll(() => silent.sockets.size).toBe(1);
    await collectGarbage();
    ending.abort();
    await call;
    await expect.poll(() => silent.sockets.size).toBe(0);
  });

  test('ends the request of a Request at its abort, also after a garbage collection', async () => {
    await using silent = await startHttp(() => {});
    const ending = new AbortController();
    const call = undiciFetch()(new Request(silent.url, { signal: ending.signal }));
    await expect.poll(() => silent.sockets.size).toBe(1);
    await collectGarbage();
    ending.abort('enough');
    await expect(call).rejects.toBe('enough');
  });

  test('drops a body that a status cannot have, with its connection', async () => {
    await using service = await startHttp((_request, response) => response.writeHead(205).write(Buffer.alloc(8_000_000)));
    expect((await undiciFetch()(service.url)).status).toBe(205);
    await expect.poll(() => service.sockets.size).toBe(0);
  });
});

describe('a dispatcher', () => {
  test.each([
    ['8', () => new Agent()],
    ['7', () => new AgentOf7()],
  ])('of undici %s carries lists, updates and streams', async (_version, make) => {
    const service = createServer((request, response) => response.end(JSON.stringify(request.method === 'GET' ? items : items[0])));
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const address = service.address();
    const dispatcher = make();
    const client = clientOf(`http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/v1`, undiciFetch(dispatcher));
    expect([await client.listInventory(), await client.updateInventory(1, { quantity: 2 })]).toEqual([items, items[0]]);
    expect(await (await client.fetch('/inventory')).json()).toEqual(items);
    const streamed = [];
    for await (const item of client.streamInventory()) streamed.push(item);
    expect(streamed).toEqual(items);
    await dispatcher.close();
    service.close();
  });

  test('of undici 7 uses a proxy', async () => {
    await using service = await startTls(authority);
    await using proxy = await startProxy();
    const dispatcher = new ProxyAgentOf7({ uri: proxy.url, requestTls: { ca: authority.ca } });
    expect(await clientOf(service.url, undiciFetch(dispatcher)).listInventory()).toEqual(items);
    expect(proxy.led).toEqual(['tunnel localhost']);
    await dispatcher.close();
  });

  test('that sends an update again leaves it in doubt, even if its last connection was refused', async () => {
    // The service may have applied the update when it goes away.
    await using service = await startHttp(() => void service[Symbol.asyncDispose]());
    const agent = new RetryAgent(new Agent(), { methods: ['PATCH'], maxRetries: 1, minTimeout: 50 });
    onTestFinished(() => agent.close());
    const error = await failureOf(clientOf(service.url, undiciFetch(agent)).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ code: 'ECONNREFUSED', outcome: 'unknown' });
  });

  const RETRIES = { methods: ['PATCH' as const, 'POST' as const], maxRetries: 1, minTimeout: 50 };

  test.each([
    ['8', (connect: object) => new RetryAgent(new Agent({ allowH2: true, connect }), RETRIES)],
    ['7', (connect: object) => new RetryAgentOf7(new AgentOf7({ allowH2: true, connect }), RETRIES)],
  ])('that sends again leaves the call in doubt if only its last stream was refused (undici %s)', async (_version, make) => {
    const applied: string[] = [];
    await using service = await startHttp2(authority, () => (request, response) => {
      if (!('stream' in response)) return;
      const { stream } = response;
      if (applied.includes(String(request.method))) return stream.close(7);
      applied.push(String(request.method));
      request.resume().on('end', () => stream.session?.destroy());
    });
    const agent = make({ ca: authority.ca });
    onTestFinished(() => agent.destroy());
    const client = clientOf(service.url, undiciFetch(agent), { maxRetries: 1 });
    const error = await failureOf(client.updateInventory(1, { quantity: 2 }, { maxRetries: 0 }));
    expect(error).toMatchObject({ code: 'ERR_HTTP2_STREAM_ERROR', outcome: 'unknown' });
    expect(await failureOf(client.fetch('/orders', { method: 'POST', body: 'order' }))).toMatchObject({ attempts: 1 });
    expect(applied).toEqual(['PATCH', 'POST']);
  });

  test.each([
    ['8', (connect: object) => new Agent({ allowH2: true, connect })],
    ['7', (connect: object) => new AgentOf7({ allowH2: true, connect })],
  ])('of undici %s leaves an update not sent if its stream was refused, also again', async (_version, make) => {
    await using service = await startHttp2(authority, () => (_request, response) => {
      if ('stream' in response) response.stream.close(7);
    });
    const agent = make({ ca: authority.ca });
    onTestFinished(() => agent.destroy());
    const error = await failureOf(clientOf(service.url, undiciFetch(agent)).updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'connection', outcome: 'not-sent' });
  });

  test.each([
    ['closed', '8', (agent: Agent | AgentOf7) => agent.close(), () => new Agent()],
    ['closed', '7', (agent: Agent | AgentOf7) => agent.close(), () => new AgentOf7()],
    ['destroyed', '8', (agent: Agent | AgentOf7) => agent.destroy(), () => new Agent()],
    ['destroyed', '7', (agent: Agent | AgentOf7) => agent.destroy(), () => new AgentOf7()],
  ])('that is %s fails a call at once, which is not sent (undici %s)', async (_what, _version, end, make) => {
    const dispatcher = make();
    await end(dispatcher);
    const client = clientOf('http://127.0.0.1:9/v1', undiciFetch(dispatcher), { maxRetries: 3 });
    const error = await failureOf(client.updateInventory(1, { quantity: 2 }));
    expect(error).toMatchObject({ kind: 'configuration', option: 'fetch', attempts: 1, outcome: 'not-sent' });
    expect(error.message).toBe('Cannot send the request: the dispatcher given to undiciFetch is closed');
  });

  test('that fails to abort a request does not keep its call from ending', async () => {
    await using silent = await startHttp(() => {});
    const agent = new Agent();
    const abort = () => {
      throw new Error('cannot abort');
    };
    const cannotAbort = (handler: Dispatcher.DispatchHandler) => {
      const onRequestStart: Dispatcher.DispatchHandler['onRequestStart'] = (controller, context) =>
        handler.onRequestStart?.(Object.assign(Object.create(controller), { abort }), context);
      return Object.assign(new DecoratorHandler(handler), { onRequestStart });
    };
    const dispatcher = agent.compose((dispatch) => (options, handler) => dispatch(options, cannotAbort(handler)));
    const client = clientOf(silent.url, undiciFetch(dispatcher), { attemptTimeoutMs: 100 });
    expect(await failureOf(client.listInventory())).toMatchObject({ kind: 'timeout' });
    const signal = AbortSignal.timeout(50);
    await expect(client.listInventory({ signal })).rejects.toThrow(expect.objectContaining({ name: 'TimeoutError' }));
    await agent.destroy();
  });

  test('and a ConnectionError caused by it hold no request', async () => {
    const error = await failureOf(clientOf('http://127.0.0.1:9/v1', undiciFetch()).listInventory());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain(KEY);
  });
});
