import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PetStoreClient } from '../src/client.ts';
import { ConfigurationError } from '../src/errors.ts';
import type { PetStoreClientOptions } from '../src/options/client-options.ts';
import { type RecordOptions, recordCalls } from '../src/record-calls.ts';
import { createSandbox, type SandboxOptions } from '../src/sandbox/index.ts';
import { thrower, thrownBy } from './support/outcome.ts';
import { nextTurn, watchUnhandled } from './support/unhandled.ts';

const unhandled = watchUnhandled();

/** A client of a sandbox of its own, recorded. */
function recorded({ service = {}, client: options = {}, how }: Recorded = {}) {
  const sandbox = createSandbox({ pets: 3, ...service });
  const client = new PetStoreClient({ apiKey: sandbox.keys.pro, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, ...options });
  const recording = recordCalls(client, how);
  return { sandbox, client, recording, lines: () => linesOf(recording.text()) };
}

interface Recorded {
  readonly service?: SandboxOptions;
  readonly client?: Partial<PetStoreClientOptions>;
  readonly how?: RecordOptions;
}

function linesOf(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** The fields of each line that are not the time's. */
function story(lines: readonly Record<string, unknown>[]): unknown[] {
  return lines.map(({ atMs, ms, dateMs, ...told }) => told);
}

test('recordCalls() writes operations, statuses, limit headers, waits and ends, in their order', async () => {
  const { client, lines } = recorded({ service: { faults: [{ at: 1, status: 429, headers: { 'retry-after': '0' } }] } });
  await client.updateInventory(2, { quantity: 7 });
  const rateLimit = { limit: 300, remaining: expect.any(Number), resetAtMs: expect.any(Number) };
  expect(story(lines())).toEqual([
    { format: 'petstore-recording/1', version: expect.any(String), plan: 'learned' },
    { event: 'started', call: 1, operation: 'updateInventory', pet: 1 },
    { event: 'request', call: 1, attempt: 1 },
    { event: 'response', call: 1, attempt: 1, status: 429, rateLimit },
    { event: 'gate', call: 1, attempt: 1, state: 'closed', untilMs: expect.any(Number) },
    { event: 'retry', call: 1, attempt: 1, delayMs: expect.any(Number), kind: 'rate-limit', retryAfterMs: 0 },
    { event: 'wait', call: 1, attempt: 1, reason: 'rate-limit' },
    { event: 'request', call: 1, attempt: 2 },
    { event: 'response', call: 1, attempt: 2, status: 200, rateLimit },
    { event: 'gate', call: 1, attempt: 2, state: 'open' },
    { event: 'settled', call: 1, attempt: 2, outcome: 'succeeded' },
  ]);
});

test('recordCalls() records an answer without limit headers and without a Date', async () => {
  const { client, recording } = recorded({ service: { limitHeaders: { rate: 0 }, date: false } });
  await client.listInventory();
  const response = linesOf(recording.text()).find(({ event }) => event === 'response');
  expect(response).toEqual({ atMs: expect.any(Number), event: 'response', call: 1, attempt: 1, status: 200, ms: expect.any(Number) });
});

test('recordCalls() gives updates of one pet that are under way together the same number, and later ones another', async () => {
  const { client, lines } = recorded();
  await Promise.all([
    client.updateInventory(2, { quantity: 1 }),
    client.updateInventory(3, { quantity: 1 }),
    client.updateInventory(2n, { quantity: 2 }),
  ]);
  await client.updateInventory(2, { quantity: 3 });
  expect(lines().flatMap(({ pet }) => pet ?? [])).toEqual([1, 2, 1, 3]);
});

test('recordCalls() keeps the number of a pet while one of its updates is under way, though another one has ended', async () => {
  const { client, lines } = recorded({ client: { concurrency: 1 } });
  const [first, second] = [client.updateInventory(2, { quantity: 1 }), client.updateInventory(2, { quantity: 2 })];
  await first;
  await Promise.all([second, client.updateInventory(2, { quantity: 3 })]);
  expect(lines().flatMap(({ pet }) => pet ?? [])).toEqual([1, 1, 1]);
});

test('a recording contains no key, address, id, quantity, path or text of the service', async () => {
  const distinct = fc.integer({ min: 4_000_000_000_000_000, max: 9_000_000_000_000_000 });
  const word = fc.stringMatching(/^[g-z]{12,20}$/);
  const inputs = {
    petId: distinct,
    missing: distinct,
    quantity: distinct,
    key: word,
    code: word,
    path: word,
    status: fc.constantFrom(400, 404, 409, 503),
  };
  await fc.assert(
    fc.asyncProperty(fc.record(inputs), async ({ petId, missing, quantity, key, code, path, status }) => {
      const body = JSON.stringify({ code: `${code}_${key}`, message: `${code} ${petId} ${quantity} ${key}`, status });
      const { sandbox, client, recording } = recorded({
        service: { pets: [{ petId, quantity }], keys: { [key]: 'pro' }, faults: [{ at: 2, status, body }] },
        client: { apiKey: key, maxRetries: 0 },
      });
      await client.updateInventory(petId, { quantity });
      await client.updateInventory(petId, { quantity }).catch(() => {});
      await Promise.allSettled([
        client.updateInventory(BigInt(missing), { quantity }),
        client.listInventory(),
        client.fetch(`/${path}/${petId}?q=${key}`),
      ]);
      expect(sandbox.requests.length).toBe(5);
      expect(linesOf(recording.text()).length).toBeGreaterThan(20);
      for (const secret of [petId, missing, quantity, key, code, path, new URL(client.baseUrl).host])
        expect(recording.text()).not.toContain(String(secret));
    }),
    { numRuns: 40 },
  );
});

test('recordCalls() records an abort without its reason', async () => {
  const { client, lines } = recorded();
  await client.listInventory({ signal: AbortSignal.abort(new Error('pet 4711')) }).catch(() => {});
  expect(story(lines()).slice(1)).toEqual([
    { event: 'started', call: 1, operation: 'listInventory' },
    { event: 'settled', call: 1, attempt: 0, outcome: 'not-sent', kind: 'abort' },
  ]);
});

test('recordCalls() leaves out calls that were under way before it, and everything after its end', async () => {
  const { sandbox, client } = recorded();
  const before = client.listInventory();
  const { text, stop } = recordCalls(client);
  await before;
  await client.updateInventory(1, { quantity: 4 });
  stop();
  await client.updateInventory(1, { quantity: 5 });
  expect(sandbox.requests).toHaveLength(3);
  expect(linesOf(text()).map(({ event, call }) => [event, call])).toEqual([
    [undefined, undefined],
    ['started', 2],
    ['request', 2],
    ['response', 2],
    ['settled', 2],
  ]);
});

test('`latest` keeps the first line and that many of the latest lines', async () => {
  const { client, lines } = recorded({ how: { latest: 3 } });
  for (let quantity = 0; quantity < 20; quantity++) await client.updateInventory(1, { quantity });
  expect(lines().map(({ event }) => event)).toEqual([undefined, 'request', 'response', 'settled']);
});

test('`write` gets each line at once; with `latest` 0 none is kept', async () => {
  const written: string[] = [];
  const { client, recording } = recorded({ how: { write: (line) => written.push(line), latest: 0 } });
  await client.listInventory();
  expect(linesOf(written.join('')).map(({ event }) => event)).toEqual([undefined, 'started', 'request', 'response', 'settled']);
  expect(recording.text()).toBe(written[0]);
});

test.each<[string, () => unknown]>([
  ['at once', thrower],
  ['later', async () => thrower()],
])('a `write` that throws %s does not affect a call', async (_when, write) => {
  const { client } = recorded({ how: { write } });
  expect(await client.listInventory()).toHaveLength(3);
  await nextTurn();
  expect(unhandled).not.toHaveBeenCalled();
});

test.each([{ latest: -1 }, { latest: 1.5 }, { write: 'a.jsonl' }, { kept: 3 }])('the options %j are refused', (how: object) => {
  expect(() => recorded({ how })).toThrow(ConfigurationError);
});

test.each([null, 'a.jsonl', 3])('%o in place of the options is refused', (how) => {
  const { client } = recorded();
  expect(() => Reflect.apply(recordCalls, undefined, [client, how])).toThrow('it must be an object such as { latest }');
});

test.each([undefined, 'petstore', {}, { on: thrower }])('%o in place of the client is refused', (bad) => {
  const message = /as `client`: it must be a PetStoreClient, or have its on\(\) and toJSON\(\)/;
  expect(thrownBy(() => Reflect.apply(recordCalls, undefined, [bad]))).toMatchObject({
    kind: 'invalid-argument',
    argument: 'client',
    message: expect.stringMatching(message),
  });
});
