import { getEventListeners } from 'node:events';
import { Readable } from 'node:stream';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import ky from 'ky';
import { PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { chunked, failure, json, networkError, text } from '../support/answers.ts';
import { KEY, scriptedClient } from '../support/client.ts';
import { collectGarbage } from '../support/garbage.ts';
import { rejectionOf, soFar } from '../support/outcome.ts';
import { type Answering, hang, type SeenRequest } from '../support/scripted-fetch.ts';
import { holdTime } from '../support/time.ts';
import { nextTurn, watchUnhandled } from '../support/unhandled.ts';

holdTime();
const unhandled = watchUnhandled();

/** What a promise gives once all timers have run. */
async function inTheEnd<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await vi.runAllTimersAsync();
  return promise;
}

/** Types of Node do not know of `duplex`. */
function streamed(body: ReadableStream): object {
  return { body, duplex: 'half' };
}

async function* pieces(): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode('text');
}

async function* failing(): AsyncIterable<Uint8Array> {
  yield new TextEncoder().encode('half');
  throw new Error('no more');
}

/** The text of a body as it is read on its way. */
async function textSent(request: SeenRequest | undefined): Promise<string> {
  const body: unknown = request?.body;
  if (body instanceof ReadableStream) return new Response(body).text();
  let text = '';
  if (isIterable(body)) for await (const chunk of body) text += new TextDecoder().decode(chunk);
  return text;
}

function isIterable(body: unknown): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body;
}

function refuse(): never {
  throw networkError('ECONNREFUSED');
}

function reset(): never {
  throw networkError('ECONNRESET', 'read ECONNRESET');
}

function locked(): ReadableStream {
  const stream = chunked(['text']);
  stream.getReader();
  return stream;
}

async function readBefore(): Promise<ReadableStream> {
  const stream = chunked(['text', 'more']);
  const reader = stream.getReader();
  await reader.read();
  reader.releaseLock();
  return stream;
}

async function cancelled(): Promise<ReadableStream> {
  const stream = chunked(['text']);
  await stream.cancel();
  return stream;
}

async function bodyOfRead(): Promise<ReadableStream | null> {
  const response = new Response('text');
  await response.text();
  return response.body;
}

async function readableOfNode(spend: (readable: Readable) => unknown): Promise<Readable> {
  const readable = Readable.from(['text']);
  await spend(readable);
  return readable;
}

