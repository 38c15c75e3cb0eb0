import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { asked, patch } from './ask.ts';

describe('the fetch of a sandbox', () => {
  test('accepts a string, a URL and a Request', async () => {
    const { fetch, baseUrl, keys } = createSandbox();
    const init = { headers: { authorization: `Bearer ${keys.free}` } };
    const address = `${baseUrl}/inventory`;
    const answers = [await fetch(address, init), await fetch(new URL(address), init), await fetch(new Request(address, init))];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });

  test('reaches only its own sandbox', async () => {
    const [one, other] = [createSandbox(), createSandbox()];
    const failed = await one.fetch(`${other.baseUrl}/inventory`).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(TypeError);
    expect(failed).toMatchObject({ message: 'fetch failed', cause: { code: 'ENOTFOUND' } });
  });

  test('sends nothing with a signal that is already aborted', async () => {
    const sandbox = createSandbox();
    const reason = new Error('never mind');
    await expect(asked(sandbox, '/inventory', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(sandbox.requests).toEqual([]);
  });

  test('rejects at once after an abort during the latency, although the request arrives', async () => {
    const sandbox = createSandbox({ latency: 100 });
    sandbox.clock.hold();
    const leave = new AbortController();
    const answer = asked(sandbox, '/inventory/1', { ...patch({ quantity: 9 }), signal: leave.signal });
    leave.abort(new Error('too slow'));
    await expect(answer).rejects.toThrow('too slow');
    sandbox.clock.advance(100);
    await expect.poll(() => sandbox.requests[0]?.status).toBe(200);
  });

  test('ends the body with the reason of an abort while it is read', async () => {
    const sandbox = createSandbox({ pets: 20_000 });
    const leave = new AbortController();
    const answer = await asked(sandbox, '/inventory', { signal: leave.signal });
    const reader = answer.body?.getReader();
    await reader?.read();
    leave.abort(new Error('enough read'));
    await expect(reader?.read()).rejects.toThrow('enough read');
  });

  test('fails as every fetch if the body of the request fails, and does not count that as a failure of its own', async () => {
    const sandbox = createSandbox();
    const cause = new Error('no more');
    const body = new ReadableStream({ pull: (controller) => controller.error(cause) });
    const failed = await asked(sandbox, '/inventory/1', Object.assign({ method: 'PATCH', body }, { duplex: 'half' })).catch(
      (error) => error,
    );
    expect(failed).toMatchObject({ name: 'TypeError', message: 'fetch failed', cause });
    expect(sandbox.report().byStatus).toEqual({ 400: 1 });
  });

  test('reads updates and follows redirects where a Request has no `body`, as in Firefox', async () => {
    const sandbox = createSandbox({ pets: 1, domains: ['new.example', { from: 'old.example', to: 'new.example' }] });
    const headers = { authorization: `Bearer ${sandbox.keys.free}` };
    vi.spyOn(Request.prototype, 'body', 'get').mockReturnValue(JSON.parse('{}').body);
    onTestFinished(() => void vi.restoreAllMocks());
    const updated = await asked(sandbox, '/inventory/1', patch({ quantity: 9 }));
    const empty = await asked(sandbox, '/inventory/1', { method: 'PATCH' });
    const moved = await sandbox.fetch('https://old.example/v1/inventory', { headers });
    expect([updated.status, empty.status, moved.url]).toEqual([200, 400, 'https://new.example/v1/inventory']);
  });

  test('allows an unread body to be cancelled', async () => {
    const answer = await asked(createSandbox({ pets: 20_000 }), '/inventory');
    await answer.body?.cancel();
    await expect(answer.text()).rejects.toThrow(TypeError);
  });
});

describe('latency', () => {
  test.each([
    ['the same for all', 80, 80, 80],
    ['between two ends', { fromMs: 20, toMs: 90 }, 20, 90],
    ['log-normal', { medianMs: 40, p99Ms: 41 }, 38, 42],
    ['a function', () => 33, 33, 33],
  ])('%s takes as long as it says', async (_name, latency, fromMs, toMs) => {
    vi.useFakeTimers({ now: 0 });
    const sandbox = createSandbox({ latency });
    const took = Promise.all(Array.from({ length: 20 }, () => asked(sandbox, '/inventory').then(() => Date.now())));
    await vi.advanceTimersByTimeAsync(200);
    vi.useRealTimers();
    const times = await took;
    expect(Math.min(...times)).toBeGreaterThanOrEqual(fromMs);
    expect(Math.max(...times)).toBeLessThanOrEqual(toMs + 2);
  });
});

describe('custom domains', () => {
  const ask = (sandbox: ReturnType<typeof createSandbox>, address: string, init?: RequestInit) =>
    sandbox.fetch(address, { headers: { authorization: `Bearer ${sandbox.keys.free}` }, ...init });

  test('several domains serve the project, and a removed one stops at once', async () => {
    const sandbox = createSandbox({ domains: ['stock.example.com', 'shop.example'] });
    const before = [await ask(sandbox, 'https://stock.example.com/v1/inventory'), await ask(sandbox, 'https://SHOP.example/v1/inventory')];
    const wasServed = sandbox.domains.has('Shop.example');
    const removed = sandbox.domains.remove('Shop.example');
    expect(before.map(({ status }) => status)).toEqual([200, 200]);
    await expect(ask(sandbox, 'https://shop.example/v1/inventory')).rejects.toThrow('fetch failed');
    expect([wasServed, removed, sandbox.domains.list()]).toEqual([true, true, ['stock.example.com']]);
  });

  test('a redirect answers with its status and location, and is followed unless the caller forbids it', async () => {
    const sandbox = createSandbox({ domains: ['new.example', { from: 'old.example', to: 'new.example' }] });
    const manual = await ask(sandbox, 'https://old.example/v1/inventory?a=1', { redirect: 'manual' });
    expect([manual.status, manual.headers.get('location')]).toEqual([301, 'https://new.example/v1/inventory?a=1']);
    const local = await ask(sandbox, 'http://old.example:4010/v1/inventory', { redirect: 'manual' });
    expect(local.headers.get('location')).toBe('http://new.example:4010/v1/inventory');
    expect((await ask(sandbox, 'https://old.example/v1/inventory')).status).toBe(401);
    await expect(ask(sandbox, 'https://old.example/v1/inventory', { redirect: 'error' })).rejects.toThrow('fetch failed');
  });

  test('a redirect loop ends', async () => {
    const sandbox = createSandbox({
      domains: [
        { from: 'a.example', to: 'http://b.example/', status: 308 },
        { from: 'b.example', to: 'a.example' },
      ],
    });
    await expect(ask(sandbox, 'http://a.example/v1/inventory')).rejects.toThrow('fetch failed');
  });
});

describe('a redirect', () => {
  /** Redirects `/moved` with this status, and echoes every other request. */
  const moving = (status: number) => async (request: Request) => {
    if (request.url.endsWith('/moved')) return new Response(null, { status, headers: { location: '/v1/echo#part' } });
    return new Response(`${request.method} ${await request.text()} ${request.headers.get('content-type')}`);
  };

  test.each([
    [301, 'PATCH', 'PATCH {} application/json'],
    [302, 'PUT', 'PUT {} application/json'],
    [307, 'POST', 'POST {} application/json'],
    [308, 'DELETE', 'DELETE {} application/json'],
    [301, 'POST', 'GET  null'],
    [302, 'POST', 'GET  null'],
    [303, 'PATCH', 'GET  null'],
  ])('with %i keeps or changes the method %s and the body as the Fetch standard says', async (status, method, seen) => {
    const sandbox = createSandbox({ routes: moving(status) });
    const headers = { authorization: `Bearer ${sandbox.keys.free}`, 'content-type': 'application/json' };
    const answer = await asked(sandbox, '/moved', { method, headers, body: '{}' });
    expect(await answer.text()).toBe(seen);
  });

  test('of an update to another domain is sent with its body', async () => {
    const sandbox = createSandbox({ domains: ['new.example', { from: 'old.example', to: 'new.example', status: 308 }] });
    const answer = await sandbox.fetch('http://old.example/v1/inventory/1', patch({ quantity: 5 }));
    expect([answer.status, sandbox.requests.map(({ method, path }) => `${method} ${path}`)]).toEqual([401, ['PATCH /inventory/1']]);
  });

  test('of a form sends a form that can be read', async () => {
    const sandbox = createSandbox({
      routes: async (request) => (request.url.endsWith('/moved') ? moving(307)(request) : Response.json([...(await request.formData())])),
    });
    const body = new FormData();
    body.append('name', 'Rex');
    expect(await (await asked(sandbox, '/moved', { method: 'POST', body })).json()).toEqual([['name', 'Rex']]);
  });

  test('sends a form as it was sent before, with a Content-Type of the caller', async () => {
    const sent: (string | null)[][] = [];
    const sandbox = createSandbox({
      routes: async (request) => {
        sent.push([request.headers.get('content-type'), await request.text()]);
        return sent.length === 1 ? moving(307)(request) : Response.json({});
      },
    });
    const body = new FormData();
    body.append('name', 'Rex');
    const headers = { authorization: `Bearer ${sandbox.keys.free}`, 'content-type': 'text/plain' };
    await asked(sandbox, '/moved', { method: 'POST', body, headers });
    expect(sent).toEqual([['text/plain', expect.stringContaining('Rex')], sent[0]]);
  });

  test('sends an empty text again', async () => {
    expect(await (await asked(createSandbox({ routes: moving(307) }), '/moved', { method: 'POST', body: '' })).text()).toBe(
      'POST  text/plain;charset=UTF-8',
    );
  });

  test('of a stream fails, unless the body is dropped', async () => {
    const stream: RequestInit & { duplex: 'half' } = { method: 'POST', body: new Blob(['{}']).stream(), duplex: 'half' };
    await expect(asked(createSandbox({ routes: moving(307) }), '/moved', stream)).rejects.toThrow('fetch failed');
    const again = { ...stream, body: new Blob(['{}']).stream() };
    expect(await (await asked(createSandbox({ routes: moving(303) }), '/moved', again)).text()).toBe('GET  null');
  });

  test('is only followed with a redirect status', async () => {
    const answers = await Promise.all([300, 304].map((status) => asked(createSandbox({ routes: moving(status) }), '/moved')));
    expect(answers.map(({ status, redirected }) => [status, redirected])).toEqual([
      [300, false],
      [304, false],
    ]);
  });

  test('to an invalid address fails', async () => {
    const sandbox = createSandbox({ routes: () => new Response(null, { status: 302, headers: { location: 'http://[' } }) });
    await expect(asked(sandbox, '/moved')).rejects.toThrow('fetch failed');
  });

  test('is visible in `url` and `redirected` of the answer', async () => {
    const sandbox = createSandbox({ routes: moving(302) });
    const answers = [await asked(sandbox, '/echo?a=1#part'), await asked(sandbox, '/moved')];
    expect(answers.map(({ url, redirected }) => [url, redirected])).toEqual([
      [`${sandbox.baseUrl}/echo?a=1`, false],
      [`${sandbox.baseUrl}/echo`, true],
    ]);
    const clones = answers.map((answer) => answer.clone().clone());
    expect(clones.map(({ url, redirected }) => [url, redirected])).toEqual(answers.map(({ url, redirected }) => [url, redirected]));
    expect(await Promise.all(clones.map((clone) => clone.text()))).toEqual(await Promise.all(answers.map((answer) => answer.text())));
  });
});
