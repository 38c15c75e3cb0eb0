import { runInNewContext } from 'node:vm';
import { isPetStoreError, NotFoundError } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import { chunked } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf, thrower } from '../support/outcome.ts';
import { hangDeaf, untyped } from '../support/scripted-fetch.ts';
import { ITEM_TEXT } from './lab.ts';

const unreadable = Object.defineProperty(new Error('x'), 'code', {
  get: () => {
    throw new Error('do not look');
  },
});

/** Not even its prototype can be read. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** A caller's fetch that fails, or whose answer does. */
const BROKEN: [string, () => unknown][] = [
  ['throws a text', () => Promise.reject('gone')],
  ['throws nothing', () => Promise.reject(undefined)],
  ['throws null', () => Promise.reject(null)],
  ['throws an object without a prototype', () => Promise.reject(Object.create(null))],
  ['throws a symbol', () => Promise.reject(Symbol('gone'))],
  ['throws an error that must not be looked at', () => Promise.reject(unreadable)],
  ['throws a revoked proxy', () => Promise.reject(revoked())],
  ['throws an error caused by a revoked proxy', () => Promise.reject(new TypeError('fetch failed', { cause: revoked() }))],
  [
    'gives a body that breaks with a revoked proxy',
    async () => new Response(new ReadableStream({ pull: (body) => body.error(revoked()) })),
  ],
  [
    'throws an error whose name is a number',
    () => Promise.reject(Object.assign(new Error('x'), { name: 7, message: 8, stack: 9, code: 10 })),
  ],
  [
    'throws at once',
    () => {
      throw new RangeError('at once');
    },
  ],
  ['gives a network error', async () => Response.error()],
  ['gives a body that breaks', async () => new Response(chunked(['{"pet'], 'break'))],
  ['gives a body of texts', async () => new Response(new ReadableStream({ start: (body) => body.enqueue('text') }))],
  ['gives a body of numbers', async () => new Response(new ReadableStream({ start: (body) => body.enqueue(7) }))],
];

