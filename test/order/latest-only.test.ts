import { type ClientEvents, PetStoreClient, type PetStoreClientOptions, RateLimitError, syncInventory } from 'petstore-inventory';
import { createSandbox, type Fault } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { failure, item } from '../support/answers.ts';
import { logOf, scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { hang } from '../support/scripted-fetch.ts';
import { holdTime } from '../support/time.ts';

holdTime();

const CLOSING: Fault = { at: 1, status: 429, headers: { 'retry-after': '20' } };

async function microtasks(count: number): Promise<void> {
  for (let left = count; left > 0; left--) await undefined;
}

/** A client with `latestOnly` whose gate is closed for 20 seconds by the 429 that its list got. */
async function closedClient({ pets = 2, faults = [], ...options }: { pets?: number; faults?: Fault[] } & PetStoreClientOptions = {}) {
  const sandbox = createSandbox({ pets, faults: [CLOSING, ...faults] });
  const { keys, baseUrl, fetch } = sandbox;
  const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, plan: 'business', latestOnly: true, ...options });
  await rejectionOf(client.listInventory({ maxRetries: 0 }));
  const settled: ClientEvents['settled'][] = [];
  client.on('settled', (event) => settled.push(event));
  const patches = () => sandbox.requests.filter(({ method }) => method === 'PATCH');
  return { client, sandbox, settled, patches, log: logOf(client) };
}

