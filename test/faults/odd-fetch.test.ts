import { isPetStoreError } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import { chunked } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { hangDeaf } from '../support/scripted-fetch.ts';
import { ITEM_TEXT } from './lab.ts';

const unreadable = Object.defineProperty(new Error('x'), 'code', {
  get: () => {
    throw new Error('do not look');
  },
});

/** A fetch of the caller's that throws, or resolves with something that is no answer. */
const BROKEN: [string, () => unknown][] = [
  ['throws a text', () => Promise.reject('gone')],
  ['throws nothing', () => Promise.reject(undefined)],
  ['throws null', () => Promise.reject(null)],
  ['throws an object without a prototype', () => Promise.reject(Object.create(null))],
  ['throws a symbol', () => Promise.reject(Symbol('gone'))],
  ['throws an error that must not be looked at', () => Promise.reject(unreadable)],
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
  ['gives nothing', async () => undefined],
  ['gives a text', async () => 'no answer'],
  ['gives an object', async () => ({ ok: true, status: 200 })],
  ['gives a network error', async () => Response.error()],
  ['gives a body that breaks', async () => new Response(chunked(['{"pet'], 'break'))],
  ['gives a body of texts', async () => new Response(new ReadableStream({ start: (body) => body.enqueue('text') }))],
  ['gives a body of numbers', async () => new Response(new ReadableStream({ start: (body) => body.enqueue(7) }))],
];

/** A fetch that is written without types, as far as the client can tell. */
function untyped(give: () => unknown): typeof globalThis.fetch {
  return Reflect.get({ give }, String('give'));
}

describe('a fetch that', () => {
  test.each(BROKEN)('%s has failed to connect, and leaves an update in doubt', async (_name, give) => {
    const { client } = scriptedClient([], { fetch: untyped(give), maxRetries: 0 });
    const error = await rejectionOf(client.updateInventory(1, { quantity: 5 }));
    expect(error).toMatchObject({ name: 'ConnectionError', outcome: 'unknown', attempts: 1 });
    expect(isPetStoreError(error)).toBe(true);
  });

  test('fails in any of these ways is asked again', async () => {
    const attempts = BROKEN.map(async ([, give]) => {
      let calls = 0;
      const fetch = untyped(() => (++calls === 1 ? give() : Promise.resolve(new Response(ITEM_TEXT))));
      const { client } = scriptedClient([], { fetch, maxRetries: 1 });
      return (await client.updateInventory(1, { quantity: 5 }).withResponse()).attempts;
    });
    expect(await Promise.all(attempts)).toEqual(BROKEN.map(() => 2));
  });

  test('gives a body of null has answered with nothing', async () => {
    const { client } = scriptedClient([() => new Response(null)]);
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'InvalidResponseError', reason: 'invalid-json' });
  });

  test('lies in its headers is believed in its bytes', async () => {
    const headers = { 'content-length': '3', 'content-encoding': 'br', 'content-type': 'image/png', 'transfer-encoding': 'chunked' };
    const { client } = scriptedClient([() => new Response(ITEM_TEXT, { headers })]);
    expect(await client.updateInventory(1, { quantity: 5 })).toMatchObject({ quantity: 5 });
  });

  test('hides a redirect, as browsers do, is told from one that failed', async () => {
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

test('A body that is no web stream is the fault of `fetch`, and asking again would not help', async () => {
  const { client, seen } = scriptedClient([async () => Response.json([]), async () => nodeResponse()]);
  await client.listInventory();
  expect(await rejectionOf(client.listInventory())).toMatchObject({
    name: 'ConfigurationError',
    option: 'fetch',
    message: 'Cannot list the inventory: `fetch` must give a web Response, whose body is a ReadableStream',
  });
  expect(seen).toHaveLength(2);
});

test.each<[string, (response: Response) => Promise<unknown>]>([
  ['was read', (response) => response.text()],
  ['is being read', async (response) => response.body?.getReader()],
])('A body that %s already is the fault of `fetch`, and an update is in doubt', async (_what, read) => {
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
    message: 'Cannot update pet 1: `fetch` must give a Response whose body nobody reads: read `response.clone()` instead',
  });
  expect(seen).toHaveLength(1);
});

/** As node-fetch gives it: with a stream of Node as its body. */
function nodeResponse(): Response {
  return Object.defineProperty(new Response('[]'), 'body', { value: { pipe: () => {}, on: () => {} } });
}