describe('a fetch that', () => {
  test.each(BROKEN)('%s counts as a failed connection, and leaves an update in doubt', async (_name, give) => {
    const { client } = scriptedClient([], { fetch: untyped(give), maxRetries: 0 });
    const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ name: 'ConnectionError', outcome: 'unknown', attempts: 1 });
    expect(isPetStoreError(error)).toBe(true);
  });

  test('fails in any of these ways is called again', async () => {
    const attempts = BROKEN.map(async ([, give]) => {
      let calls = 0;
      const fetch = untyped(() => (++calls === 1 ? give() : Promise.resolve(new Response(ITEM_TEXT))));
      const { client } = scriptedClient([], { fetch, maxRetries: 1 });
      return (await client.updateInventory(1, { quantity: 5 }).withResponse()).attempts;
    });
    expect(await Promise.all(attempts)).toEqual(BROKEN.map(() => 2));
  });

  test('throws the failure of another call counts as a failed connection, whatever the outcome of that call', async () => {
    const other = new NotFoundError('Cannot update pet 7', { petId: 7, outcome: 'rejected', status: 404 });
    const { client } = scriptedClient([() => Promise.reject(other)], { maxRetries: 0 });
    const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ name: 'ConnectionError', petId: 1, outcome: 'unknown', status: undefined });
    expect(error).toMatchObject({ cause: { name: 'NotFoundError', message: 'Cannot update pet 7' } });
  });

  test('rejects with an error of another realm, as in Jest, causes the same error', async () => {
    const refused = "new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) })";
    const { client } = scriptedClient([() => Promise.reject(runInNewContext(refused))], { maxRetries: 0 });
    const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ code: 'ECONNREFUSED', outcome: 'not-sent' });
    expect(error).toMatchObject({ cause: { name: 'TypeError', message: 'fetch failed', cause: { message: 'no' } } });
  });

  test.each([429, 503, 404])('gives a %i with an unreadable body causes the error of the status, with its headers', async (status) => {
    const { client } = scriptedClient([() => nodeResponse(status, { 'retry-after': '30' })], { maxRetries: 0 });
    expect(await rejectionOf(client.listInventory())).toMatchObject({ status, code: `http_${status}`, retryAfterMs: 30_000 });
  });

  test('gives headers that throw when they are read counts as a failed connection', async () => {
    const headers = { get: thrower };
    const { client } = scriptedClient([], { fetch: untyped(async () => ({ status: 200, headers })), maxRetries: 0 });
    expect(await rejectionOf(client.updateInventory(1, { quantity: 5 }))).toMatchObject({ name: 'ConnectionError', outcome: 'unknown' });
  });

  test('gives an answer without `ok` works: the status counts', async () => {
    const { status, headers, body } = new Response(ITEM_TEXT);
    const { client } = scriptedClient([], { fetch: untyped(async () => ({ status, headers, body })) });
    expect(await client.updateInventory(1, { quantity: 5 })).toMatchObject({ quantity: 5 });
  });

  test('gives a null body counts as one that gave an empty body', async () => {
    const { client } = scriptedClient([() => new Response(null)]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'InvalidResponseError', reason: 'invalid-json' });
  });

  test('gives headers that contradict the body works: the body counts', async () => {
    const headers = { 'content-length': '3', 'content-encoding': 'br', 'content-type': 'image/png', 'transfer-encoding': 'chunked' };
    const { client } = scriptedClient([() => new Response(ITEM_TEXT, { headers })]);
    expect(await client.updateInventory(1, { quantity: 5 })).toMatchObject({ quantity: 5 });
  });

  test('hides a redirect, as browsers do, causes an UnexpectedStatusError and not a ConnectionError', async () => {
    const opaque = Object.defineProperties(new Response(null), {
      status: { value: 0 },
      type: { value: 'opaqueredirect' },
      ok: { value: false },
    });
    const { client } = scriptedClient([() => opaque]);
    const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ name: 'UnexpectedStatusError', status: 0, outcome: 'rejected', attempts: 1 });
  });

  test('ignores its signal cannot hold up a time limit', async () => {
    const { client } = scriptedClient([hangDeaf], { attemptTimeoutMs: 100, maxRetries: 0 });
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'TimeoutError', attempts: 1 });
  });

  test('ignores its signal cannot hold up an abort, and its late answer is dropped', async () => {
    let isDropped = false;
    let answer: (response: Response) => void = () => {};
    const body = new ReadableStream({
      cancel: () => {
        isDropped = true;
      },
    });
    const { client } = scriptedClient([
      () =>
        new Promise((resolve) => {
          answer = resolve;
        }),
    ]);
    const ended = rejectionOf(client.listInventory({ signal: AbortSignal.timeout(50) }));
    expect(await ended).toMatchObject({ name: 'TimeoutError' });
    answer(new Response(body));
    await Promise.resolve().then(() => new Promise((resolve) => setTimeout(resolve, 5)));
    expect(isDropped).toBe(true);
  });

  test('gives a body that ignores its cancellation cannot hold up an abort', async () => {
    const deaf = new ReadableStream({ pull: () => new Promise(() => {}), cancel: () => new Promise(() => {}) });
    const { client } = scriptedClient([() => new Response(deaf)]);
    expect(await rejectionOf(client.listInventory({ signal: AbortSignal.timeout(50) }))).toMatchObject({ name: 'TimeoutError' });
  });

  test('fails with the code of a refused connection after it had connected leaves an update in doubt', async () => {
    const broken = Object.assign(new Error('read EHOSTUNREACH'), { code: 'EHOSTUNREACH', syscall: 'read' });
    const { client } = scriptedClient([() => Promise.reject(new TypeError('fetch failed', { cause: broken }))], { maxRetries: 0 });
    expect(await rejectionOf(client.updateInventory(1, { quantity: 5 }))).toMatchObject({ code: 'EHOSTUNREACH', outcome: 'unknown' });
  });
});

