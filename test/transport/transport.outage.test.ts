import type { PetStoreClientOptions } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { failure, item, networkError } from '../support/answers.ts';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { untyped } from '../support/scripted-fetch.ts';
import { holdTime } from '../support/time.ts';

holdTime();

/** What 20 calls at once reject with, and whether the gate closed: each attempt fails after 100 ms, so that three of them could be an outage. */
async function twentyFailing(give: () => unknown, options: PetStoreClientOptions = {}) {
  const late = vi.fn(async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    return give();
  });
  const { client, log } = scriptedClient([], { fetch: untyped(late), maxRetries: 0, concurrency: 1, ...options });
  const rejections = Array.from({ length: 20 }, () => rejectionOf(client.listInventory()));
  await vi.runAllTimersAsync();
  return { failures: await Promise.all(rejections), requests: late.mock.calls.length, gate: log.filter((line) => line.startsWith('gate')) };
}

/** As node-fetch gives it: with a stream of Node as its body. */
function nodeResponse(status = 200): Response {
  return Object.defineProperty(new Response('[]', { status }), 'body', { value: { pipe: () => {} } });
}

const invalidUrl = Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' });

describe('No outage is caused by', () => {
  test.each<[string, () => unknown]>([
    ['gives bodies that cannot be read', () => nodeResponse()],
    ['gives nothing', () => undefined],
  ])('a `fetch` that %s: the error of every call names the option', async (_what, give) => {
    const { failures, requests, gate } = await twentyFailing(give);
    expect(failures).toMatchObject(Array(20).fill({ name: 'ConfigurationError', option: 'fetch', code: undefined }));
    expect([requests, gate]).toEqual([20, []]);
  });

  test.each<[string, () => unknown]>([
    ['throws a RangeError', () => Promise.reject(new RangeError('too far'))],
    ['throws a TypeError of its own', () => Promise.reject(new TypeError("Cannot read properties of undefined (reading 'x')"))],
    ['asks for an address that is none', () => Promise.reject(invalidUrl)],
    ['asks a fetch for an address that is none', () => Promise.reject(new TypeError('Failed to parse URL', { cause: invalidUrl }))],
    ['throws a text', () => Promise.reject('gone')],
    ['throws nothing', () => Promise.reject(undefined)],
    ['gives a body of texts', () => new Response(new ReadableStream({ start: (body) => body.enqueue('text') }))],
    [
      'gives a body that it reads into a RangeError',
      () => new Response(new ReadableStream({ pull: () => Promise.reject(new RangeError()) })),
    ],
  ])('a `fetch` that %s: the error of every call says so, and none says that the service is down', async (_what, give) => {
    const { failures, requests, gate } = await twentyFailing(give);
    expect(failures).toMatchObject(Array(20).fill({ name: 'ConnectionError', attempts: 1 }));
    expect([requests, gate]).toEqual([20, []]);
  });

  test('an `apiKey` function that fails', async () => {
    const apiKey = () => new Promise<string>((_resolve, reject) => setTimeout(reject, 200, new Error('vault sealed')));
    const { failures, requests, gate } = await twentyFailing(() => item(1), { apiKey });
    expect(failures).toMatchObject(Array(20).fill({ name: 'ConfigurationError', option: 'apiKey', attempts: 0 }));
    expect([requests, gate]).toEqual([0, []]);
  });

  test('calls that are aborted in flight', async () => {
    const { client, seen, log } = scriptedClient([() => new Promise(() => {})], { maxRetries: 0 });
    const rejections = Array.from({ length: 20 }, (_, index) => rejectionOf(client.listInventory({ totalTimeoutMs: 100 * (index + 1) })));
    await vi.runAllTimersAsync();
    expect(await Promise.all(rejections)).toMatchObject(Array(20).fill({ name: 'TimeoutError' }));
    expect([seen.length > 3, log.filter((line) => line.startsWith('gate'))]).toEqual([true, []]);
  });
});

describe('An outage is not ended by', () => {
  test.each<[string, () => unknown]>([
    ['cannot be read', () => nodeResponse()],
    ['is made of texts', () => new Response(new ReadableStream({ start: (body) => body.enqueue('text') }))],
  ])("a body that %s: the caller's mistake says nothing about the service", async (_what, give) => {
    const answers = [() => failure(503), () => failure(503), () => failure(503)];
    const { client, log } = scriptedClient([], { fetch: untyped(async () => (answers.shift() ?? give)()), maxRetries: 2 });
    const down = rejectionOf(client.listInventory());
    await vi.runAllTimersAsync();
    await down;
    const mistaken = rejectionOf(client.listInventory({ maxRetries: 0 }));
    await vi.runAllTimersAsync();
    await mistaken;
    expect(log.filter((line) => /^gate|^response/.test(line))).toEqual([
      ...['response 503', 'response 503', 'response 503'],
      ...['gate closed', 'response 200'],
    ]);
  });
});

describe('An outage is caused by', () => {
  test.each<[string, () => unknown, object]>([
    ['answers 503', () => failure(503), { name: 'ServerError', code: 'http_503' }],
    ['answers 503 of which only the body cannot be read', () => nodeResponse(503), { name: 'ServerError', code: 'http_503' }],
    ['connections that Node refuses', () => Promise.reject(networkError('ECONNREFUSED')), { code: 'ECONNREFUSED' }],
    [
      'connections that Bun loses',
      () =>
        Promise.reject(Object.assign(new TypeError('ECONNRESET: The socket connection was closed unexpectedly.'), { code: 'ECONNRESET' })),
      { code: 'ECONNRESET' },
    ],
    [
      'connections that Deno does not make',
      () => Promise.reject(new TypeError('fetch failed', { cause: new Error('dns error') })),
      { name: 'ConnectionError' },
    ],
    ['connections that workerd loses', () => Promise.reject(new Error('Network connection lost.')), { name: 'ConnectionError' }],
    ['connections that Chrome does not make', () => Promise.reject(new TypeError('Failed to fetch')), { name: 'ConnectionError' }],
    ['a network error of the fetch standard', () => Response.error(), { name: 'ConnectionError' }],
    ["a fetch's own time limit", () => Promise.reject(new DOMException('late', 'TimeoutError')), { name: 'ConnectionError' }],
    [
      'bodies that Deno sees break',
      () => new Response(new ReadableStream({ pull: () => Promise.reject(new TypeError('error reading a body from connection')) })),
      { name: 'ConnectionError' },
    ],
  ])('%s, and the error of a call that waits too long says what failed', async (_what, give, told) => {
    const { failures, requests, gate } = await twentyFailing(give, { maxWaitMs: 3_000 });
    expect(requests).toBeLessThan(10);
    expect(gate).toEqual(['gate closed']);
    expect(failures.at(-1)).toMatchObject({ ...told, attempts: 0, message: expect.stringContaining('the service is down') });
  });
});
