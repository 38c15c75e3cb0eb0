import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test, vi } from 'vitest';
import type { LeaseResponse, QuotaStore } from '../../../src/quota-store.ts';
import { rejectionOf } from '../../support/outcome.ts';
import { holdTime } from '../../support/time.ts';

holdTime();

const ONE: LeaseResponse = { granted: 1, expiresInMs: 1000, resetAtMs: 0, waitMs: 0, reason: 'quota', members: 1 };

/** A client with an `apiKey` function, and a store that records the keys that it gets. */
function clientOf(apiKey: (key: string) => string | Promise<string>, options: PetStoreClientOptions & Partial<QuotaStore> = {}) {
  const { join, processes, isCheap, ...rest } = options;
  const { baseUrl, fetch, keys, requests } = createSandbox({ pets: 2 });
  const joined: string[] = [];
  const told: string[] = [];
  const tell = (message: string) => void told.push(message);
  const joinTo: QuotaStore['join'] = (key) => {
    joined.push(key.apiKey);
    return { exchange: async () => ONE };
  };
  const quotaStore: QuotaStore = { processes: 2, isCheap: false, join: join ?? joinTo };
  const source = vi.fn(() => apiKey(keys.pro));
  const logger = { debug: tell, info: tell, warn: tell, error: tell };
  const client = new PetStoreClient({ apiKey: source, baseUrl, fetch, quotaStore, logger, ...rest });
  return { client, joined, told, requests, source, key: keys.pro };
}

const never = () => new Promise<string>(() => {});

test.each([
  ['totalTimeoutMs', { totalTimeoutMs: 2_000 }, /`totalTimeoutMs` of 2 s/],
  ['attemptTimeoutMs', { attemptTimeoutMs: 2_000 }, /the `apiKey` function gave no key within the `attemptTimeoutMs` of 2 s/],
  ['a signal', { signal: AbortSignal.timeout(0) }, /./],
])('a key that never comes is waited for within %s, by one timer', async (_limit, options, why) => {
  const { client, requests } = clientOf(never);
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const failure = rejectionOf(client.listInventory(options));
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await failure).toMatchObject({ message: expect.stringMatching(why) });
  expect([timers.mock.calls.length < 5, vi.getTimerCount(), requests.length]).toEqual([true, 0, 0]);
});

test('a call ends when its signal aborts while it waits for the key', async () => {
  const { client } = clientOf(never);
  const controller = new AbortController();
  const failure = rejectionOf(client.listInventory({ signal: controller.signal }));
  await vi.advanceTimersByTimeAsync(700);
  controller.abort(new Error('enough'));
  expect(await failure).toMatchObject({ message: 'enough' });
});

test('after a key that never came, the next call asks again, and shares the quota', async () => {
  const keys: ((key: string) => Promise<string>)[] = [never, async (key) => key];
  const { client, joined, key } = clientOf((given) => keys.shift()?.(given) ?? given);
  const failure = rejectionOf(client.listInventory({ attemptTimeoutMs: 1_000 }));
  await vi.advanceTimersByTimeAsync(1_000);
  await failure;
  expect(await done(client.listInventory())).toHaveLength(2);
  expect(joined).toEqual([key]);
});

test("calls that come together ask for the store's key once", async () => {
  const { client, joined, source } = clientOf(async (key) => key);
  const calls = Promise.all(Array.from({ length: 20 }, () => client.listInventory()));
  await vi.advanceTimersByTimeAsync(1_000);
  await calls;
  expect([joined.length, source.mock.calls.length]).toEqual([1, 21]);
});

test.each([
  ['with a space', 'psk live'],
  ['that is empty', ''],
  ['with its scheme', 'Bearer psk_live'],
])('a key %s never reaches the store', async (_what, bad) => {
  const { client, joined } = clientOf(async () => bad);
  expect(await rejectionOf(client.listInventory())).toMatchObject({
    name: 'ConfigurationError',
    option: 'apiKey',
    operation: 'listInventory',
  });
  expect(joined).toEqual([]);
});

test('an error of the function ends the call as it does without a store', async () => {
  const { client, told } = clientOf(() => Promise.reject(new Error('vault sealed')));
  expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'ConfigurationError', cause: { message: 'vault sealed' } });
  expect(told.filter((line) => line.includes('quota store'))).toEqual([]);
});

test('the key is hidden in the warning and in the event if a store quotes it', async () => {
  const join: QuotaStore['join'] = ({ apiKey }) => ({ exchange: () => Promise.reject(new Error(`GET ${apiKey}\nrefused`)) });
  const { client, told, key } = clientOf(async (given) => given, { join });
  const reasons: unknown[] = [];
  client.on('quotaStore', ({ reason }) => reasons.push(reason));
  expect(await done(client.listInventory())).toHaveLength(2);
  expect(reasons).toEqual(['GET *** refused']);
  expect(told.join('\n')).toContain('GET *** refused');
  expect(told.join('\n')).not.toContain(key);
});

/** What a call gives within a second. */
async function done<T>(call: Promise<T>): Promise<T> {
  await vi.advanceTimersByTimeAsync(1_000);
  return call;
}
