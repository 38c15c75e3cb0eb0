import { connect } from 'node:net';
import fc from 'fast-check';
import { type ServeSandboxOptions, serveSandbox } from 'petstore-inventory/node';
import { SandboxError } from 'petstore-inventory/sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { within } from '../support/outcome.ts';
import { rawAnswer, started } from './served.ts';

describe('serveSandbox', () => {
  test('answers at an address that ends in /v1, on a free port', async () => {
    const { url, keys } = await started({ pets: [{ petId: 9_007_199_254_740_993n, quantity: 1 }] });
    const answer = await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.pro}` } });
    expect(new URL(url).pathname).toBe('/v1');
    expect(await answer.text()).toBe('[{"petId":9007199254740993,"quantity":1,"status":"available"}]');
    expect(answer.headers.get('x-ratelimit-remaining')).toBe('299');
  });

  test('applies an update that came over a socket', async () => {
    const { url, keys, sandbox } = await started({ pets: 1 });
    const headers = { authorization: `Bearer ${keys.free}` };
    const answer = await fetch(`${url}/inventory/1`, { method: 'PATCH', headers, body: '{"quantity":44}' });
    expect([answer.status, sandbox.inventory.get(1)?.quantity]).toEqual([200, 44]);
  });

  test('answers 500 with what a function of the caller threw', async () => {
    const when = () => {
      throw new Error('a typo');
    };
    const { url } = await started({ faults: [{ when, status: 503 }] });
    const answer = await fetch(`${url}/inventory`);
    expect([answer.status, await answer.json()]).toMatchObject([500, { message: expect.stringContaining('it threw Error: a typo') }]);
  });

  test.each([
    ['`date` is false', { date: false }],
    ['a fault removes it', { faults: [{ headers: { date: null } }] }],
    ['a fault cuts the answer and `date` is false', { date: false, faults: [{ fail: 'cut' }] }],
  ] satisfies [string, ServeSandboxOptions][])('sends no Date where %s', async (_why, options) => {
    const { url, keys } = await started(options);
    const answer = await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } });
    expect([answer.status, answer.headers.has('date')]).toEqual([200, false]);
    await answer.text().catch(() => {});
  });

  test('sends no Content-Type where a fault removes it', async () => {
    const { url, keys } = await started({ pets: [{ petId: 1, quantity: 2 }], faults: [{ headers: { 'content-type': null } }] });
    const answer = await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } });
    expect([answer.headers.has('content-type'), await answer.json()]).toEqual([false, [{ petId: 1, quantity: 2, status: 'available' }]]);
  });

  test.each([
    ['a list', 'localhost', '/v1/inventory', 200],
    ['a path that is not there', 'localhost', '/v1x', 404],
    ['a redirect', 'old.example', '/v1/inventory', 301],
  ])("sends %s with the Date of the sandbox's clock", async (_what, host, path, status) => {
    const { url, keys, sandbox } = await started({ date: { aheadMs: 1_000 }, domains: [{ from: 'old.example', to: 'new.example' }] });
    sandbox.clock.hold();
    sandbox.clock.set(Date.parse('2030-01-01T00:00:00Z'));
    const head = `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer ${keys.free}\r\nConnection: close\r\n\r\n`;
    const answer = await rawAnswer(url, head);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer.match(/^date: .*$/gim)).toEqual(['date: Tue, 01 Jan 2030 00:00:01 GMT']);
  });

  test('serves staging next to production', async () => {
    const { stagingUrl, keys, sandbox } = await started({ pets: 1 });
    const headers = { authorization: `Bearer ${keys.free}` };
    await fetch(`${stagingUrl}/inventory/1`, { method: 'PATCH', headers, body: '{"quantity":1234}' });
    expect([sandbox.staging.inventory.get(1)?.quantity, sandbox.inventory.get(1)?.quantity]).toEqual([1234, expect.not.toBeOneOf([1234])]);
  });

  test('gives an address that can be connected to if it listens on all interfaces, and is closed by `await using`', async () => {
    let url = '';
    {
      await using served = await serveSandbox({ hostname: '0.0.0.0' });
      url = served.url;
      expect((await fetch(`${url}/inventory`)).status).toBe(401);
    }
    expect(new URL(url).hostname).toBe('127.0.0.1');
    await expect(fetch(url)).rejects.toThrow('fetch failed');
  });

  test('leaves the global Request and Response of the process alone', async () => {
    const before = [globalThis.Request, globalThis.Response];
    await started();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });

  test('tells the page of the latest of many requests at once', async () => {
    const { pageUrl, sandbox } = await started();
    const news = (await fetch(`${pageUrl}page/events`)).body?.pipeThrough(new TextDecoderStream()).getReader();
    let told = (await news?.read())?.value;
    await Promise.all(Array.from({ length: 500 }, () => sandbox.fetch(`${sandbox.baseUrl}/inventory`)));
    await expect.poll(async () => (told += (await news?.read())?.value ?? '')).toContain('"number":500,');
    await news?.cancel();
  });

  test('says plainly that a port is in use', async () => {
    const { url } = await started();
    const port = Number(new URL(url).port);
    await expect(serveSandbox({ port })).rejects.toThrow(
      new SandboxError(`Cannot serve the sandbox at 127.0.0.1:${port}: the port is in use; use another port, or 0 for a free one`),
    );
  });

  test('refuses invalid options', async () => {
    await expect(serveSandbox({ port: 70_000 })).rejects.toThrow(
      'Cannot use 70000 as `port`: it must be a number of at most 65535, or 0 for a free port',
    );
    await expect(serveSandbox({ window: 0 })).rejects.toThrow('Cannot use 0 as `window`');
    await expect(serveSandbox(JSON.parse('{"prt":3}'))).rejects.toThrow(
      'Cannot use `prt` as an option: the options are port, hostname, db, cors, pets, keys',
    );
  });

  test('says why it cannot listen at another address', async () => {
    await expect(serveSandbox({ hostname: '203.0.113.9' })).rejects.toThrow(/^Cannot serve the sandbox at 203\.0\.113\.9:0: /);
  });

  test('`close` ends open connections and frees the port, even if it is called twice', async () => {
    const served = await started({ faults: [{ fail: 'stall' }] });
    const stalled = fetch(`${served.url}/inventory`);
    const rejected = expect(stalled).rejects.toThrow('fetch failed');
    await expect.poll(() => served.sandbox.requests.length).toBe(1);
    await Promise.all([served.close(), served.close()]);
    await rejected;
    await expect(fetch(served.url)).rejects.toThrow('fetch failed');
  });
});

describe('serveSandbox breaks real sockets', () => {
  test.each(['reset', 'lost'] as const)('%s resets the connection', async (fail) => {
    const { url } = await started({ faults: [{ fail }] });
    const failed = await fetch(`${url}/inventory`).catch((error: unknown) => error);
    expect(failed).toMatchObject({ cause: { code: 'ECONNRESET' } });
  });

  test('lost applies the change first', async () => {
    const { url, keys, sandbox } = await started({ pets: 1, faults: [{ fail: 'lost' }] });
    const headers = { authorization: `Bearer ${keys.free}` };
    await fetch(`${url}/inventory/1`, { method: 'PATCH', headers, body: '{"quantity":77}' }).catch(() => {});
    expect(sandbox.inventory.get(1)?.quantity).toBe(77);
  });

  test.each(['GET', 'HEAD'])('cut and stall-body break a %s whose answer has no body before its headers', async (method) => {
    const body = { status: 503, body: '' };
    const faults = [
      { at: 1, fail: 'cut', ...body },
      { at: 2, fail: 'stall-body', ...body },
    ] as const;
    const { url } = await started({ faults });
    const cut = await fetch(`${url}/inventory`, { method }).catch((error: unknown) => error);
    expect(cut).toMatchObject({ message: 'fetch failed' });
    await expect(fetch(`${url}/inventory`, { method, signal: AbortSignal.timeout(200) })).rejects.toThrow('timeout');
  });

  test.each([
    ['that was read', {}],
    ['that was not read', { method: 'POST', body: 'x'.repeat(1_000_000) }],
  ])('cut announces more bytes than it sends and closes without a reset, after a request %s', async (_which, init) => {
    const { url, keys } = await started({ faults: [{ fail: 'cut' }] });
    const answer = await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` }, ...init });
    const body = await answer.arrayBuffer().catch((error: unknown) => error);
    expect(Number(answer.headers.get('content-length'))).toBeGreaterThan(50);
    expect(body).toMatchObject({ message: 'terminated', cause: { code: 'UND_ERR_SOCKET' } });
  });

  test('stall-body stops in the middle and keeps the connection', async () => {
    const { url, keys } = await started({ faults: [{ fail: 'stall-body' }] });
    const leave = new AbortController();
    const answer = await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` }, signal: leave.signal });
    const reader = answer.body?.getReader();
    const first = await reader?.read();
    const second = Promise.resolve(reader?.read().catch((error: unknown) => error));
    expect([first?.value?.byteLength, await within(100, second)]).toEqual([expect.toSatisfy((bytes) => bytes > 10), 'too late']);
    leave.abort();
    expect(await second).toMatchObject({ name: 'AbortError' });
  });
});

describe('serveSandbox checks the Host header', () => {
  test.each([
    ['localhost:80', 401],
    ['localhost.:80', 401],
    ['pets.localhost.', 401],
    ['sandbox:8080', 401],
    ['shop.example', 401],
    ['evil.example', 421],
    ['evil.example.', 421],
    ['removed.example', 421],
  ])('a request for %s gets %i', async (host, status) => {
    const { url, sandbox } = await started({ domains: ['shop.example', 'removed.example'] });
    sandbox.domains.remove('removed.example');
    const head = `GET /v1/inventory HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
    expect(await rawAnswer(url, head)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  test('a request for the hostname of the options is served, however that is capitalised', async () => {
    // This name of 127.0.0.1 has a letter and needs no DNS.
    const { url } = await started({ hostname: '0X7F.0.0.1' });
    const head = 'GET /v1/inventory HTTP/1.1\r\nHost: 0x7f.0.0.1\r\nConnection: close\r\n\r\n';
    expect(await rawAnswer(url, head)).toMatch(/^HTTP\/1.1 401 /);
  });
});

describe('serveSandbox takes requests as every server does', () => {
  test.each([
    ['with a whole address, as a proxy sends it', 'GET http://127.0.0.1/v1/inventory HTTP/1.1\r\nHost: localhost', '401'],
    [
      'with the whole address of a domain, which counts in place of Host',
      'GET http://shop.example/v1/x HTTP/1.1\r\nHost: evil.example',
      '401',
    ],
    ['with the whole address of a page', 'GET http://localhost/ HTTP/1.1\r\nHost: localhost', '200'],
    ['with the whole address of another host', 'GET http://evil.example/v1/inventory HTTP/1.1\r\nHost: localhost', '421'],
    ['of HTTP/1.0, which has no Host', 'GET /v1/inventory HTTP/1.0', '401'],
    ['with an empty Host', 'GET /v1/inventory HTTP/1.1\r\nHost:', '401'],
  ])('%s', async (_what, head, status) => {
    const { url } = await started({ domains: ['shop.example'] });
    expect(await rawAnswer(url, `${head}\r\nConnection: close\r\n\r\n`)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });
});

describe('serveSandbox with odd clients', () => {
  test('1,000 connections at once are all answered', async () => {
    const { url } = await started();
    const head = 'GET /v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => rawAnswer(url, head)));
    expect(answers.filter((answer) => answer.startsWith('HTTP/1.1 401 '))).toHaveLength(1_000);
  });

  test('a body of 10 MB is refused, and the next request is answered', async () => {
    const { url, keys } = await started();
    const headers = { authorization: `Bearer ${keys.free}` };
    const body = 'x'.repeat(10_000_000);
    const status = await fetch(`${url}/inventory/1`, { method: 'PATCH', headers, body }).then(
      ({ status }) => status,
      () => 'closed',
    );
    expect(status).toBeOneOf([413, 'closed']);
    expect((await fetch(`${url}/inventory`, { headers })).status).toBe(200);
  });

  test('a request that is cut in the middle affects no other client', async () => {
    const { url, keys, sandbox } = await started();
    const { port } = new URL(url);
    const head = `PATCH /v1/inventory/1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${keys.free}\r\nContent-Length: 900\r\n\r\n{"quan`;
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(head, () => socket.destroy()));
    onTestFinished(() => void socket.destroy());
    await expect.poll(() => sandbox.requests.at(0)?.status).toBe(400);
    expect((await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } })).status).toBe(200);
  });

  test.each([
    'BREW /v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'TRACE /v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'GET //v1//inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'GET /v1/%E0%A4%A HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'GET http://evil.example/v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'GET /v1/inventory HTTP/1.1\r\nHost: \x01\r\nConnection: close\r\n\r\n',
    'GET /v1/inventory HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
    'GET /v1/inventory HTTP/1.0\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    'nonsense\r\n\r\n',
  ])('%j gets an answer of the 4xx kind', async (head) => {
    const { url } = await started();
    expect(await rawAnswer(url, head)).toMatch(/^HTTP\/1\.1 4\d\d /);
  });

  test('a method that fetch does not allow gets an Error body', async () => {
    const { url } = await started();
    const answer = await rawAnswer(url, 'TRACE /v1/inventory HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    expect(answer).toMatch(/"code":"(bad_request|missing_key)"/);
  });

  test('any bytes get an answer or a closed connection, and the next client is served', async () => {
    const { url } = await started();
    const piece = fc.oneof(
      fc.constantFrom(
        'GET ',
        'PATCH ',
        '/v1/inventory',
        '/v1/inventory/1',
        ' HTTP/1.1',
        '\r\n',
        '\r\n\r\n',
        'Host: localhost',
        'Content-Length: 5',
      ),
      fc.string({ unit: 'binary', maxLength: 20 }),
    );
    const property = fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
      const answer = await rawAnswer(url, pieces.join(''), { isHalfClosed: true });
      expect(answer === '' || /^HTTP\/1\.1 [24]\d\d /.test(answer)).toBe(true);
    });
    await fc.assert(property, { numRuns: 150, seed: 20_261_121 });
    expect((await fetch(`${url}/inventory`)).status).toBe(401);
  });
});