describe('petstore.fetch', () => {
  test('sends the given request below the address, with the key and the headers of the client', async () => {
    const { client, seen } = scriptedClient([() => json(201, { id: 1 })], { headers: { 'x-shop': 'a', 'x-both': 'client' } });
    const response = await client.fetch('/store/orders?dry=1', {
      method: 'post',
      body: '{"petId":42}',
      headers: { 'Content-Type': 'application/json', 'X-Both': 'call' },
      cache: 'no-store',
    });
    expect([response.status, await response.json()]).toEqual([201, { id: 1 }]);
    expect(seen).toMatchObject([{ url: `${client.baseUrl}/store/orders?dry=1`, method: 'POST', body: '{"petId":42}', redirect: 'manual' }]);
    expect(seen[0]?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'x-shop': 'a',
      'x-both': 'call',
      accept: '*/*',
    });
  });

  test.each([
    ['a string', KEY],
    ['a function', () => KEY],
  ])('shows no key that its caller put into the path, given as %s', async (_form, apiKey) => {
    const { client } = scriptedClient([() => json(503, {}), refuse], { apiKey, maxRetries: 1 });
    const shown: unknown[] = [];
    client.on('request', ({ path }) => shown.push(path));
    const failure = await inTheEnd(rejectionOf(client.fetch(`/keys/${KEY}?key=${KEY}`)));
    expect(shown).toEqual(['/keys/***', '/keys/***']);
    expect(failure).toMatchObject({ message: expect.stringContaining('GET /keys/***') });
    expect(String(failure)).not.toContain(KEY);
  });

  test('shows no part of a key with a question mark that its caller put into the path', async () => {
    const apiKey = 'part-one?part-two';
    const { client } = scriptedClient([() => json(503, {}), refuse], { apiKey, maxRetries: 1 });
    const shown: string[] = [];
    client.on('request', ({ path }) => shown.push(path));
    client.on('retry', ({ error }) => shown.push(error.message));
    shown.push(String(await inTheEnd(rejectionOf(client.fetch(`/keys/${apiKey}`)))));
    expect(shown.map((text) => [text.includes('/keys/***'), text.includes('part-one')])).toEqual(Array(4).fill([true, false]));
  });

  test('shows no key that begins with a slash and that its caller gave as the path', async () => {
    const apiKey = '/base64+key/of+a+caller=';
    const { client } = scriptedClient([() => json(404, {})], { apiKey });
    const shown: unknown[] = [];
    client.on('request', ({ path }) => shown.push(path));
    await client.fetch(apiKey);
    expect(shown).toEqual(['***']);
  });

  test('passes on the other options of fetch', async () => {
    const fetch = vi.fn(async (..._given: unknown[]) => json(200, {}));
    const { client } = scriptedClient([], { fetch });
    await client.fetch('/a', { cache: 'no-store', credentials: 'include' });
    await client.fetch(new Request(`${client.baseUrl}/b`, { cache: 'reload', redirect: 'follow' }));
    await client.fetch('/c', { priority: 'low' });
    const inits = fetch.mock.calls.map(([, init]) => init);
    expect(inits).toMatchObject([
      { cache: 'no-store', credentials: 'include' },
      { cache: 'reload', redirect: 'manual' },
      { method: 'GET' },
    ]);
    expect(inits[2]).not.toHaveProperty('priority');
  });

  test('passes on the options of a Request, also that its page is not to be named', async () => {
    const fetch = vi.fn(async (..._given: unknown[]) => json(200, {}));
    const { client } = scriptedClient([], { fetch });
    const options = {
      cache: 'no-cache',
      credentials: 'omit',
      keepalive: true,
      mode: 'same-origin',
      referrer: '',
      referrerPolicy: 'origin',
    } as const;
    await client.fetch(new Request(`${client.baseUrl}/a`, options));
    expect(fetch.mock.calls[0]?.[1]).toMatchObject(options);
  });

  test('does not repeat the default values of a Request, which some runtimes refuse', async () => {
    const fetch = vi.fn(async (..._given: unknown[]) => json(200, {}));
    const { client } = scriptedClient([], { fetch });
    await client.fetch(new Request(`${client.baseUrl}/a`));
    const init: unknown = fetch.mock.calls[0]?.[1];
    expect(Object.keys(Object(init)).sort()).toEqual(['headers', 'method', 'redirect', 'signal']);
  });

  test('is bound to its client, and always the same function', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const { fetch } = client;
    await fetch('pets/42');
    expect([fetch === client.fetch, seen[0]?.url]).toEqual([true, `${client.baseUrl}/pets/42`]);
  });

  test('takes a URL and a Request, whose body can be sent again, and whose parts `init` replaces', async () => {
    const { client, seen } = scriptedClient([() => json(200, {}), () => failure(500), () => json(200, {})]);
    await client.fetch(new URL(`${client.baseUrl}/pets`));
    await inTheEnd(client.fetch(new Request(`${client.baseUrl}/pets/1`, { method: 'PUT', body: 'text', headers: { 'x-a': '1' } })));
    await client.fetch(new Request(`${client.baseUrl}/pets/2`, { method: 'PUT', body: 'text' }), {
      method: 'POST',
      body: 'other',
      headers: {},
    });
    expect(seen.map(({ method, url }) => `${method} ${url.slice(client.baseUrl.length)}`)).toEqual([
      'GET /pets',
      'PUT /pets/1',
      'PUT /pets/1',
      'POST /pets/2',
    ]);
    const bodies = await Promise.all(
      seen.map(({ body }) => new Response(typeof body === 'string' || body instanceof ArrayBuffer ? body : '').text()),
    );
    expect(bodies).toEqual(['', 'text', 'text', 'other']);
    expect(seen[2]?.headers).toMatchObject({ 'content-type': 'text/plain;charset=UTF-8', 'x-a': '1' });
  });

  test.each([200, 204, 205, 301, 304, 400, 401, 404, 409, 418, 501])(
    'gives the Response of a %i as it is, after one request',
    async (status) => {
      const body = [204, 205, 304].includes(status) ? null : 'text';
      const { client, seen } = scriptedClient([() => text(status, body, { 'x-a': '1', location: 'https://elsewhere.test/' })]);
      const response = await client.fetch('/pets/42');
      expect([response.status, response.ok, response.headers.get('x-a'), await response.text()]).toEqual([
        status,
        status < 300,
        '1',
        body ?? '',
      ]);
      expect(seen).toHaveLength(1);
    },
  );

  test.each([199, 600])('gives the status %i and the text of an answer for which no Response can be made', async (status) => {
    const answer = Object.defineProperty(text(200, 'text'), 'status', { value: status });
    const { client } = scriptedClient([() => answer], { maxRetries: 0 });
    const response = await client.fetch('/pets');
    expect([response.status, await response.text()]).toEqual([status, 'text']);
  });

  test('gives a reason phrase beyond Latin-1, as fetch does, and sends again after a 429 that has one', async () => {
    const say = (response: Response, reason: string) => Object.defineProperty(response, 'statusText', { value: reason });
    const { client } = scriptedClient([
      () => say(failure(429, { 'retry-after': '1' }), '请求过多'),
      () => say(text(201, 'text'), '作成しました'),
    ]);
    const response = await inTheEnd(client.fetch('/pets', { method: 'POST' }));
    expect([response.status, response.statusText, response.clone().statusText, await response.text()]).toEqual([
      201,
      '作成しました',
      '作成しました',
      'text',
    ]);
  });

  test.each([204, 205, 304])('gives no body with the status %i, which allows none, even if a fetch gives one', async (status) => {
    const answer = Object.defineProperty(text(200, 'text'), 'status', { value: status });
    const { client } = scriptedClient([() => answer], { maxRetries: 0 });
    const response = await client.fetch('/pets');
    expect([response.status, await response.text()]).toEqual([status, '']);
  });

  test.each([200, 404])('gives no body with the %i of a HEAD', async (status) => {
    const { client } = scriptedClient([() => text(status, null)]);
    expect(await client.fetch('/pets/42', { method: 'HEAD' })).toMatchObject({ status, body: null });
  });

  test('gives the address of the answer, which a clone has too', async () => {
    const answer = Object.defineProperty(json(200, { id: 1 }), 'url', { value: 'https://shop.example/v1/pets' });
    const { client } = scriptedClient([() => answer]);
    const response = await client.fetch('/pets');
    const clone = response.clone();
    expect([response.url, clone.url, clone.clone().url]).toEqual(Array(3).fill('https://shop.example/v1/pets'));
    expect([await response.json(), await clone.json()]).toEqual([{ id: 1 }, { id: 1 }]);
  });

  test.each(['https://elsewhere.test/v1/pets', '//elsewhere.test/pets', '/..%2f..%2fadmin', '/%2e%2e/admin', '..\\admin'])(
    'refuses %s, and sends nothing',
    async (input) => {
      const { client, seen, log } = scriptedClient([() => json(200, {})]);
      expect(await rejectionOf(client.fetch(input))).toMatchObject({ name: 'InvalidArgumentError', argument: 'input', operation: 'fetch' });
      expect([seen, log]).toEqual([[], []]);
    },
  );

  test.each<[unknown, string]>([
    [undefined, 'undefined'],
    [null, 'null'],
    [42, '42'],
    [Symbol('x'), 'Symbol(x)'],
    [['/pets'], 'an array'],
    [{ url: 'https://elsewhere.test/v1', method: 'GET' }, 'an object'],
    [{ toString: () => '/pets' }, 'an object'],
    [new Response('text'), 'an object'],
  ])('refuses %o, which is no address, and sends nothing', async (input, shown) => {
    const { client, seen, log } = scriptedClient([() => json(200, {})]);
    expect(await rejectionOf(Reflect.apply(client.fetch, undefined, [input]))).toMatchObject({
      name: 'InvalidArgumentError',
      argument: 'input',
      message: `Cannot fetch ${shown}: it must be a path below ${client.baseUrl}, or an address below it`,
    });
    expect([seen, log]).toEqual([[], []]);
  });

  test('takes a URL of another realm, which is no URL of this one', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const address = `${client.baseUrl}/pets`;
    await Reflect.apply(client.fetch, undefined, [runInNewContext('({ href })', { href: address })]);
    expect(seen.map(({ url }) => url)).toEqual([address]);
  });

  test('shows neither credentials nor query of an address that it refuses', async () => {
    const { client } = scriptedClient([() => json(200, {})]);
    const error = await rejectionOf(client.fetch('https://user:pass@elsewhere.test/v1/pets?key=secret'));
    expect(String(error)).toContain('elsewhere.test/v1/pets"');
    expect(String(error)).not.toMatch(/user|pass|secret/);
  });

  test.each<[what: string, init: object, argument: string]>([
    ['a key of its own', { headers: { AUTHORIZATION: 'Bearer mine' } }, 'headers'],
    ['a host of its own', { headers: { host: 'elsewhere.test' } }, 'headers'],
    ['a header that is none', { headers: { 'x-a': 'a\nb' } }, 'init'],
    ['null in place of headers', { headers: null }, 'init'],
    ['a method that fetch refuses', { method: 'CONNECT' }, 'init'],
    ['a mode that fetch refuses', { mode: 'navigate' }, 'init'],
    ['only-if-cached with the default mode', { cache: 'only-if-cached' }, 'init'],
    ['a referrer that is no address', { referrer: 'http://[' }, 'init'],
    ['credentials that fetch does not know', { credentials: 'x' }, 'init'],
    ['a duplex that fetch does not know', { method: 'POST', body: chunked(['text']), duplex: 'full' }, 'init'],
    ['a digest of the answer', { integrity: 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' }, 'integrity'],
    ['a body with GET', { body: 'text' }, 'body'],
    ['a stream with PUT', { method: 'PUT', body: chunked(['text']) }, 'body'],
    ['an iterable with DELETE', { method: 'DELETE', body: pieces() }, 'body'],
  ])('refuses %s, and sends nothing', async (_what, init, argument) => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    expect(await rejectionOf(client.fetch('/pets', init))).toMatchObject({ name: 'InvalidArgumentError', argument, outcome: 'not-sent' });
    expect(seen).toEqual([]);
  });

  test('takes null in place of a method as fetch does', async () => {
    const { client, seen } = scriptedClient([() => json(400, {})]);
    await client.fetch('/pets', Object({ method: null }));
    expect(seen).toMatchObject([{ method: new Request(client.baseUrl, Object({ method: null })).method }]);
  });

  test("takes null in place of a signal as none, also in place of a Request's, as fetch does", async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const aborted = new Request(`${client.baseUrl}/pets`, { signal: AbortSignal.abort() });
    expect((await client.fetch('/pets', { signal: null })).status).toBe(200);
    expect((await client.fetch(aborted, { signal: null })).status).toBe(200);
    expect(seen).toHaveLength(2);
  });

  test('refuses a signal that is none as not sent, like every bad option of a change', async () => {
    const { client, seen } = scriptedClient([]);
    const init = { method: 'DELETE', signal: Object('no signal') };
    expect(await rejectionOf(client.fetch('/pets/1', init))).toMatchObject({
      name: 'ConfigurationError',
      option: 'signal',
      operation: 'fetch',
      outcome: 'not-sent',
    });
    expect(seen).toEqual([]);
  });

  test('refuses a Request with a digest of the answer, since a 429 would not match it and be lost', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const request = new Request(`${client.baseUrl}/pets`, { integrity: 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' });
    const message =
      'Cannot fetch with `integrity`: a 429 would not match it, and fetch would not give its status; check the digest yourself';
    expect(await rejectionOf(client.fetch(request))).toMatchObject({ argument: 'integrity', message });
    expect((await client.fetch(request, { integrity: '' })).status).toBe(200);
    expect(seen).toHaveLength(1);
  });

  test('names the fields of an init that fetch refuses, and not their values', async () => {
    const { client } = scriptedClient([() => json(200, {})]);
    const init = { method: 'POST', referrer: 'https://user:secret@[' };
    expect(await rejectionOf(client.fetch('/pets', init))).toMatchObject({
      message: 'Cannot fetch with method, referrer as given: fetch refuses it',
    });
  });

  test.each<[init: Record<string, unknown>, why: string]>([
    [{ headers: { Authorization: 'x' } }, 'with the header "authorization": the client sets it itself'],
    [{ body: 'text' }, 'with GET and a body: fetch refuses both together'],
    [
      { method: 'PUT', body: chunked(['text']) },
      'with PUT and a stream, which may have to be sent again: give text, bytes or a Blob, or set `maxRetries` to 0',
    ],
  ])('says what is wrong with %o', async (init, why) => {
    const { client } = scriptedClient([() => json(200, {})]);
    expect(await rejectionOf(client.fetch('/pets', init))).toMatchObject({ message: `Cannot fetch ${why}` });
  });

  test('takes a body of null for none, as fetch does', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    await client.fetch('/pets/42', { body: null });
    expect(seen).toMatchObject([{ method: 'GET', body: undefined }]);
  });

  test('keeps the body of a Request next to a body of null, as fetch does', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    await client.fetch(new Request(`${client.baseUrl}/pets`, { method: 'POST', body: 'text' }), { body: null });
    expect(seen[0]?.body).toEqual(new TextEncoder().encode('text').buffer);
  });

  test('takes a stream whose init it has checked unread', async () => {
    const { client, seen } = scriptedClient([() => json(201, {})]);
    const body = chunked(['text']);
    await client.fetch('/pets', { method: 'POST', ...streamed(body) });
    expect([body.locked, await textSent(seen[0])]).toEqual([false, 'text']);
  });

  test.each<[what: string, make: () => unknown]>([
    ['is locked', locked],
    ['was read before', readBefore],
    ['was cancelled', cancelled],
    ['is the body of a Response that was read', bodyOfRead],
    ['is a stream of Node that was read', () => readableOfNode((readable) => readable.toArray())],
    ['is a stream of Node that was destroyed', () => readableOfNode((readable) => readable.destroy())],
  ])('refuses a stream that %s, and sends nothing', async (_what, make) => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const error = await rejectionOf(Reflect.apply(client.fetch, undefined, ['/pets', { method: 'POST', body: await make() }]));
    const message = 'Cannot fetch with this stream as its body: it is locked, or was read before';
    expect(error).toMatchObject({ name: 'InvalidArgumentError', argument: 'body', outcome: 'not-sent', attempts: 0, message });
    expect(seen).toEqual([]);
  });

  test('refuses a Request that has a key or was already read', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const read = new Request(`${client.baseUrl}/pets`, { method: 'PUT', body: 'text' });
    await read.text();
    const broken = new Request(`${client.baseUrl}/pets`, { method: 'PUT', ...streamed(chunked(['a'], 'break')) });
    const withKey = new Request(`${client.baseUrl}/pets`, { headers: { authorization: 'Bearer mine' } });
    expect(await Promise.all([read, broken, withKey].map((request) => rejectionOf(client.fetch(request))))).toMatchObject([
      { argument: 'input' },
      { argument: 'input' },
      { argument: 'headers' },
    ]);
    expect(seen).toEqual([]);
  });

  test('sends a stream as a body if it is never sent again: with POST, or without retries', async () => {
    const { client, seen } = scriptedClient([() => failure(429, { 'retry-after': '1' }), () => json(200, {})]);
    const posted = await inTheEnd(client.fetch('/pets', { method: 'POST', body: chunked(['text']) }));
    const { client: once, seen: seenOnce } = scriptedClient([() => failure(500)], { maxRetries: 0 });
    const put = await once.fetch('/pets', { method: 'PUT', body: chunked(['text']) });
    expect([posted.status, seen.length, put.status, seenOnce.length]).toEqual([429, 1, 500, 1]);
  });

  test.each<[what: string, make: () => unknown]>([
    ['a stream', () => chunked(['half'], 'break')],
    ['an iterable', () => failing()],
    ['a stream of Node', () => Readable.from(failing())],
  ])('takes the failure of %s that is its body neither for an outage nor for a broken connection', async (_what, make) => {
    const reading: Answering = async (request) => {
      await textSent(request).catch((cause: unknown) => {
        throw new TypeError('fetch failed', { cause });
      });
      return json(200, {});
    };
    const { client, log } = scriptedClient([reading]);
    const post = () => rejectionOf(Reflect.apply(client.fetch, undefined, ['/pets', { method: 'POST', body: make() }]));
    const errors = [await post(), await post(), await post(), await post()];
    const message = expect.stringMatching(/^Cannot fetch POST \/pets: .*: the body of the request failed: \S/);
    expect(errors).toMatchObject(Array(4).fill({ name: 'ConnectionError', outcome: 'unknown', attempts: 1, message }));
    expect(log.filter((line) => line.startsWith('gate'))).toEqual([]);
  });

  test('sends parts of bytes of any kind and of text, and no body that has another part', async () => {
    const parts = async function* (...given: unknown[]) {
      yield* given;
    };
    const reading: Answering = async (request) => {
      const text = await textSent(request).catch((cause: unknown) => {
        throw new TypeError('fetch failed', { cause });
      });
      return json(200, { text });
    };
    const { client } = scriptedClient([reading]);
    const post = (body: unknown) => Reflect.apply(client.fetch, undefined, ['/pets', { method: 'POST', body }]);
    const { buffer } = new TextEncoder().encode('b');
    const answer = await post(parts('a', buffer, new DataView(buffer), new Uint8Array(buffer)));
    expect(await answer.json()).toEqual({ text: 'abbb' });
    const message = expect.stringContaining('the body of the request failed: a part of it is neither bytes nor text');
    for (const part of [undefined, null, 5]) expect(await rejectionOf(post(parts('a', part, 'b')))).toMatchObject({ message });
  });

  test('ends the generator that is its body after a part that cannot be sent', async () => {
    const { client } = scriptedClient([
      async (request) => {
        await textSent(request).catch(() => {});
        return json(200, {});
      },
    ]);
    const ended = vi.fn();
    const body = (async function* () {
      try {
        yield 5;
        yield 'more';
      } finally {
        ended();
      }
    })();
    await Reflect.apply(client.fetch, undefined, ['/pets', { method: 'POST', body }]);
    expect(ended).toHaveBeenCalledOnce();
  });

  test('ends a stream that is its body if nobody reads it to its end', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const cancel = vi.fn();
    await client.fetch('/pets', { method: 'POST', ...streamed(new ReadableStream({ cancel }, { highWaterMark: 0 })) });
    const { body } = seen[0] ?? {};
    await (body instanceof ReadableStream ? body.cancel('enough') : undefined);
    expect(cancel).toHaveBeenCalledExactlyOnceWith('enough');
  });

  test('ends a stream that is its body if its reading ends in the middle', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    const cancel = vi.fn();
    const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(1));
    await client.fetch('/pets', { method: 'POST', ...streamed(new ReadableStream({ pull, cancel }, { highWaterMark: 0 })) });
    const reader = seen[0]?.body instanceof ReadableStream ? seen[0].body.getReader() : undefined;
    expect(await reader?.read()).toEqual({ done: false, value: new Uint8Array(1) });
    await reader?.cancel('enough');
    expect(cancel).toHaveBeenCalledExactlyOnceWith('enough');
  });

  test('iterates once over a body that begins anew each time it is iterated', async () => {
    const { client } = scriptedClient([async (request) => json(200, { text: await textSent(request) })]);
    const iterations = [['a', 'b']];
    const body = {
      async *[Symbol.asyncIterator]() {
        yield* iterations.shift() ?? [];
      },
    };
    const answer = await Reflect.apply(client.fetch, undefined, ['/pets', { method: 'POST', body }]);
    expect(await answer.json()).toEqual({ text: 'ab' });
  });

  test('sends the content that a body had when it was given', async () => {
    const { client, seen } = scriptedClient([() => failure(503), () => json(200, {})]);
    const bytes = new TextEncoder().encode('first');
    const fetching = client.fetch('/pets/1', { method: 'PUT', body: bytes });
    bytes.fill(0);
    await inTheEnd(fetching);
    expect(seen.map(({ body }) => body)).toEqual(Array(2).fill(new TextEncoder().encode('first')));
  });

  test.each([
    ['of a buffer', (bytes: Uint8Array<ArrayBuffer>) => bytes.buffer.slice(0), 'a first b'],
    ['of a part of a buffer', (bytes: Uint8Array<ArrayBuffer>) => bytes.subarray(2, 7), 'first'],
    ['that a DataView shows', (bytes: Uint8Array<ArrayBuffer>) => new DataView(bytes.buffer, 2, 5), 'first'],
  ])('sends the bytes %s as they were when it was given', async (_what, bodyOf, expected) => {
    const { client, seen } = scriptedClient([() => failure(503), () => json(200, {})]);
    const body = bodyOf(new TextEncoder().encode('a first b'));
    const fetching = client.fetch('/pets/1', { method: 'PUT', body });
    new Uint8Array(body instanceof ArrayBuffer ? body : body.buffer).fill(0);
    await inTheEnd(fetching);
    const sent = seen.map((request) => (request.body instanceof ArrayBuffer || ArrayBuffer.isView(request.body) ? request.body : ''));
    expect(sent.map((each) => new TextDecoder().decode(typeof each === 'string' ? undefined : each))).toEqual([expected, expected]);
  });

  test('sends the parameters that a form of an address had when it was given', async () => {
    const { client, seen } = scriptedClient([() => json(201, {})]);
    const body = new URLSearchParams({ petId: '1' });
    const fetching = client.fetch('/pets', { method: 'POST', body });
    body.set('petId', '2');
    await fetching;
    expect(String(seen[0]?.body)).toBe('petId=1');
  });

  test('sends a stream from a browser that can, and refuses it in one that would send something else', async () => {
    const duplex = Object.getOwnPropertyDescriptor(Request.prototype, 'duplex') ?? {};
    onTestFinished(() => {
      vi.unstubAllGlobals();
      Object.defineProperty(Request.prototype, 'duplex', duplex);
    });
    vi.stubGlobal('navigator', { userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:153.0) Gecko/20100101 Firefox/153.0' });
    const { client, seen } = scriptedClient([() => json(200, {})], { dangerouslyAllowBrowser: true });
    const post = () => client.fetch('/pets', { method: 'POST', ...streamed(chunked(['text'])) });
    await post();
    Reflect.deleteProperty(Request.prototype, 'duplex');
    expect(await rejectionOf(post())).toMatchObject({ argument: 'body', message: expect.stringContaining('this browser cannot send') });
    expect(seen).toHaveLength(1);
  });

  test('says that a stream is sent in half duplex, without which fetch refuses it', async () => {
    const sent: unknown[] = [];
    const fetch = async (input: string | URL | Request, init?: RequestInit) => {
      sent.push(await new Request(input, init).text());
      return json(200, {});
    };
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: 'https://pets.test/v1', fetch });
    await client.fetch('/pets', { method: 'POST', body: chunked(['te', 'xt']) });
    expect(sent).toEqual(['text']);
  });

  test('sends the entries that a form had when it was given, with the names of its files', async () => {
    const { client, seen } = scriptedClient([() => json(201, {})]);
    const form = new FormData();
    form.append('petId', '1');
    form.append('petId', '2');
    form.append('photo', new Blob(['pixels'], { type: 'image/png' }), 'rex.png');
    const fetching = client.fetch('/pets/1/photos', { method: 'POST', body: form });
    form.set('petId', '3');
    form.delete('photo');
    await fetching;
    const sent = await new Response(seen[0]?.body instanceof FormData ? seen[0].body : '').formData();
    expect(sent.getAll('petId')).toEqual(['1', '2']);
    expect(sent.get('photo')).toMatchObject({ name: 'rex.png', type: 'image/png', size: 6 });
  });
});