describe('latestOnly', () => {
  test("sends only the last of each pet's updates: 500 requests for 10,000 queued updates of 500 pets, and all settle", async () => {
    const { client, sandbox, settled, patches } = await closedClient({ pets: 500 });
    const wanted = Array.from({ length: 10_000 }, (_, index) => ({ petId: (index % 500) + 1, quantity: index }));
    const calls = wanted.map(({ petId, quantity }) => client.updateInventory(petId, { quantity }).withResponse());
    await vi.runAllTimersAsync();
    const replies = await Promise.all(calls);

    expect(patches()).toHaveLength(500);
    expect(sandbox.report().rateLimited).toBe(1);
    expect([...sandbox.inventory].map(({ quantity }) => quantity)).toEqual(wanted.slice(-500).map(({ quantity }) => quantity));
    expect(replies.map(({ data, attempts, supersededBy }) => [data.quantity, attempts, supersededBy])).toEqual(
      wanted.map((_, index) => (index < 9_500 ? [9_500 + (index % 500), 0, 9_502 + (index % 500)] : [index, 1, undefined])),
    );
    expect(settled.map(({ outcome }) => outcome).toSorted()).toEqual([...Array(500).fill('succeeded'), ...Array(9_500).fill('superseded')]);
  });

  test('lets updates that are made synchronously supersede each other, even if the gate is open', async () => {
    const { client, seen } = scriptedClient([() => item(42, 3)], { latestOnly: true });
    await Promise.all([1, 2, 3].map((quantity) => client.updateInventory(42, { quantity })));
    expect(seen.map(({ body }) => body)).toEqual(['{"quantity":3}']);
  });

  test('reports which update was sent in place of which, and when each settled', async () => {
    const { client, settled, log } = await closedClient();
    const openings: number[] = [];
    client.on('gate', ({ callId }) => openings.push(callId));
    const calls = [client.updateInventory(1, { quantity: 4 }), client.updateInventory(1, { quantity: 5 })];
    await vi.runAllTimersAsync();
    await Promise.all(calls);
    // The call whose request was answered, though it took the permit of the earlier one.
    expect(openings).toEqual([3]);
    expect(settled).toEqual([
      { callId: 3, operation: 'updateInventory', petId: 1, attempt: 1, outcome: 'succeeded', ms: expect.any(Number) },
      { callId: 2, operation: 'updateInventory', petId: 1, attempt: 0, outcome: 'superseded', supersededBy: 3, ms: expect.any(Number) },
    ]);
    expect(log.map((line) => line.replace(/ \d{4,}$/, ''))).toEqual([
      'wait rate-limit',
      'wait order 0',
      'wait order 0',
      'request 1 PATCH /inventory/1',
      'response 200',
      'gate open',
      'settled succeeded',
      'settled superseded',
    ]);
  });

  test('gives each caller its own copy of the item', async () => {
    const { client } = await closedClient();
    const calls = [client.updateInventory(1, { quantity: 4 }), client.updateInventory(1, { quantity: 5 })];
    await vi.runAllTimersAsync();
    const [earlier, later] = await Promise.all(calls);
    expect(earlier).toEqual(later);
    expect(earlier).not.toBe(later);
  });

  test('changes nothing if the earlier call does not have the option', async () => {
    const { client, patches } = await closedClient({ latestOnly: false });
    const calls = [
      client.updateInventory(1, { quantity: 4 }).withResponse(),
      client.updateInventory(1, { quantity: 5 }, { latestOnly: true }).withResponse(),
    ];
    await vi.runAllTimersAsync();
    expect((await Promise.all(calls)).map(({ data, attempts }) => [data.quantity, attempts])).toEqual([
      [4, 1],
      [5, 1],
    ]);
    expect(patches()).toHaveLength(2);
  });

  test('applies only to updates of the same client', async () => {
    const { client, sandbox, patches } = await closedClient();
    const other = new PetStoreClient({ apiKey: sandbox.keys.business, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, latestOnly: true });
    const calls = [client.updateInventory(1, { quantity: 4 }), other.updateInventory(1, { quantity: 5 })];
    await vi.runAllTimersAsync();
    await Promise.all(calls);
    expect(patches()).toHaveLength(2);
  });

  test('keeps the place of an update that is superseded again and again', async () => {
    const { client, patches } = await closedClient();
    const first = client.updateInventory(1, { quantity: 0 });
    const others = [client.updateInventory(2, { quantity: 7 })];
    for (let quantity = 1; quantity <= 15; quantity++) {
      await vi.advanceTimersByTimeAsync(1_000);
      others.push(client.updateInventory(1, { quantity }));
    }
    await vi.runAllTimersAsync();
    expect((await Promise.all([first, ...others])).map(({ quantity }) => quantity)).toEqual([15, 7, ...Array(15).fill(15)]);
    expect(patches().map(({ petId, quantity }) => [petId, quantity])).toEqual([
      [1n, 15],
      [2n, 7],
    ]);
  });

  test('gives the earlier update the same error as the later one, and reports it as superseded', async () => {
    const { client, settled } = await closedClient({ faults: [{ at: 2, status: 404 }] });
    const calls = [client.updateInventory(1, { quantity: 4 }), client.updateInventory(1, { quantity: 5 })].map(rejectionOf);
    await vi.runAllTimersAsync();
    const [earlier, later] = await Promise.all(calls);
    expect(earlier).toBe(later);
    expect(later).toMatchObject({ kind: 'not-found', attempts: 1, outcome: 'rejected' });
    expect(settled).toMatchObject([
      { callId: 3, outcome: 'rejected', error: later },
      { callId: 2, outcome: 'superseded', supersededBy: 3, error: later },
    ]);
  });

  test('does not supersede an update that was sent once and is being retried', async () => {
    const { client, seen } = scriptedClient([() => failure(500), () => item(42)], { latestOnly: true });
    const first = client.updateInventory(42, { quantity: 1 }).withResponse();
    await vi.advanceTimersByTimeAsync(100);
    const second = client.updateInventory(42, { quantity: 2 }).withResponse();
    await vi.runAllTimersAsync();
    expect([(await first).attempts, (await second).attempts]).toEqual([2, 1]);
    expect(seen.map(({ body }) => body)).toEqual(['{"quantity":1}', '{"quantity":1}', '{"quantity":2}']);
  });

  test.each<[string, (late: AbortController) => object, object]>([
    ['is aborted', (late) => ({ signal: late.signal }), { name: 'AbortError' }],
    ['runs out of its totalTimeoutMs', () => ({ totalTimeoutMs: 1_000 }), { kind: 'timeout', outcome: 'not-sent' }],
  ])('sends the earlier update after all if the later one %s unsent', async (_how, options, expected) => {
    const { client, patches, settled } = await closedClient();
    const late = new AbortController();
    const first = client.updateInventory(1, { quantity: 4 }).withResponse();
    const rejection = rejectionOf(client.updateInventory(1, { quantity: 5 }, options(late)));
    await vi.advanceTimersByTimeAsync(1_000);
    late.abort();
    await vi.runAllTimersAsync();
    expect(await rejection).toMatchObject(expected);
    expect(await first).toMatchObject({ data: { quantity: 4 }, attempts: 1 });
    expect(await first).not.toHaveProperty('supersededBy');
    expect(patches()).toMatchObject([{ quantity: 4 }]);
    expect(settled.map(({ callId, outcome }) => [callId, outcome])).toEqual([
      [3, 'not-sent'],
      [2, 'succeeded'],
    ]);
  });

  test('sends the earlier update after all if the later one may not wait as long at the gate', async () => {
    const { client, patches } = await closedClient();
    const early = new AbortController();
    const kept = client.updateInventory(1, { quantity: 4 });
    const leaving = rejectionOf(client.updateInventory(2, { quantity: 4 }, { signal: early.signal }));
    const waiting = client.updateInventory(2, { quantity: 5 });
    const refused = rejectionOf(client.updateInventory(2, { quantity: 6 }, { maxWaitMs: 1_000 }));
    early.abort();
    await vi.runAllTimersAsync();
    expect([await leaving, await refused]).toEqual([early.signal.reason, expect.any(RateLimitError)]);
    expect([await kept, await waiting]).toMatchObject([{ quantity: 4 }, { quantity: 5 }]);
    expect(patches()).toHaveLength(2);
  });

  test('refuses a later update at once if it may not wait that long, and sends the earlier one', async () => {
    const { client, patches, settled } = await closedClient();
    const first = client.updateInventory(1, { quantity: 4 });
    const refused = await rejectionOf(client.updateInventory(1, { quantity: 5 }, { maxWaitMs: 1_000 }));
    expect(refused).toMatchObject({ kind: 'rate-limit', status: undefined, petId: 1, attempts: 0, outcome: 'not-sent' });
    expect(settled).toMatchObject([{ callId: 3, outcome: 'not-sent', ms: 0 }]);
    const patient = client.updateInventory(1, { quantity: 6 }, { maxWaitMs: 60_000 });
    await vi.runAllTimersAsync();
    expect([(await first).quantity, (await patient).quantity, patches().length, vi.getTimerCount()]).toEqual([6, 6, 1, 0]);
  });

  test('refuses a later update as soon as the wait is too long for it, even if the gate closes for longer afterwards', async () => {
    const { client, patches, settled } = await closedClient({ faults: [{ at: 2, status: 429, headers: { 'retry-after': '40' } }] });
    const list = client.listInventory();
    const first = client.updateInventory(1, { quantity: 4 });
    const refused = rejectionOf(client.updateInventory(1, { quantity: 5 }, { maxWaitMs: 25_000 }));
    const leaving = new AbortController();
    const left = rejectionOf(client.updateInventory(1, { quantity: 6 }, { signal: leaving.signal }));
    await vi.advanceTimersByTimeAsync(15_000);
    leaving.abort();
    await left;
    expect(settled).toMatchObject([{ callId: 5 }]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(settled).toMatchObject([{ callId: 5 }, { callId: 4, outcome: 'not-sent' }]);
    expect(await refused).toMatchObject({ kind: 'rate-limit', status: undefined, attempts: 0, outcome: 'not-sent' });
    await vi.runAllTimersAsync();
    expect([(await first).quantity, (await list).length, patches().length, vi.getTimerCount()]).toEqual([4, 2, 1, 0]);
  });

  test('leaves nothing in the queue of the gate for a later update that may not wait as long and was aborted', async () => {
    const { client } = await closedClient({ faults: [{ at: 2, status: 429, headers: { 'retry-after': '40' } }] });
    const queued: number[] = [];
    client.on('queue', ({ calls }) => queued.push(calls));
    const leaving = new AbortController();
    const calls = [client.listInventory(), client.updateInventory(1, { quantity: 4 })];
    const left = rejectionOf(client.updateInventory(1, { quantity: 5 }, { maxWaitMs: 100_000, signal: leaving.signal }));
    await vi.advanceTimersByTimeAsync(1_000);
    leaving.abort();
    await left;
    await vi.runAllTimersAsync();
    await Promise.all(calls);
    // Once until the first reset, and once until the second, each time without the list, which is the probe.
    expect(queued).toEqual([1, 1]);
  });

  test('settles an earlier update as a later one that may wait longer', async () => {
    const { client, patches } = await closedClient({ faults: [{ at: 2, status: 429, headers: { 'retry-after': '40' } }] });
    const list = client.listInventory();
    const earlier = client.updateInventory(1, { quantity: 4 }, { maxWaitMs: 25_000 }).withResponse();
    const later = client.updateInventory(1, { quantity: 5 });
    await vi.runAllTimersAsync();
    await Promise.all([list, later]);
    expect(await earlier).toMatchObject({ data: { quantity: 5 }, attempts: 0, supersededBy: 4 });
    expect(patches()).toHaveLength(1);
  });

  test('sends the update before one with bad arguments, which supersedes nothing', async () => {
    const { client, patches } = await closedClient();
    const first = client.updateInventory(1, { quantity: 4 });
    expect(await rejectionOf(client.updateInventory(1, { quantity: 0.5 }))).toMatchObject({ kind: 'invalid-argument' });
    await vi.runAllTimersAsync();
    expect([(await first).quantity, patches().length]).toEqual([4, 1]);
  });

  test('sends the earlier update after all if a listener of the request event aborts the later one', async () => {
    const { client, patches } = await closedClient();
    const late = new AbortController();
    const first = client.updateInventory(1, { quantity: 4 });
    const rejection = rejectionOf(client.updateInventory(1, { quantity: 5 }, { signal: late.signal }));
    client.on('request', ({ callId }) => (callId === 3 ? late.abort() : undefined));
    await vi.runAllTimersAsync();
    expect([await rejection, (await first).quantity, patches().length]).toEqual([late.signal.reason, 4, 1]);
  });

  test.each([1, 64].flatMap((concurrency) => Array.from({ length: 12 }, (_, count) => [concurrency, count] as const)))(
    'with concurrency %i, loses neither the earlier update nor its permit if the later one is aborted %i microtasks after its call',
    async (concurrency, count) => {
      const { keys, baseUrl, fetch } = createSandbox({ pets: 2 });
      const client = new PetStoreClient({ apiKey: async () => keys.business, baseUrl, fetch, latestOnly: true, concurrency });
      const late = new AbortController();
      const settled: string[] = [];
      client.on('settled', ({ operation }) => settled.push(operation));
      const updates = [client.updateInventory(1, { quantity: 4 }), client.updateInventory(1, { quantity: 5 }, { signal: late.signal })].map(
        (update) => update.catch(() => {}),
      );
      await microtasks(count);
      late.abort();
      await vi.runAllTimersAsync();
      const list = client.listInventory().catch(() => {});
      await vi.runAllTimersAsync();
      expect(settled).toEqual(['updateInventory', 'updateInventory', 'listInventory']);
      await Promise.all([...updates, list]);
    },
  );

  test('rejects only the earlier update, at once, if it is aborted', async () => {
    const { client, settled, patches } = await closedClient();
    const early = new AbortController();
    const rejection = rejectionOf(client.updateInventory(1, { quantity: 4 }, { signal: early.signal }));
    const later = client.updateInventory(1, { quantity: 5 });
    early.abort();
    expect(await rejection).toBe(early.signal.reason);
    expect(settled).toMatchObject([{ callId: 2, outcome: 'not-sent' }]);
    await vi.runAllTimersAsync();
    expect([(await later).quantity, patches().length]).toEqual([5, 1]);
  });

  test('ends when the client is closed: every update rejects, nothing is sent, no timer is left', async () => {
    const { client, patches } = await closedClient();
    const rejections = [1, 2, 3].map((quantity) => rejectionOf(client.updateInventory(1, { quantity })));
    client.close();
    expect(await Promise.all(rejections)).toMatchObject(Array(3).fill({ name: 'AbortError' }));
    await vi.runAllTimersAsync();
    expect([patches().length, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('rejects superseded updates with the reason with which the closed client ends the request under way', async () => {
    const { client } = scriptedClient([hang], { latestOnly: true });
    const rejections = [1, 2].map((quantity) => rejectionOf(client.updateInventory(42, { quantity })));
    await vi.advanceTimersByTimeAsync(10);
    client.close();
    expect(await Promise.all(rejections)).toMatchObject([{ name: 'AbortError' }, { name: 'AbortError' }]);
  });

  test('supersedes no update of a synchronisation, whose report says what was set', async () => {
    const { client, patches } = await closedClient({ concurrency: 1, faults: [{ at: 3, delayMs: 100 }] });
    const syncing = syncInventory(client, [
      { petId: 2, quantity: 80 },
      { petId: 1, quantity: 70 },
    ]);
    const updates: Promise<unknown>[] = [];
    const stop = client.on('wait', ({ petId }) => {
      if (petId !== 1) return;
      stop();
      updates.push(client.updateInventory(1, { quantity: 71 }));
    });
    await vi.runAllTimersAsync();
    await Promise.all(updates);
    expect(await syncing).toMatchObject({ updated: 2, failed: [] });
    expect(patches().map(({ petId, quantity }) => [petId, quantity])).toEqual([
      [2n, 80],
      [1n, 70],
      [1n, 71],
    ]);
  });
});
