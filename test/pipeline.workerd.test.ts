import type { PetStoreClient } from 'petstore-inventory';
import { traceClient } from 'petstore-inventory/otel';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Collector } from './otel/collector.ts';
import { failure, item, json } from './support/answers.ts';
import { scriptedClient } from './support/client.ts';
import { deferred } from './support/deferred.ts';
import { rejectionOf } from './support/outcome.ts';
import { hang, hangDeaf } from './support/scripted-fetch.ts';
import { holdTime } from './support/time.ts';

holdTime();

describe('A call that another request ends (workerd) ends by its own timer, since only its own request may touch what it holds,', () => {
  beforeEach(() => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test.each<[string, (client: PetStoreClient, controller: AbortController) => void]>([
    ['by the signal', (_client, controller) => controller.abort(new DOMException('enough', 'AbortError'))],
    ['by closing the client', (client) => client.close()],
  ])('%s', async (_how, end) => {
    const { client, seen } = scriptedClient([hang]);
    const controller = new AbortController();
    const rejection = rejectionOf(client.listInventory({ signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(0);
    end(client, controller);
    expect(seen[0]?.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(25);
    expect([seen[0]?.signal.aborted, await rejection]).toMatchObject([true, { name: 'AbortError' }]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('and updates of several requests supersede each other, each by its own timer', async () => {
    const { client, seen } = scriptedClient([() => failure(429, { 'retry-after': '8' }), () => item(42, 3)], { latestOnly: true });
    await rejectionOf(client.listInventory({ maxRetries: 0 }));
    const updates = [1, 2, 3].map((quantity) => client.updateInventory(42, { quantity }).withResponse());
    await vi.advanceTimersByTimeAsync(10_000);
    expect((await Promise.all(updates)).map(({ attempts, supersededBy }) => [attempts, supersededBy])).toEqual([
      [0, 4],
      [0, 4],
      [1, undefined],
    ]);
    expect(seen.map(({ body }) => body)).toEqual([undefined, '{"quantity":3}']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('by closing the gate while it backs off', async () => {
    const { client } = scriptedClient([() => failure(500), () => failure(429, { 'retry-after': '20' })]);
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }, { maxWaitMs: 1_000 }));
    await vi.advanceTimersByTimeAsync(100);
    await rejectionOf(client.listInventory({ maxRetries: 0 }));
    await vi.advanceTimersByTimeAsync(25);
    expect(await Promise.race([rejection, 'still waiting'])).toMatchObject({ status: 500, retryAt: new Date(Date.now() + 19_975) });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('but a call that begins later ends at once, and sends nothing', async () => {
    const { client, seen } = scriptedClient([hang]);
    client.close();
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'AbortError' });
    expect(await rejectionOf(client.listInventory({ signal: AbortSignal.abort() }))).toMatchObject({ name: 'AbortError' });
    expect([seen.length, vi.getTimerCount()]).toEqual([0, 0]);
  });
});

// `vi.clearAllTimers` stands for the end of the incoming request that made the calls before it: none of its timers runs any more.
describe('A call whose incoming request has ended (workerd)', () => {
  beforeEach(() => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('settles once, when the next call begins after five seconds', async () => {
    const { client } = scriptedClient([hangDeaf, () => json(200, [])]);
    const settled = vi.fn();
    client.on('settled', settled);
    void client.updateInventory(42, { quantity: 1 });
    void client.updateInventory(42, { quantity: 2 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(5_000);
    await client.listInventory();
    expect(settled.mock.calls.flat()).toMatchObject([{ callId: 3 }]);
    await vi.advanceTimersByTimeAsync(1_000);
    await client.listInventory();
    client.close();
    const error = new DOMException('The request that made this call ended', 'AbortError');
    expect(settled.mock.calls.flat()).toEqual([
      expect.objectContaining({ callId: 3, outcome: 'succeeded' }),
      { callId: 1, operation: 'updateInventory', petId: 42, attempt: 1, outcome: 'unknown', ms: 6_000, error },
      { callId: 2, operation: 'updateInventory', petId: 42, attempt: 0, outcome: 'not-sent', ms: 6_000, error },
      expect.objectContaining({ callId: 4, outcome: 'succeeded' }),
    ]);
  });

  test('leaves its turn to the next update of its pet, which does not wait', async () => {
    const { client, log } = scriptedClient([hangDeaf, () => item(42)]);
    void client.updateInventory(42, { quantity: 1 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(6_000);
    await client.updateInventory(42, { quantity: 2 });
    expect(log.filter((line) => line.startsWith('wait'))).toEqual([]);
  });

  test('leaves its turn also to an update that already waits, without any later call', async () => {
    const { client } = scriptedClient([hangDeaf, () => item(42)]);
    void client.updateInventory(42, { quantity: 1 });
    void client.updateInventory(42, { quantity: 2 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    const third = vi.fn();
    void client.updateInventory(42, { quantity: 3 }).then(third);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(third).not.toHaveBeenCalled();
    // It looks every 25 ms, and one look finds both gone.
    await vi.advanceTimersByTimeAsync(25);
    expect(third.mock.calls).toEqual([[expect.objectContaining({ petId: 42 })]]);
  });

  test('supersedes no update any more, and is superseded by one whose request still runs', async () => {
    const { client, seen } = scriptedClient([() => failure(429, { 'retry-after': '8' }), () => item(42)], { latestOnly: true });
    await rejectionOf(client.listInventory({ maxRetries: 0 }));
    void client.updateInventory(42, { quantity: 1 });
    void client.updateInventory(42, { quantity: 2 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    const third = client.updateInventory(42, { quantity: 3 });
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await third).toMatchObject({ petId: 42 });
    expect(seen.map(({ body }) => body)).toEqual([undefined, '{"quantity":3}']);
  });

  test('gives its slot back', async () => {
    const { client } = scriptedClient([hangDeaf, () => json(200, [])], { concurrency: 1 });
    void client.listInventory();
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(6_000);
    const items = client.listInventory();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await items).toEqual([]);
  });

  test('ends its spans, so that they are not kept', async () => {
    const { client } = scriptedClient([hangDeaf, () => json(200, [])]);
    const collector = new Collector();
    traceClient(client, collector);
    void client.updateInventory(42, { quantity: 1 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(6_000);
    await client.listInventory();
    expect(collector.spans.map(({ name }) => name)).toEqual(['PATCH', 'updateInventory', 'GET', 'listInventory']);
  });

  test('is not ended if its request only lasts long', async () => {
    const { client, log } = scriptedClient([hangDeaf, () => json(200, [])]);
    const lasting = rejectionOf(client.updateInventory(42, { quantity: 1 }, { attemptTimeoutMs: 20_000, maxRetries: 0 }));
    await vi.advanceTimersByTimeAsync(10_000);
    await client.listInventory();
    expect(log.filter((line) => line.startsWith('settled'))).toEqual(['settled succeeded 0']);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await lasting).toMatchObject({ name: 'TimeoutError' });
    expect(log.filter((line) => line.startsWith('settled'))).toEqual(['settled succeeded 0', 'settled unknown 20000']);
  });

  test('settles when the client is closed, without touching what belongs to the ended request', async () => {
    const { client, seen, log } = scriptedClient([hangDeaf]);
    void client.updateInventory(42, { quantity: 1 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(6_000);
    client.close();
    expect([log.at(-1), seen[0]?.signal.aborted]).toEqual(['settled unknown 6000', false]);
  });

  test('does not settle a second time if its request continues after all', async () => {
    const answer = deferred<Response>();
    const { client, log } = scriptedClient([() => answer.promise, () => json(200, [])]);
    const late = client.updateInventory(42, { quantity: 1 });
    await vi.advanceTimersByTimeAsync(0);
    vi.clearAllTimers();
    await vi.advanceTimersByTimeAsync(6_000);
    await client.listInventory();
    answer.resolve(item(42));
    expect(await late).toMatchObject({ petId: 42 });
    expect(log.filter((line) => line.startsWith('settled'))).toEqual(['settled unknown 6000', 'settled succeeded 0']);
  });
});