describe('an attempt of petstore.fetch', () => {
  test.each(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS'])('is repeated with %s after temporary failures', async (method) => {
    const failures = [() => failure(500), () => failure(502), reset, () => failure(408), () => failure(425)];
    const { client, seen } = scriptedClient([...failures, () => text(200, null)]);
    expect((await inTheEnd(client.fetch('/pets', { method }))).status).toBe(200);
    expect(seen).toHaveLength(6);
  });

  test.each(['POST', 'PATCH'])('is repeated with %s if the request had no effect', async (method) => {
    const answers = [() => failure(429), refuse, () => failure(503, { 'retry-after': '1' }), refuse, () => json(201, {})];
    const { client, seen } = scriptedClient(answers);
    expect((await inTheEnd(client.fetch('/pets', { method, body: '{}' }))).status).toBe(201);
    expect(seen).toHaveLength(5);
  });

  test.each([
    ['a 500', () => failure(500), 500],
    ['a 503 without Retry-After', () => failure(503), 503],
    ['a 408', () => failure(408), 408],
    ['a connection that broke', reset, 'ConnectionError'],
    ['no answer in time', hang, 'TimeoutError'],
  ])('is not repeated with POST after %s', async (_what, answer, result) => {
    const { client, seen } = scriptedClient([answer, () => json(201, {})]);
    const fetching = client.fetch('/pets', { method: 'POST', body: '{}' });
    expect(
      await inTheEnd(
        fetching.then(
          ({ status }) => status,
          ({ name }) => name,
        ),
      ),
    ).toBe(result);
    expect(seen).toHaveLength(1);
  });

  test('closes the gate for all calls of the key with its 429, and waits for it as well', async () => {
    const { client, seen, log } = scriptedClient([() => failure(429, { 'retry-after': '7' }), () => json(200, [])]);
    const startedAtMs = Date.now();
    const fetching = client.fetch('/pets');
    await vi.advanceTimersByTimeAsync(10);
    const listing = client.listInventory();
    await vi.advanceTimersByTimeAsync(6_900);
    expect(seen).toHaveLength(1);
    await inTheEnd(Promise.all([fetching.then((response) => response.text()), listing]));
    expect([seen.length, Date.now() - startedAtMs >= 7_000]).toEqual([3, true]);
    expect(log.slice(0, 4)).toEqual(['request 1 GET /pets', 'response 429', 'gate closed', expect.stringContaining('retry in')]);
  });

  test.each([429, 500, 503])(
    'that is the last one gives its Response of %i with its body, and is settled with its error',
    async (status) => {
      const { client, seen } = scriptedClient([() => failure(status, { 'x-a': 'last' })], { maxRetries: 2 });
      const settled: unknown[] = [];
      client.on('settled', ({ outcome, error }) => settled.push([outcome, error]));
      const response = await inTheEnd(client.fetch('/pets'));
      expect([response.status, response.headers.get('x-a'), await response.json(), seen.length]).toEqual([
        status,
        'last',
        { code: `code_${status}`, message: `message ${status}`, status },
        3,
      ]);
      expect(settled).toEqual([[status === 429 ? 'rejected' : 'unknown', expect.objectContaining({ status, operation: 'fetch' })]]);
    },
  );

  test('is not repeated if the service wants a longer wait than `maxWaitMs`: the 429 is given at once', async () => {
    const { client, seen } = scriptedClient([() => failure(429, { 'retry-after': '600' })]);
    const response = await inTheEnd(client.fetch('/pets'));
    expect([response.status, seen.length]).toEqual([429, 1]);
    expect(await rejectionOf(client.fetch('/pets'))).toMatchObject({ name: 'RateLimitError', status: undefined, outcome: 'not-sent' });
  });

  test('says what could not be done when it fails, without the query', async () => {
    const { client } = scriptedClient([refuse], { maxRetries: 0 });
    const error = await rejectionOf(client.fetch('/pets/42?token=secret', { method: 'DELETE' }));
    expect(error).toMatchObject({ name: 'ConnectionError', code: 'ECONNREFUSED', operation: 'fetch', outcome: 'not-sent', attempts: 1 });
    expect(String(error)).toContain('Cannot fetch DELETE /pets/42: the connection to');
    expect(String(error)).not.toContain('secret');
  });

  test('shows no query if the error of the runtime quotes the address, as that of Deno does', async () => {
    const quoting = ({ url }: SeenRequest) =>
      Promise.reject(new TypeError('fetch failed', { cause: new Error(`error sending request for url (${url}): no route`) }));
    const { client } = scriptedClient([quoting], { maxRetries: 0 });
    const error = await rejectionOf(client.fetch('/pets/42?token=secret'));
    expect(String(error)).toContain('/v1/pets/42): no route');
    expect(inspect(error, { depth: 20 })).not.toContain('secret');
  });

  test('gives an Error body that is too long to be read ahead as a whole, and at once', async () => {
    const { client, seen } = scriptedClient([() => text(503, 'x'.repeat(200_000))]);
    const response = await client.fetch('/pets');
    expect([response.status, (await response.text()).length, seen.length]).toEqual([503, 200_000, 1]);
  });

  test.each([{ chunks: [] }, { chunks: ['{"code":', '"pet_mis'] }])(
    'gives an Error body that breaks after $chunks as far as it came',
    async ({ chunks }) => {
      const left = chunks.map((chunk) => new TextEncoder().encode(chunk));
      const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
        const chunk = left.shift();
        if (chunk) controller.enqueue(chunk);
        else controller.error(new Error('reset'));
      };
      const { client } = scriptedClient([() => new Response(new ReadableStream({ pull }), { status: 404 })]);
      const response = await client.fetch('/pets');
      const read: string[] = [];
      const reading = async () => {
        for await (const bytes of response.body ?? []) read.push(new TextDecoder().decode(bytes));
      };
      expect([response.status, await rejectionOf(reading())]).toMatchObject([404, { name: 'ConnectionError' }]);
      expect(read).toEqual(chunks.length > 0 ? [chunks.join('')] : []);
    },
  );
});

