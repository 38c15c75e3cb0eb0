import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import tls from 'node:tls';
import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { checkService, type Finding } from '../../src/node/index.ts';
import { serveSandbox } from '../../src/node/serve.ts';
import { Certificates } from '../support/certificates.ts';
import { rejectionOf } from '../support/outcome.ts';
import { portOf } from '../support/port-of.ts';

const KEY = 'psk_check_1';
let certificates: Certificates;
const trustedBefore = tls.getCACertificates('default');

beforeAll(async () => {
  certificates = await Certificates.open();
  await certificates.makeAuthority('Example Corporation CA');
  await certificates.make('inside', { host: 'localhost', days: 60, by: 'Example Corporation CA' });
  await certificates.make('stranger', { host: 'localhost', days: 60 });
  // The others come from a known authority, so that only their other faults are found.
  const { cert } = await certificates.makeAuthority('Known CA');
  await certificates.make('soon', { host: 'localhost', days: 5, by: 'Known CA' });
  await certificates.make('well', { host: 'localhost', days: 60, by: 'Known CA' });
  await certificates.make('other', { host: 'platform.example', days: 60, by: 'Known CA' });
  await certificates.make('expired', { host: 'localhost', days: -1, by: 'Known CA' });
  tls.setDefaultCACertificates([...trustedBefore, cert]);
});
afterAll(async () => {
  tls.setDefaultCACertificates(trustedBefore);
  await certificates[Symbol.asyncDispose]();
});
beforeEach(() => {
  vi.stubEnv('NODE_EXTRA_CA_CERTS', undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** The headers of a service without a problem. */
function limits(limit = 60): Record<string, string> {
  const reset = Math.floor(Date.now() / 1000) + 30;
  return { 'x-ratelimit-limit': `${limit}`, 'x-ratelimit-remaining': `${limit - 1}`, 'x-ratelimit-reset': `${reset}` };
}

const LIST = JSON.stringify([{ petId: 1, quantity: 2, status: 'available' }]);
const answerList: RequestListener = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', ...limits() }).end(LIST);
};

/** What a check of a server finds, by name, and how many requests the server got. */
async function check(server: Server, options: PetStoreClientOptions = {}) {
  let requests = 0;
  server.on('request', () => {
    requests += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const scheme = 'setSecureContext' in server ? 'https' : 'http';
  const client = new PetStoreClient({ apiKey: KEY, baseUrl: `${scheme}://localhost:${portOf(server)}/v1`, ...options });
  const { isWell, findings } = await checkService(client);
  client.close();
  await new Promise((resolve) => server.close(resolve));
  return { isWell, requests, problems: namesOf(findings, 'problem'), notes: namesOf(findings, 'note'), found: byName(findings) };
}

function namesOf(findings: readonly Finding[], wanted: Finding['outcome']): string[] {
  return findings.filter(({ outcome }) => outcome === wanted).map((finding) => finding.check);
}

function byName(findings: readonly Finding[]): Partial<Record<string, Finding>> {
  return Object.fromEntries(findings.map((finding) => [finding.check, finding]));
}

async function overTls(name: string): Promise<Server> {
  return createHttpsServer(await certificates.get(name), answerList);
}

const certificateGuide = 'docs/domains.md#the-certificate-is-not-there-yet-or-not-the-right-one';

describe('checkService', () => {
  test('finds nothing wrong with a service that works, after one request', async () => {
    const { isWell, requests, notes, found } = await check(await overTls('well'));
    expect({ isWell, requests, notes }).toEqual({ isWell: true, requests: 1, notes: [] });
    expect(found.tls).toMatchObject({
      message: 'TLSv1.3, certificate of localhost, issued by Known CA, 59 days left; HTTP/1.1',
      facts: { daysLeft: 59, issuer: 'Known CA' },
    });
    expect(Object.keys(found)).toEqual(['address', 'state', 'proxy', 'dns', 'connection', 'tls', 'answer', 'limits', 'plan', 'clock']);
  });

  test('finds that a host has no DNS record', async () => {
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: 'https://stock.example.invalid/v1' });
    const { isWell, findings } = await checkService(client);
    expect(isWell).toBe(false);
    expect(byName(findings).dns).toMatchObject({
      message: 'stock.example.invalid has no address: ENOTFOUND',
      see: 'docs/domains.md#there-is-no-dns-record-yet',
    });
  });

  test('finds that nothing listens, and notes that the request failed for it', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const baseUrl = `http://localhost:${portOf(server)}/v1`;
    await new Promise((resolve) => server.close(resolve));
    const { findings } = await checkService(new PetStoreClient({ apiKey: KEY, baseUrl }));
    expect(byName(findings).connection).toMatchObject({ outcome: 'problem', facts: { code: 'ECONNREFUSED' } });
    expect(byName(findings).answer).toMatchObject({ outcome: 'note', message: expect.stringContaining('ECONNREFUSED') });
  });

  test.each(['http://localhost', 'https://stock.example.invalid'])(
    'finds that the process may not connect to %s, and no fault of the network',
    async (origin) => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
      const baseUrl = `${origin}:${portOf(server)}/v1`;
      await new Promise((resolve) => server.close(resolve));
      const cause = Object.assign(new Error('connect ERR_ACCESS_DENIED Access to this API has been restricted.'), {
        code: 'ERR_ACCESS_DENIED',
      });
      const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
      const { findings } = await checkService(new PetStoreClient({ apiKey: KEY, baseUrl, fetch }));
      expect(findings.filter(({ outcome }) => outcome !== 'ok')).toEqual([
        {
          check: 'answer',
          outcome: 'problem',
          message: expect.stringMatching(/^Cannot fetch GET \/inventory: this process may not connect to .* without --allow-net$/),
          facts: expect.anything(),
        },
      ]);
    },
  );

  test('finds that a host has no DNS record also if the `apiKey` function fails', async () => {
    const apiKey = () => Promise.reject(new Error('vault down'));
    const { findings } = await checkService(new PetStoreClient({ apiKey, baseUrl: 'https://stock.example.invalid/v1' }));
    expect(byName(findings)).toMatchObject({
      dns: { outcome: 'problem', message: 'stock.example.invalid has no address: ENOTFOUND' },
      answer: { outcome: 'note', message: expect.stringContaining('the `apiKey` function failed to give a key') },
    });
  });

  test("finds that a company's certificate authority is unknown, and says what is needed", async () => {
    const { problems, requests, found } = await check(await overTls('inside'));
    expect([problems, requests]).toEqual([['tls'], 0]);
    expect(found.tls).toMatchObject({
      message: expect.stringMatching(/issued by Example Corporation CA: UNABLE_TO_VERIFY_LEAF_SIGNATURE: .*NODE_EXTRA_CA_CERTS/),
      advice: 'if the issuer is your own authority, set NODE_EXTRA_CA_CERTS to its certificate before Node starts',
      see: certificateGuide,
    });
  });

  test('finds that NODE_EXTRA_CA_CERTS names a file that does not exist, or another authority', async () => {
    vi.stubEnv('NODE_EXTRA_CA_CERTS', '/nowhere/ca.pem');
    expect((await check(await overTls('inside'))).found.tls?.advice).toBe(
      'NODE_EXTRA_CA_CERTS names /nowhere/ca.pem, which cannot be read',
    );
    vi.stubEnv('NODE_EXTRA_CA_CERTS', certificates.pathOf('other'));
    expect((await check(await overTls('inside'))).found.tls?.advice).toMatch(/which does not hold the certificate of this issuer$/);
  });

  test.each([
    ['stranger', 'DEPTH_ZERO_SELF_SIGNED_CERT', /NODE_EXTRA_CA_CERTS/],
    ['other', 'ERR_TLS_CERT_ALTNAME_INVALID', /check the address/],
    ['expired', 'CERT_HAS_EXPIRED', /renew the certificate/],
  ])('finds what is wrong with the certificate: %s', async (name, code, advice) => {
    const { problems, requests, found } = await check(await overTls(name));
    expect([problems, requests]).toEqual([['tls'], 0]);
    expect(found.tls).toMatchObject({ see: certificateGuide, advice: expect.stringMatching(advice), facts: { code } });
  });

  test('finds that there is no certificate, so that the handshake is refused', async () => {
    const { found } = await check(createHttpsServer({}, answerList));
    expect(found.tls).toMatchObject({
      outcome: 'problem',
      see: certificateGuide,
      facts: { code: 'ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE' },
    });
  });

  test('finds that the server does not speak TLS', async () => {
    const server = createServer(answerList);
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const { findings } = await checkService(new PetStoreClient({ apiKey: KEY, baseUrl: `https://localhost:${portOf(server)}/v1` }));
    expect(byName(findings).tls).toMatchObject({
      outcome: 'problem',
      message: expect.stringContaining('does not speak TLS'),
      advice: 'check the port of the address, and whether the server there uses http: rather than https:',
      see: 'docs/errors.md#connectionerror-connection',
    });
    await new Promise((resolve) => server.close(resolve));
  });

  test('says what to check if the server at an http: address speaks TLS', async () => {
    const server = await overTls('well');
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const { findings } = await checkService(new PetStoreClient({ apiKey: KEY, baseUrl: `http://localhost:${portOf(server)}/v1` }));
    expect(byName(findings).answer).toMatchObject({
      outcome: 'problem',
      advice: 'check the port of the address, and whether the server there uses https: rather than http:',
      see: 'docs/errors.md#connectionerror-connection',
    });
    await new Promise((resolve) => server.close(resolve));
  });

  test('notes a certificate that expires soon', async () => {
    const { isWell, notes, found } = await check(await overTls('soon'));
    expect([isWell, notes, found.tls?.facts?.daysLeft]).toEqual([true, ['tls'], 4]);
  });

  test('reports that the service speaks HTTP/2', async () => {
    const options: ServerOptions = { ...(await certificates.get('well')), ALPNProtocols: ['h2', 'http/1.1'] };
    expect((await check(createHttpsServer(options, answerList))).found.tls?.facts?.http).toBe('HTTP/2');
  });

  test('says what can reach a service that takes only HTTP/2', async () => {
    const options: ServerOptions = { ...(await certificates.get('well')), ALPNProtocols: ['h2'] };
    expect((await check(createHttpsServer(options, answerList))).found.answer).toMatchObject({
      outcome: 'problem',
      advice: 'it takes only HTTP/2: use `undiciFetch`, or Node 26',
      see: 'docs/network.md#http2',
    });
  });

  test('says how to give a client certificate if the service may want one', async () => {
    const options: ServerOptions = { ...(await certificates.get('well')), requestCert: true, rejectUnauthorized: true };
    const { found } = await check(createHttpsServer(options, answerList));
    expect(found.tls?.outcome).toBe('ok');
    expect(found.answer).toMatchObject({
      outcome: 'problem',
      advice: 'if the service wants a client certificate, give it to `undiciFetch`',
      see: 'docs/network.md#a-client-certificate',
    });
  });

  test('finds a redirect, and shows its target without the query', async () => {
    const { problems, requests, found } = await check(
      createServer((_request, response) => response.writeHead(301, { location: 'https://stock.example.com/v1/inventory?token=s' }).end()),
    );
    expect([problems, requests]).toEqual([['answer'], 1]);
    expect(found.answer).toMatchObject({
      message: expect.stringContaining('it redirects (301) to https://stock.example.com/v1/inventory,'),
      see: 'docs/domains.md#an-old-domain-redirects',
    });
  });

  test('finds a page that is not of the service', async () => {
    const { problems, found } = await check(createServer((_request, response) => response.writeHead(404).end('<h1>No such project</h1>')));
    expect(problems).toEqual(['answer']);
    expect(found.answer).toMatchObject({
      message: 'the service answered 404 without an Error body',
      advice: 'check the address: the list exists even if there are no pets',
      see: 'docs/domains.md#a-domain-was-removed',
    });
  });

  test.each([
    ['a login page', 'text/html; charset=utf-8', '<!doctype html><title>Log in</title>'],
    ['JSON of another service', 'application/json', '{"pets":[]}'],
    ['a list of something else', 'application/json', '[{"id":1}]'],
  ])('finds %s that answers with 200', async (_what, type, body) => {
    const { problems, found } = await check(
      createServer((_request, response) => response.writeHead(200, { 'content-type': type }).end(body)),
    );
    expect(problems).toEqual(['answer']);
    expect(found.answer).toMatchObject({
      message: expect.stringMatching(/^it answered 200, with [\w/]+ that is not a list of the inventory$/),
      see: 'docs/domains.md#a-proxy-is-in-between',
    });
  });

  const nextPets = ',{"petId":2,"quantity":2,"status":"available"}'.repeat(2_000);

  test.each([
    ['an id beyond 2^53', `[{"petId":9007199254740993,"quantity":2,"status":"available"}${nextPets}]`],
    ['a status with a brace', `[{"petId":1,"quantity":2,"status":"}, {"}${nextPets}]`],
    ['a field with an object', `[{"petId":1,"quantity":2,"status":"available","by":{"id":7}}${nextPets}]`],
    ['a status that is longer than what is read', `[{"petId":1,"quantity":2,"status":"${'\\\\"}'.repeat(50_000)}"}]`],
  ])('accepts a list whose first pet has %s', async (_what, body) => {
    const { isWell } = await check(createServer((_request, response) => response.writeHead(200, limits()).end(body)));
    expect(isWell).toBe(true);
  });

  test('finds a page without a content type', async () => {
    const { found } = await check(createServer((_request, response) => response.writeHead(200).end('<h1>Log in</h1>')));
    expect(found.answer).toMatchObject({
      message: 'it answered 200, with no content type that is not a list of the inventory',
      facts: { type: 'no content type' },
    });
  });

  test('finds a proxy that answers 403 instead of the service', async () => {
    const { found } = await check(createServer((_request, response) => response.writeHead(403).end('<h1>Blocked</h1>')));
    const advice = 'a proxy or firewall in between may have answered';
    expect(found.answer).toMatchObject({ outcome: 'problem', advice, see: 'docs/domains.md#a-proxy-is-in-between' });
  });

  test.each([
    [-86_400_000, 'problem', /^this machine is 24 h ahead of the service/],
    [86_401_000, 'problem', /^this machine is 24 h behind the service/],
    [-259_205_000, 'problem', /^this machine is 3 d ahead of the service/],
    [-300_000, 'problem', /^this machine is 5 min( \d s)? ahead of the service/],
    [300_000, 'problem', /^this machine is (5 min|4 min 5\d s) behind the service/],
    [-10_000, 'note', /^this machine is 1\d s|9\.\d s|10\.\d s ahead of the service/],
  ] as const)('finds that the clocks are %i ms apart', async (aheadMs, outcome, message) => {
    const { found } = await check(
      createServer((_request, response) => {
        const reset = `${Math.floor((Date.now() + aheadMs) / 1000) + 30}`;
        const headers = { ...limits(), 'x-ratelimit-reset': reset, date: new Date(Date.now() + aheadMs).toUTCString() };
        response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(LIST);
      }),
    );
    expect(found.clock).toMatchObject({ outcome, message: expect.stringMatching(message), see: 'docs/domains.md#the-clocks-differ' });
    expect(found.limits?.outcome).toBe('ok');
  });

  test('finds which headers of the limits are missing or not valid', async () => {
    const answer: RequestListener = (_request, response) => {
      response.writeHead(200, { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': 'some' }).end(LIST);
    };
    const { problems, found } = await check(createServer(answer));
    expect(problems).toEqual(['limits']);
    expect(found.limits).toMatchObject({
      message: 'in the headers of the limits, x-ratelimit-remaining is not valid (some), x-ratelimit-reset is missing',
      see: 'docs/domains.md#the-headers-of-the-limits-are-missing',
    });
    // With a plan the client knows what it may send.
    expect((await check(createServer(answer), { plan: 'free' })).notes).toEqual(['limits']);
  });

  test.each([
    ['business', 'problem'],
    ['pro', 'ok'],
    ['free', 'note'],
  ] as const)('compares the plan %s with a limit of 300: %s', async (plan, outcome) => {
    const served = await serveSandbox();
    const client = new PetStoreClient({ apiKey: served.keys.pro, baseUrl: served.url, plan });
    expect(byName((await checkService(client)).findings).plan?.outcome).toBe(outcome);
    await served.close();
  });

  test('finds that the service refuses the key, and never shows the key', async () => {
    const served = await serveSandbox();
    const check = await checkService(new PetStoreClient({ apiKey: 'psk_hunter2', baseUrl: served.url }));
    expect(byName(check.findings).answer).toMatchObject({ outcome: 'problem', see: 'docs/errors.md#authenticationerror-authentication' });
    expect(served.sandbox.requests).toHaveLength(1);
    expect(JSON.stringify(check)).not.toContain('hunter2');
    await served.close();
  });

  test('shows no key, no control characters and no more than 4 KiB of a message that the service echoes', async () => {
    const { found } = await check(
      createServer(({ headers }, response) => {
        const message = `"${headers.authorization}" is not valid\u001b[2J\u202e${'x'.repeat(5_000)}`;
        response.writeHead(401).end(JSON.stringify({ code: `bad_${KEY}\u0007`, message, status: 401 }));
      }),
    );
    expect(found.answer?.message).toMatch(/^the service answered 401 bad_\*\*\*: "Bearer \*\*\*" is not valid \[2J x+$/);
    expect(found.answer?.message.length).toBeLessThan(4_200);
    expect(found.answer?.facts).toEqual({ status: 401, code: 'bad_***' });
  });

  test.each([
    ['Location', 302, { location: `https://sso.example/${KEY}/in` }, 'https://sso.example/***/in'],
    ['Content-Type', 200, { 'content-type': `text/${KEY}` }, 'with text/*** that is not'],
    ['X-RateLimit-Limit', 401, { 'x-ratelimit-limit': `for the key of this very small shop ${KEY}` }, 'small shop ***)'],
  ])('shows no key that the service echoes in %s', async (_name, status, headers, shown) => {
    const { found } = await check(createServer((_request, response) => response.writeHead(status, headers).end('{}')));
    expect(JSON.stringify(found)).toContain(shown);
    expect(JSON.stringify(found)).not.toContain('psk_');
  });

  test('hides a key with a question mark before it reads the Location', async () => {
    const headers = { location: 'https://sso.example/part-one?part-two' };
    const server = createServer((_request, response) => response.writeHead(302, headers).end());
    expect((await check(server, { apiKey: 'part-one?part-two' })).found.answer?.facts?.location).toBe('https://sso.example/***');
  });

  test('hides a key that is part of the address', async () => {
    const fetch = async () => new Response('[]', { headers: limits() });
    const result = await checkService(new PetStoreClient({ apiKey: KEY, baseUrl: `https://localhost:1/${KEY}/v1`, fetch }));
    expect(result.address).toBe('https://localhost:1/***/v1');
    expect(JSON.stringify(result)).not.toContain(KEY);
  });

  test('sends nothing while the key is closed, and says until when', async () => {
    const served = await serveSandbox({ faults: [{ status: 429, headers: { 'retry-after': '600' } }] });
    const client = new PetStoreClient({ apiKey: served.keys.pro, baseUrl: served.url });
    const first = byName((await checkService(client)).findings);
    const second = byName((await checkService(client)).findings);
    expect([first.answer?.facts?.status, served.sandbox.requests.length]).toEqual([429, 1]);
    expect(first.state).toMatchObject({
      outcome: 'problem',
      message: expect.stringMatching(/^nothing is sent until \S+Z, in (10 min( 1 s)?|9 min 5\d s)$/),
    });
    expect(first.answer).toMatchObject({ outcome: 'note', message: expect.stringMatching(/^the service answered 429 /) });
    expect(second.state).toMatchObject({ outcome: 'problem' });
    expect(second.answer).toMatchObject({ outcome: 'note', message: expect.stringContaining('no request was sent') });
    await served.close();
  });

  test('says of a silent server what to check', async () => {
    const { found } = await check(
      createServer(() => {}),
      { attemptTimeoutMs: 300 },
    );
    expect(found.answer).toMatchObject({
      outcome: 'problem',
      message: expect.stringMatching(/had no complete answer from localhost:\d+ within its `attemptTimeoutMs` of 300 ms$/),
      advice: 'check the port of the address, or try again later',
      see: 'docs/errors.md#timeouterror-timeout',
    });
  });

  test.each([
    ['names a ban', {}, 'key_banned', /: Wait$/, 'try again when the ban is over'],
    ['asks for a wait', { 'retry-after': '600' }, 'unauthorized', /: Wait \(wait until \S+Z\)$/, 'try again then'],
  ])('says when to try again if the answer to the key %s', async (_what, headers, code, message, advice) => {
    const body = JSON.stringify({ code, message: 'Wait', status: 401 });
    const { found } = await check(createServer((_request, response) => response.writeHead(401, headers).end(body)));
    expect(found.answer).toMatchObject({ outcome: 'problem', message: expect.stringMatching(message), advice });
  });

  test('sends a request that fails only once', async () => {
    const { requests, found } = await check(createServer((_request, response) => response.writeHead(503).end()));
    expect([requests, found.answer?.outcome]).toEqual([1, 'problem']);
  });

  test("notes what prevents Node's own connections if the client's fetch gets an answer", async () => {
    const { keys, baseUrl, fetch } = createSandbox();
    const { isWell, findings } = await checkService(new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch }));
    expect(isWell).toBe(true);
    expect(namesOf(findings, 'problem')).toEqual([]);
  });

  test('notes a proxy that Node does not use', async () => {
    vi.stubEnv('HTTP_PROXY', 'http://user:secret@proxy.example:3128');
    const { isWell, found } = await check(createServer(answerList));
    expect(isWell).toBe(true);
    expect(found.proxy).toMatchObject({
      outcome: 'note',
      message: "HTTP_PROXY names http://***@proxy.example:3128, but Node's fetch does not use it",
    });
  });

  test.each(['user:100%sure@127.0.0.1:9', 'ftp://127.0.0.1:9'])('finds that a variable names no proxy: %s', async (proxy) => {
    vi.stubEnv('HTTPS_PROXY', proxy);
    vi.stubEnv('NODE_USE_ENV_PROXY', '1');
    const client = new PetStoreClient({
      apiKey: KEY,
      baseUrl: 'https://pets.test/v1',
      fetch: async () => Promise.reject(new TypeError('no')),
      maxRetries: 0,
    });
    const { findings } = await checkService(client);
    expect(findings).toContainEqual(
      expect.objectContaining({ check: 'connection', outcome: 'problem', message: 'HTTPS_PROXY names no proxy' }),
    );
    expect(JSON.stringify(findings)).not.toContain('sure');
  });

  test.each<[string, { headers: Record<string, string>; isCut?: true; attemptTimeoutMs?: number }, RegExp]>([
    ['cut', { headers: { 'content-length': '1000' }, isCut: true }, /UND_ERR_SOCKET/],
    [
      'stalled',
      { headers: {}, attemptTimeoutMs: 500 },
      /had no complete answer from localhost:\d+ within its `attemptTimeoutMs` of 500 ms/,
    ],
    ['bad gzip', { headers: { 'content-encoding': 'gzip' } }, /Z_DATA_ERROR/],
  ])('finds that the body of the answer is %s, and keeps the other findings', async (_what, { headers, isCut, ...options }, why) => {
    const server = createServer(({ socket }, response) => {
      response.writeHead(200, headers).write(LIST, () => isCut && setTimeout(() => socket.destroy(), 20));
    });
    const { isWell, requests, found } = await check(server, options);
    expect([isWell, requests, found.connection?.outcome]).toEqual([false, 1, 'ok']);
    expect(found.answer).toMatchObject({ outcome: 'problem', see: 'docs/errors.md#connectionerror-connection', facts: { status: 200 } });
    expect(found.answer?.message).toMatch(new RegExp(`^it answered 200, but its body could not be read: .*${why.source}`));
  });

  test.each([
    [401, 'the key is not one of this environment, or is banned for a while', 'docs/errors.md#authenticationerror-authentication'],
    [403, 'a proxy or firewall in between may have answered', 'docs/domains.md#a-proxy-is-in-between'],
    [501, 'the service failed: try again later', undefined],
  ])('advises what the status %i says even if its Error body is cut', async (status, advice, see) => {
    const server = createServer(({ socket }, response) => {
      response.writeHead(status, { 'content-length': '1000' }).write('{"co', () => setTimeout(() => socket.destroy(), 20));
    });
    const { requests, found } = await check(server);
    expect(requests).toBe(1);
    expect(found.answer).toMatchObject({ outcome: 'problem', advice, facts: { status, code: 'UND_ERR_SOCKET' } });
    expect(found.answer?.see).toBe(see);
    expect(found.answer?.message).toMatch(new RegExp(`^the service answered ${status}, but its body could not be read: .*UND_ERR_SOCKET`));
  });

  test('advises what the status 503 says where a call would be sent again', async () => {
    const { found } = await check(createServer((_request, response) => response.writeHead(503).end()));
    expect(found.answer).toMatchObject({ outcome: 'problem', advice: 'the service failed: try again later', facts: { status: 503 } });
  });

  test('counts a 429 once: the state says what to do', async () => {
    const { problems, found } = await check(createServer((_request, response) => response.writeHead(429, limits()).end()));
    expect(problems).toEqual(['state']);
    expect(found.answer).toEqual({
      check: 'answer',
      outcome: 'note',
      message: expect.stringMatching(/429/),
      facts: { code: 'http_429', status: 429 },
    });
  });

  test('finds a redirect whose body is cut', async () => {
    const server = createServer(({ socket }, response) => {
      const headers = { location: 'https://stock.example.com/v1/inventory', 'content-length': '1000' };
      response.writeHead(301, headers).write('<h1>', () => socket.destroy());
    });
    expect((await check(server)).found.answer?.message).toContain('it redirects (301) to https://stock.example.com/v1/inventory,');
  });

  test('ends with the reason of its signal while it reads the answer', async () => {
    const controller = new AbortController();
    const server = createServer((_request, response) => {
      response.writeHead(200).write('[', () => setTimeout(() => controller.abort(new Error('enough')), 50));
    });
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: `http://localhost:${portOf(server)}/v1` });
    await expect(checkService(client, { signal: controller.signal })).rejects.toThrow('enough');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([[undefined], [{}], [{ on: () => {}, fetch: () => {}, toJSON: () => {} }], ['psk_check_1']])(
    'refuses %o in place of the client, and does not show a text, which may be the key',
    async (bad) => {
      const error = await rejectionOf(Reflect.apply(checkService, undefined, [bad]));
      const message = expect.stringMatching(/^Cannot use (?!.*psk).* as `client`: it must be a PetStoreClient, or have its on\(\), /);
      expect(error).toMatchObject({ kind: 'invalid-argument', argument: 'client', message });
    },
  );

  test('ends with the reason of its signal', async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: `http://localhost:${portOf(server)}/v1` });
    await expect(checkService(client, { signal: AbortSignal.timeout(200) })).rejects.toMatchObject({ name: 'TimeoutError' });
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([
    ['signl', { signl: AbortSignal.abort() }, '`signl` as an option: the options are signal'],
    ['signal', { signal: KEY }, 'Cannot use "***" as `signal`: it must be an AbortSignal'],
    ['options', null, 'Cannot use null as `options`: it must be an object such as { signal }'],
    ['options', AbortSignal.abort(), 'it must be an object such as { signal }'],
  ])('refuses the bad option %s', async (option, options, message) => {
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: 'https://stock.example.invalid/v1' });
    const refusal = { kind: 'configuration', option, message: expect.stringContaining(message) };
    await expect(Reflect.apply(checkService, undefined, [client, options])).rejects.toMatchObject(refusal);
  });
});