describe('an `apiKey` function that', () => {
  test.each<[string, () => string | Promise<string>]>([
    ['throws', () => Promise.reject(new Error('vault is closed'))],
    ['throws a text', () => Promise.reject('closed')],
    ['gives an empty key', () => ''],
    ['gives a key with a newline', () => 'psk_a\nX-Evil: 1'],
  ])('%s ends the call, which sends nothing and says so', async (_name, apiKey) => {
    const { client, seen } = scriptedClient([() => new Response(ITEM_TEXT)], { apiKey });
    const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ name: 'ConfigurationError', option: 'apiKey', outcome: 'not-sent', attempts: 0, petId: 1 });
    expect(seen).toEqual([]);
  });
});

/** What a stub of fetch without a Response gives. */
const NO_RESPONSE: [string, () => unknown][] = [
  ['nothing', async () => undefined],
  ['nothing, and no promise', () => undefined],
  ['a text', async () => 'no answer'],
  ['an object without headers', async () => ({ ok: true, status: 200, json: async () => [] })],
  ['an object without a body', async () => ({ ok: true, status: 200, headers: new Headers(), json: async () => [] })],
];

test.each(NO_RESPONSE)(
  'A fetch that gives %s is a ConfigurationError, an update is in doubt, and neither is retried',
  async (_what, give) => {
    let calls = 0;
    const { client } = scriptedClient([], { fetch: untyped(() => ++calls && give()) });
    const message = expect.stringContaining('`fetch` must give a web Response');
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'ConfigurationError', option: 'fetch', message });
    expect(await rejectionOf(client.updateInventory(1, { quantity: 5 }))).toMatchObject({ name: 'ConfigurationError', outcome: 'unknown' });
    expect(calls).toBe(2);
  },
);

test.each(NO_RESPONSE.slice(0, 4))('Through `petstore.fetch`, too, a fetch that gives %s is a ConfigurationError', async (_what, give) => {
  const { client } = scriptedClient([], { fetch: untyped(give) });
  expect(await rejectionOf(client.fetch('/orders'))).toMatchObject({ name: 'ConfigurationError', option: 'fetch', outcome: 'unknown' });
});

test('A body that is not a web stream is a ConfigurationError for `fetch`, and is not retried', async () => {
  const { client, seen } = scriptedClient([async () => Response.json([]), async () => nodeResponse()]);
  await client.listInventory();
  expect(await rejectionOf(client.listInventory())).toMatchObject({
    name: 'ConfigurationError',
    option: 'fetch',
    message: 'Cannot list the inventory: `fetch` must give a web Response, whose body is a ReadableStream',
  });
  expect(seen).toHaveLength(2);
});

test('A Response without streams, as React Native gives it, is a ConfigurationError for `fetch`, and not an empty body', async () => {
  const { client } = scriptedClient([async () => Object.defineProperty(Response.json([]), 'body', { value: undefined })]);
  const refusal = { name: 'ConfigurationError', message: expect.stringContaining('`fetch` must give a web Response') };
  expect(await rejectionOf(client.listInventory())).toMatchObject(refusal);
  const answer = await client.fetch('/store/orders');
  expect(await rejectionOf(answer.text())).toMatchObject(refusal);
});

test.each<[string, (response: Response) => Promise<unknown>]>([
  ['was read', (response) => response.text()],
  ['is being read', async (response) => response.body?.getReader()],
])('A body that %s already is a ConfigurationError for `fetch`, and an update is in doubt', async (_what, read) => {
  const answerRead = async () => {
    const response = Response.json({ petId: 1, quantity: 5, status: 'sold' });
    await read(response);
    return response;
  };
  const { client, seen } = scriptedClient([answerRead]);
  expect(await rejectionOf(client.updateInventory(1, { quantity: 5 }))).toMatchObject({
    name: 'ConfigurationError',
    option: 'fetch',
    outcome: 'unknown',
    message: 'Cannot update pet 1: `fetch` must give a Response whose body is unread: read `response.clone()` instead',
  });
  expect(seen).toHaveLength(1);
});

/** As node-fetch gives it: with a stream of Node as its body. */
function nodeResponse(status = 200, headers: Record<string, string> = {}): Response {
  return Object.defineProperty(new Response('[]', { status, headers }), 'body', { value: { pipe: () => {}, on: () => {} } });
}