describe('a call of petstore.fetch', () => {
  test('has events like any other call, with its path', async () => {
    const lines: string[] = [];
    const write = (line: string) => lines.push(line);
    const { client } = scriptedClient([() => json(200, {})], { logger: { debug: write, info: write, warn: write, error: write } });
    await (await client.fetch('/pets/42?full=1')).json();
    expect(lines.map((line) => line.replace('petstore-inventory: ', ''))).toEqual([
      'fetch begins (call 1)',
      'fetch sends attempt 1: GET /pets/42 (call 1)',
      'fetch is answered 200 after 0 s (call 1)',
      'fetch ends after 0 s: succeeded (call 1)',
    ]);
  });

  test.each([400, 404])('is settled with its error after a %i', async (status) => {
    const { client } = scriptedClient([() => failure(status)]);
    const settled: unknown[] = [];
    client.on('settled', ({ outcome, error }) => settled.push([outcome, error]));
    await client.fetch('/pets', { method: 'POST' });
    expect(settled).toEqual([['rejected', expect.objectContaining({ status, operation: 'fetch' })]]);
  });

  test('begins synchronously, so that calls keep their order', () => {
    const { client } = scriptedClient([hang]);
    const begun: string[] = [];
    client.on('started', ({ operation }) => begun.push(operation));
    const calls = [client.fetch('/a', { method: 'POST', body: 'text' }), client.listInventory()];
    expect(begun).toEqual(['fetch', 'listInventory']);
    for (const call of calls) call.catch(() => {});
    client.close();
  });

  test('begins synchronously even if the body of its Request is still to be read', async () => {
    const { client, seen } = scriptedClient([() => json(201, {})]);
    const begun: string[] = [];
    client.on('started', ({ operation }) => begun.push(operation));
    const fetching = client.fetch(new Request(`${client.baseUrl}/a`, { method: 'POST', body: 'text' }));
    expect([begun, seen]).toEqual([['fetch'], []]);
    await fetching;
    expect(await new Response(seen[0]?.body instanceof ArrayBuffer ? seen[0].body : '').text()).toBe('text');
  });

  test('ends while the body of its Request is read: by `totalTimeoutMs`, by its signal, or when the client is closed', async () => {
    const { client, seen, log } = scriptedClient([() => json(201, {})], { totalTimeoutMs: 1_000 });
    const stalled = () => new Request(`${client.baseUrl}/a`, { method: 'POST', ...streamed(chunked(['a'], 'stall')) });
    const controller = new AbortController();
    const timedOut = rejectionOf(client.fetch(stalled()));
    await vi.advanceTimersByTimeAsync(600);
    const aborted = rejectionOf(client.fetch(stalled(), { signal: controller.signal }));
    const closed = rejectionOf(client.fetch(stalled()));
    await vi.advanceTimersByTimeAsync(400);
    controller.abort('enough');
    await aborted;
    client.close();
    expect([await timedOut, await aborted, await closed]).toMatchObject([
      { name: 'TimeoutError', operation: 'fetch', outcome: 'not-sent', attempts: 0 },
      'enough',
      { name: 'AbortError' },
    ]);
    expect([seen, log]).toEqual([[], ['settled not-sent 1000', 'settled not-sent 400', 'settled not-sent 400']]);
  });

  test('reads the body of its Request no further after an abort', async () => {
    const { client } = scriptedClient([() => json(201, {})]);
    const controller = new AbortController();
    let pulled = 0;
    const pull = async (body: ReadableStreamDefaultController) => {
      pulled++;
      await new Promise((resolve) => setTimeout(resolve, 10));
      body.enqueue(new Uint8Array(1));
    };
    const request = new Request(`${client.baseUrl}/a`, { method: 'POST', ...streamed(new ReadableStream({ pull })) });
    const aborted = rejectionOf(client.fetch(request, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(15);
    controller.abort('enough');
    await aborted;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(pulled).toBeLessThanOrEqual(3);
  });

  test('causes no unhandled rejection if it is aborted while the form of its Request is read', async () => {
    const { client } = scriptedClient([() => json(201, {})]);
    const controller = new AbortController();
    const form = new FormData();
    form.set('file', new Blob(['text']));
    const request = new Request(`${client.baseUrl}/a`, { method: 'POST', body: form });
    const aborted = rejectionOf(client.fetch(request, { signal: controller.signal }));
    controller.abort('enough');
    expect(await aborted).toBe('enough');
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('reads no Request if it is already over', async () => {
    const { client } = scriptedClient([() => json(201, {})]);
    const request = new Request(`${client.baseUrl}/a`, { method: 'POST', body: 'text' });
    await rejectionOf(client.fetch(request, { signal: AbortSignal.abort() }));
    expect(request.bodyUsed).toBe(false);
  });

  test('ends by the signal of its init, or of its Request', async () => {
    const { client } = scriptedClient([hang]);
    const [own, ofRequest] = [new AbortController(), new AbortController()];
    const calls = [
      rejectionOf(client.fetch('/a', { signal: own.signal })),
      rejectionOf(client.fetch(new Request(`${client.baseUrl}/b`, { signal: ofRequest.signal }))),
    ];
    await vi.advanceTimersByTimeAsync(10);
    own.abort('own');
    ofRequest.abort('of the Request');
    expect(await Promise.all(calls)).toEqual(['own', expect.anything()]);
  });

  test('ends by the signal of its Request even if the caller does not keep that Request', async () => {
    const { client } = scriptedClient([hang]);
    const controller = new AbortController();
    const rejection = rejectionOf(client.fetch(new Request(`${client.baseUrl}/a`, { signal: controller.signal })));
    await vi.advanceTimersByTimeAsync(10);
    await collectGarbage();
    controller.abort();
    expect(await rejection).toMatchObject({ name: 'AbortError' });
  });

  test('that is already aborted sends nothing', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})]);
    expect(await rejectionOf(client.fetch('/a', { signal: AbortSignal.abort('before') }))).toBe('before');
    expect(seen).toEqual([]);
  });

  test('ends by a signal that aborts, or a client that is closed, as the headers of its answer come', async () => {
    const { client, log } = scriptedClient([() => text(200, 'text')]);
    const controller = new AbortController();
    const acts = [() => controller.abort('enough'), () => client.close()];
    client.on('response', () => acts.shift()?.());
    expect(await rejectionOf(client.fetch('/a', { signal: controller.signal }))).toBe('enough');
    expect(await rejectionOf(client.fetch('/b'))).toMatchObject({ name: 'AbortError' });
    expect(log.filter((line) => line.startsWith('settled'))).toEqual(['settled unknown 0', 'settled unknown 0']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('with low priority waits for normal calls', async () => {
    const { client, seen } = scriptedClient([() => json(200, [])], { concurrency: 1 });
    const read = (response: Response) => response.text();
    const calls = [client.listInventory(), client.fetch('/low', { priority: 'low' }).then(read), client.fetch('/normal').then(read)];
    await inTheEnd(Promise.all<unknown>(calls));
    expect(seen.map(({ url }) => url.slice(client.baseUrl.length))).toEqual(['/inventory', '/normal', '/low']);
  });

  test('ends when the client is closed, even while its body is read', async () => {
    const { client } = scriptedClient([() => new Response(chunked(['a', 'b'], 'stall'))]);
    const response = await client.fetch('/a');
    const reading = rejectionOf(response.text());
    await vi.advanceTimersByTimeAsync(10);
    client.close();
    expect(await reading).toMatchObject({ name: 'AbortError' });
    expect(await rejectionOf(client.fetch('/a'))).toMatchObject({ name: 'AbortError' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('fails with a PetStoreError if the connection breaks in the body', async () => {
    const { client, log } = scriptedClient([() => new Response(chunked(['a'], 'break'))]);
    const response = await client.fetch('/a');
    expect(await rejectionOf(response.text())).toMatchObject({ name: 'ConnectionError', code: 'ECONNRESET', operation: 'fetch' });
    expect(log.at(-1)).toBe('settled unknown 0');
  });

  test('fails if the body stalls for `attemptTimeoutMs`', async () => {
    const { client } = scriptedClient([() => new Response(chunked(['a'], 'stall'))], { attemptTimeoutMs: 1_000 });
    const response = await client.fetch('/a');
    expect(await inTheEnd(rejectionOf(response.text()))).toMatchObject({ name: 'TimeoutError' });
  });
});

describe('the slot of petstore.fetch', () => {
  const body = (request: SeenRequest) => new Response(chunked(['a', 'b']), { headers: { 'x-asked': request.url } });

  test.each([
    ['was read', (response: Response) => response.text()],
    ['was cancelled', (response: Response) => response.body?.cancel()],
  ])('is held until the body %s', async (_how, end) => {
    const { client, seen } = scriptedClient([body], { concurrency: 1 });
    const first = await client.fetch('/1');
    const second = client.fetch('/2');
    await vi.advanceTimersByTimeAsync(5_000);
    expect([await soFar(second), seen.length]).toEqual(['pending', 1]);
    await end(first);
    await vi.advanceTimersByTimeAsync(100);
    expect([(await second).status, seen.length]).toEqual([200, 2]);
  });

  test.each([
    ['on a small plan', body],
    ['after a 429 without limit headers', () => new Response(null, { status: 429, headers: { 'retry-after': '1' } })],
  ])('of an answer that has begun counts only towards `concurrency`, %s', async (_when, first) => {
    const { client } = scriptedClient([first, body], { plan: 'free' });
    const responses = Promise.all(Array.from({ length: 20 }, () => client.fetch('/1')));
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await soFar(responses)).toHaveLength(20);
  });

  test('is held no longer than `attemptTimeoutMs` by a body that is not read, which can still be read later', async () => {
    const { client, seen, log } = scriptedClient([body], { concurrency: 1, attemptTimeoutMs: 10_000 });
    const first = await client.fetch('/1');
    const second = client.fetch('/2');
    await vi.advanceTimersByTimeAsync(9_900);
    expect(seen).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(200);
    expect([(await second).status, await first.text(), log.filter((line) => line.startsWith('settled'))]).toEqual([
      200,
      'ab',
      ['settled succeeded 10000'],
    ]);
  });

  test('was freed when a body breaks that is read too late: that is no outage, and no event of the call', async () => {
    const { client, log } = scriptedClient([() => new Response(chunked(['a'], 'break'))], { plan: 'unlimited', attemptTimeoutMs: 1_000 });
    const responses = await inTheEnd(Promise.all(['/1', '/2', '/3'].map((path) => client.fetch(path))));
    await vi.advanceTimersByTimeAsync(1_100);
    for (const response of responses) {
      expect(await rejectionOf(response.text())).toMatchObject({ name: 'ConnectionError', code: 'ECONNRESET' });
      await vi.advanceTimersByTimeAsync(300);
    }
    expect(log.slice(-3)).toEqual(Array(3).fill(expect.stringMatching(/^settled succeeded/)));
  });

  test('is freed at once if the signal aborts before the body is read', async () => {
    const controller = new AbortController();
    const { client } = scriptedClient([body], { concurrency: 1, attemptTimeoutMs: 10_000 });
    const first = await client.fetch('/1', { signal: controller.signal });
    const second = client.fetch('/2');
    controller.abort('enough');
    await vi.advanceTimersByTimeAsync(100);
    expect([await rejectionOf(first.text()), await soFar(second)]).toEqual(['enough', expect.any(Response)]);
  });

  test('of a body that was not read is freed, and the signal still ends a later read', async () => {
    const controller = new AbortController();
    const { client } = scriptedClient([() => new Response(chunked(['a'], 'stall'))], { attemptTimeoutMs: 10_000 });
    const response = await client.fetch('/1', { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(10_100);
    const reading = rejectionOf(response.text());
    await vi.advanceTimersByTimeAsync(100);
    controller.abort('enough');
    expect(await reading).toBe('enough');
  });

  test.each([
    ['its signal aborts', 'enough', (signal: AbortController) => signal.abort('enough')],
    ['the client is closed', { name: 'AbortError' }, (_: unknown, client: PetStoreClient) => client.close()],
  ])('of a body that was not read is freed, and its connection once %s', async (_when, reason, end) => {
    const cancel = vi.fn();
    const { client } = scriptedClient([() => new Response(new ReadableStream({ cancel }))], { attemptTimeoutMs: 10_000 });
    const controller = new AbortController();
    const response = await client.fetch('/1', { signal: controller.signal });
    await vi.advanceTimersByTimeAsync(10_100);
    expect(cancel).not.toHaveBeenCalled();
    end(controller, client);
    expect(cancel).toHaveBeenCalledOnce();
    expect(await rejectionOf(response.text())).toEqual(typeof reason === 'string' ? reason : expect.objectContaining(reason));
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  test('of a body that nobody keeps is freed, and its connection and listener once the body is collected', async () => {
    const cancel = vi.fn();
    const { client } = scriptedClient([() => new Response(new ReadableStream({ cancel }))], { attemptTimeoutMs: 10_000 });
    const { signal } = new AbortController();
    await client.fetch('/1', { signal });
    await vi.advanceTimersByTimeAsync(10_100);
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    await collectGarbage();
    await nextTurn();
    expect(cancel).toHaveBeenCalledOnce();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('is freed if a body is not read further than its first chunk', async () => {
    const { client, seen } = scriptedClient([() => new Response(chunked(['a', 'b', 'c']))], { concurrency: 1, attemptTimeoutMs: 10_000 });
    const reader = (await client.fetch('/1')).body?.getReader();
    await reader?.read();
    const second = client.fetch('/2');
    await vi.advanceTimersByTimeAsync(10_100);
    expect([await soFar(second), seen.length]).not.toContain('pending');
  });

  test('is free at once if there is no body', async () => {
    const { client, seen } = scriptedClient([() => text(204, null)], { concurrency: 1 });
    await Promise.all([client.fetch('/1', { method: 'DELETE' }), client.fetch('/2', { method: 'DELETE' })].map((call) => inTheEnd(call)));
    expect(seen).toHaveLength(2);
  });
});

test('ky can be pointed at petstore.fetch, with a JSON body that is sent again', async () => {
  const sandbox = createSandbox({
    faults: [{ at: 1, status: 500 }],
    routes: async (request) => Response.json({ method: request.method, got: await request.json() }),
  });
  const petstore = new PetStoreClient({ apiKey: sandbox.keys.pro, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
  const api = ky.create({ prefix: petstore.baseUrl, fetch: petstore.fetch, retry: 0, timeout: false });
  expect(await inTheEnd(api.put('pets/1', { json: { name: 'Rex' } }).json())).toEqual({ method: 'PUT', got: { name: 'Rex' } });
  expect(sandbox.report().byStatus).toEqual({ 200: 1, 500: 1 });
});
