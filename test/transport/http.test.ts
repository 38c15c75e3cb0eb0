import { afterEach, describe, expect, test, vi } from 'vitest';
import { LightSignal } from '../../src/clock/light-signal.ts';
import { directly } from '../../src/transport/direct-answer.ts';
import { type Http, http } from '../../src/transport/http.ts';
import { kyHttp } from '../../src/transport/ky-http.ts';
import { failure, networkError, text } from '../support/answers.ts';
import { makeCall } from '../support/call.ts';
import { rejectionOf } from '../support/outcome.ts';
import { scriptedFetch } from '../support/scripted-fetch.ts';

const baseUrl = 'https://pets.test/v1';
const signal = new LightSignal();
const get = { method: 'GET', path: 'inventory', headers: { accept: 'application/json' }, body: undefined, signal } as const;
const patch = { method: 'PATCH', path: 'inventory/42', headers: { 'x-a': '1' }, body: '{"quantity":1}', signal } as const;

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each<[string, Http]>([
  ['http', http],
  ['kyHttp', kyHttp],
])('%s', (_name, http) => {
  test('calls fetch with an address and a string as the body, follows no redirect, and passes the same signal', async () => {
    const fetch = vi.fn(async () => text(200, '[]'));
    await http(get, { baseUrl, fetch });
    await http(patch, { baseUrl, fetch });
    expect(fetch.mock.calls).toEqual([
      ['https://pets.test/v1/inventory', { method: 'GET', headers: get.headers, signal: signal.toAbortSignal(), redirect: 'manual' }],
      [
        'https://pets.test/v1/inventory/42',
        { method: 'PATCH', headers: patch.headers, signal: signal.toAbortSignal(), redirect: 'manual', body: patch.body },
      ],
    ]);
  });

  test.each([301, 404, 429, 500, 503])('gives the answer of a %i after one request, instead of throwing or retrying', async (status) => {
    const { fetch, seen } = scriptedFetch(() => failure(status, { 'retry-after': '1' }));
    const answer = await http(get, { baseUrl, fetch });
    expect([answer.status, seen.length]).toEqual([status, 1]);
  });

  test('looks up the global fetch at every request, so that a later replacement is used', async () => {
    const { fetch, seen } = scriptedFetch(() => text(200, '[]'));
    vi.stubGlobal('fetch', fetch);
    await http(get, { baseUrl, fetch: undefined });
    expect(seen).toHaveLength(1);
  });

  test('passes on what fetch rejects with', async () => {
    const thrown = new RangeError('no such thing');
    const fetch = async () => {
      throw thrown;
    };
    expect(await rejectionOf(http(get, { baseUrl, fetch }))).toBe(thrown);
  });

  test.each([get, patch])(
    'sends a $method once if the connection breaks: only the retries of a call may send it again',
    async (request) => {
      const { fetch, seen } = scriptedFetch(() => Promise.reject(networkError('ECONNRESET')));
      await rejectionOf(http(request, { baseUrl, fetch }));
      expect(seen).toHaveLength(1);
    },
  );
});

test('http gives a fetch of this package the call itself, so that other requests pay nothing for what it can tell', async () => {
  const [fetch, seen, call] = [vi.fn(), vi.fn(), makeCall()];
  directly.set(fetch, seen);
  await http({ ...patch, call }, { baseUrl, fetch });
  const { method, headers, body } = patch;
  expect([seen.mock.calls, fetch.mock.calls]).toEqual([
    [['https://pets.test/v1/inventory/42', { method, headers, body, signal, call }]],
    [],
  ]);
});

test('kyHttp keeps a network error as the cause of an error with the name NetworkError, which names the request', async () => {
  const thrown = networkError('ECONNRESET');
  const refused = kyHttp(patch, { baseUrl, fetch: () => Promise.reject(thrown) });
  const message = 'Request failed due to a network error: PATCH https://pets.test/v1/inventory/42';
  expect(await rejectionOf(refused)).toMatchObject({ name: 'NetworkError', message, cause: thrown });
});
