import { getEventListeners } from 'node:events';
import { ConnectionError, NotFoundError, PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { textOf } from '../src/thrown.ts';
import { chunked, failure, item, json, networkError } from './support/answers.ts';
import { freshAddress, KEY, logOf, scriptedClient } from './support/client.ts';
import { deferred } from './support/deferred.ts';
import { drain } from './support/drain.ts';
import { rejectionOf, thrower } from './support/outcome.ts';
import { type Answering, hang, hangDeaf, scriptedFetch } from './support/scripted-fetch.ts';
import { holdTime, NOW_MS } from './support/time.ts';

holdTime();

describe('the events of a call tell the whole story', () => {
  test('of a success', async () => {
    const { client, log } = scriptedClient([() => item(42)]);
    await client.updateInventory(42, { quantity: 1 });
    expect(log).toEqual(['request 1 PATCH /inventory/42', 'response 200', 'settled succeeded 0']);
  });

  test('of a 429 that is waited out', async () => {
    const { client, log } = scriptedClient([() => failure(429, { 'retry-after': '7' }), () => json(200, [])]);
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    expect(await items).toEqual([]);
    expect(log).toEqual([
      'request 1 GET /inventory',
      'response 429',
      'gate closed',
      'retry in 7000 RateLimitError',
      'wait rate-limit 7000',
      'request 2 GET /inventory',
      'response 200',
      'gate open',
      expect.stringMatching(/^settled succeeded 70\d\d$/),
    ]);
  });

  test('of failures of the service, with backoff between', async () => {
    const { client, log } = scriptedClient([() => failure(502), () => Promise.reject(networkError('ECONNRESET')), () => item(42)]);
    const update = client.updateInventory(42, { quantity: 1 });
    await vi.runAllTimersAsync();
    await update;
    expect(log).toEqual([
      'request 1 PATCH /inventory/42',
      'response 502',
      'retry in 500 ServerError',
      'wait backoff 500',
      'request 2 PATCH /inventory/42',
      'retry in 1000 ConnectionError',
      'wait backoff 1000',
      'request 3 PATCH /inventory/42',
      'response 200',
      'settled succeeded 1500',
    ]);
  });

  test('of a failure that is not retried', async () => {
    const { client, log } = scriptedClient([() => failure(404)]);
    await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    expect(log).toEqual(['request 1 PATCH /inventory/42', 'response 404', 'settled rejected 0']);
  });

  test('of a body that is cut, and the retry', async () => {
    const { client, log } = scriptedClient([() => new Response(chunked(['[{"petId":'], 'break')), () => json(200, [])]);
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    expect(await items).toEqual([]);
    expect(log.slice(0, 5)).toEqual([
      'request 1 GET /inventory',
      'response 200',
      'retry in 500 ConnectionError',
      'wait backoff 500',
      'request 2 GET /inventory',
    ]);
  });

  test('from its first instant, synchronously', () => {
    const { client } = scriptedClient([() => item(42)]);
    const started = vi.fn();
    client.on('started', started);
    void client.updateInventory(42, { quantity: 1 });
    expect(started.mock.calls).toEqual([[{ callId: 1, operation: 'updateInventory', petId: 42, attempt: 0 }]]);
  });

  test('with durations that do not change if the clock is set back meanwhile', async () => {
    const late = () => new Promise<Response>((resolve) => setTimeout(resolve, 1_000, item(42)));
    const { client, log } = scriptedClient([late]);
    const answeredAfterMs: number[] = [];
    client.on('response', ({ ms }) => answeredAfterMs.push(ms));
    const [first, second] = [client.updateInventory(42, { quantity: 1 }), client.updateInventory(42, { quantity: 1 }).withResponse()];
    await vi.advanceTimersByTimeAsync(500);
    vi.setSystemTime(NOW_MS - 3_600_000);
    await vi.advanceTimersByTimeAsync(1_500);
    expect([await first, (await second).waitedMs]).toMatchObject([{ petId: 42 }, 1_000]);
    expect(answeredAfterMs).toEqual([1_000, 1_000]);
    expect(log.filter((line) => line.startsWith('settled'))).toEqual(['settled succeeded 1000', 'settled succeeded 2000']);
  });

  test('with its number, the pet, the attempt and the error', async () => {
    const { client } = scriptedClient([() => failure(404)]);
    const settled = vi.fn();
    client.on('settled', settled);
    const errors = [await rejectionOf(client.updateInventory(42n, { quantity: 1 })), await rejectionOf(client.listInventory())];
    expect(settled.mock.calls.flat()).toEqual([
      { callId: 1, operation: 'updateInventory', petId: 42n, attempt: 1, outcome: 'rejected', ms: 0, error: errors[0] },
      { callId: 2, operation: 'listInventory', attempt: 1, outcome: 'rejected', ms: 0, error: errors[1] },
    ]);
  });
});

describe('retries', () => {
  test('are five by default, for every kind of failure together', async () => {
    const { client, seen } = scriptedClient([
      () => failure(500),
      () => Promise.reject(networkError('ECONNREFUSED')),
      () => failure(408),
      () => failure(503),
    ]);
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }));
    await vi.runAllTimersAsync();
    expect(await rejection).toMatchObject({ name: 'ServerError', status: 503, attempts: 6, outcome: 'unknown' });
    expect(seen).toHaveLength(6);
  });

  test.each([408, 425, 429, 500, 502, 503, 504, 507, 599])('follow a %i', async (status) => {
    const { client, seen } = scriptedClient([() => failure(status), () => item(42)]);
    const update = client.updateInventory(42, { quantity: 1 });
    await vi.runAllTimersAsync();
    await update;
    expect(seen).toHaveLength(2);
  });

  test.each([301, 302, 307, 308, 400, 401, 403, 404, 405, 409, 418, 422, 501, 505])('do not follow a %i', async (status) => {
    const { client, seen } = scriptedClient([() => failure(status, { location: '/v1/elsewhere' })]);
    expect(await rejectionOf(client.updateInventory(42, { quantity: 1 }))).toMatchObject({ status, outcome: 'rejected', attempts: 1 });
    expect(seen).toHaveLength(1);
  });

  test('do not follow a certificate error, before which nothing was sent', async () => {
    const { client, seen } = scriptedClient([() => Promise.reject(networkError('DEPTH_ZERO_SELF_SIGNED_CERT'))]);
    expect(await rejectionOf(client.updateInventory(42, { quantity: 1 }))).toMatchObject({ name: 'ConnectionError', outcome: 'not-sent' });
    expect(seen).toHaveLength(1);
  });

  test('follow an attempt that timed out, and the last one rejects with a TimeoutError', async () => {
    const { client, seen } = scriptedClient([hangDeaf], { attemptTimeoutMs: 1_000, maxRetries: 1 });
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }));
    await vi.runAllTimersAsync();
    expect(await rejection).toMatchObject({ name: 'TimeoutError', kind: 'timeout', attempts: 2, outcome: 'unknown' });
    expect([seen.length, Date.now() - NOW_MS]).toEqual([2, 2_500]);
  });

  test('wait no shorter than the Retry-After of a failure that leaves the gate open', async () => {
    const { client, log } = scriptedClient([() => failure(500, { 'retry-after': '20' }), () => item(42)]);
    const update = client.updateInventory(42, { quantity: 1 });
    await vi.runAllTimersAsync();
    await update;
    expect(log).toContain('retry in 20000 ServerError');
    expect(log.at(-1)).toBe('settled succeeded 20000');
  });
});

describe('a 429', () => {
  test("holds a call that a listener makes when it gets the answer's event", async () => {
    const { client, seen } = scriptedClient([() => json(200, []), () => failure(429, { 'retry-after': '60' }), () => json(200, [])], {
      maxRetries: 0,
    });
    await client.listInventory();
    const calls: Promise<unknown>[] = [];
    client.on('response', ({ status }) => status === 429 && calls.push(client.listInventory()));
    await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    await vi.advanceTimersByTimeAsync(59_000);
    expect(seen).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(2_000);
    expect([seen.length, await Promise.all(calls)]).toEqual([3, [[]]]);
  });
});

describe('a 429 that is left', () => {
  test('after the retries is a RateLimitError with its status', async () => {
    const { client } = scriptedClient([() => failure(429, { 'retry-after': '1' })], { maxRetries: 1 });
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }));
    await vi.runAllTimersAsync();
    expect(await rejection).toMatchObject({ name: 'RateLimitError', status: 429, attempts: 2, retryAfterMs: 1_000, outcome: 'rejected' });
  });

  test('with a Retry-After beyond `maxWaitMs` rejects at once, and so does every later call, nothing sent', async () => {
    const { client, seen } = scriptedClient([() => failure(429, { 'retry-after': '121' })]);
    const first = await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    const second = await rejectionOf(client.updateInventory(43, { quantity: 1 }));
    expect(first).toMatchObject({ name: 'RateLimitError', status: 429, attempts: 1, retryAfterMs: 121_000 });
    expect(second).toMatchObject({
      name: 'RateLimitError',
      status: undefined,
      attempts: 0,
      outcome: 'not-sent',
      retryAt: expect.any(Date),
    });
    expect([seen.length, Date.now(), vi.getTimerCount()]).toEqual([1, NOW_MS, 0]);
  });
});

describe('an order of updates', () => {
  test('is kept for one pet, even while the first is retried', async () => {
    const { fetch, seen } = scriptedFetch(
      () => failure(502),
      () => item(42),
    );
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch });
    const both = Promise.all([client.updateInventory(42, { quantity: 1 }), client.updateInventory(42n, { quantity: 2 })]);
    await vi.runAllTimersAsync();
    await both;
    expect(seen.map(({ body }) => body)).toEqual(['{"quantity":1}', '{"quantity":1}', '{"quantity":2}']);
  });

  test('begins with the update that a listener of `started` makes', async () => {
    const { client, seen } = scriptedClient([() => item(42), () => item(42)]);
    let nested: Promise<unknown> | undefined;
    const stop = client.on('started', () => {
      stop();
      nested = client.updateInventory(42, { quantity: 2 });
    });
    const outer = client.updateInventory(42, { quantity: 1 });
    await vi.runAllTimersAsync();
    await Promise.all([outer, nested]);
    expect(seen.map(({ body }) => body)).toEqual(['{"quantity":2}', '{"quantity":1}']);
  });

  test('continues after an update that fails for good', async () => {
    const { client, seen } = scriptedClient([() => failure(404), () => item(42)]);
    const both = Promise.allSettled([client.updateInventory(42, { quantity: 1 }), client.updateInventory(42, { quantity: 2 })]);
    await vi.runAllTimersAsync();
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(seen).toHaveLength(2);
  });

  describe('refuses an update, while it waits for an earlier one, that may not wait until the gate opens', () => {
    /** An update that waits patiently, one behind it that allows a second, and one that waits patiently again. */
    async function threeUpdates(answers: Answering[], ms: number) {
      const { client, seen } = scriptedClient(answers);
      const settled: unknown[] = [];
      client.on('settled', ({ petId, callId }) => void (petId === 42 && settled.push([callId, Date.now() - NOW_MS])));
      const first = client.updateInventory(42, { quantity: 1 }, { maxWaitMs: 1_000_000 });
      await vi.advanceTimersByTimeAsync(ms);
      const refused = rejectionOf(client.updateInventory(42, { quantity: 2 }, { maxWaitMs: 1_000 }));
      const last = client.updateInventory(42, { quantity: 3 });
      await vi.runAllTimersAsync();
      await Promise.all([first, last]);
      return { refusal: await refused, settled, sent: seen.map(({ body }) => body), timers: vi.getTimerCount() };
    }

    const closing = () => failure(429, { 'retry-after': '20' });
    const EXPECTED = { kind: 'rate-limit', status: undefined, attempts: 0, outcome: 'not-sent', retryAt: new Date(NOW_MS + 20_000) };

    test('at once if the gate is closed', async () => {
      const { refusal, settled, sent, timers } = await threeUpdates([closing, () => item(42)], 500);
      expect(refusal).toMatchObject(EXPECTED);
      expect([settled[0], timers]).toEqual([[2, 500], 0]);
      expect(sent).toEqual(['{"quantity":1}', '{"quantity":1}', '{"quantity":3}']);
    });

    test('as soon as the gate closes', async () => {
      const late = () => new Promise<Response>((resolve) => setTimeout(() => resolve(closing()), 3_000));
      const { refusal, settled, sent, timers } = await threeUpdates([late, () => item(42)], 500);
      expect(refusal).toMatchObject({ ...EXPECTED, retryAt: new Date(NOW_MS + 23_000) });
      expect([settled[0], timers]).toEqual([[2, 3_000], 0]);
      expect(sent).toEqual(['{"quantity":1}', '{"quantity":1}', '{"quantity":3}']);
    });

    test('although the earlier one, which is being sent, allows a shorter wait', async () => {
      const slow = () => new Promise<Response>((resolve) => setTimeout(() => resolve(item(42)), 3_000));
      const { client, seen } = scriptedClient([() => item(42), slow, closing]);
      await client.updateInventory(42, { quantity: 0 });
      const first = client.updateInventory(42, { quantity: 1 }, { maxWaitMs: 10 });
      const refused = rejectionOf(client.updateInventory(42, { quantity: 2 }, { maxWaitMs: 1_000 }));
      await vi.advanceTimersByTimeAsync(500);
      await rejectionOf(client.listInventory({ maxRetries: 0 }));
      expect(await refused).toMatchObject({ ...EXPECTED, retryAt: new Date(Date.now() + 20_000) });
      await vi.advanceTimersByTimeAsync(3_000);
      expect([await first, seen.length]).toEqual([expect.objectContaining({ petId: 42 }), 3]);
    });

    test('when it has waited so long behind an outage', async () => {
      const down = () => failure(503);
      const { refusal, settled, timers } = await threeUpdates([down, down, down, down, down, () => item(42)], 4_000);
      expect(refusal).toMatchObject({ kind: 'server', status: 503, attempts: 0, outcome: 'not-sent' });
      expect([settled[0], timers]).toEqual([[2, 5_000], 0]);
    });

    test('and leaves no timer if both are aborted in an outage', async () => {
      const { client } = scriptedClient([() => failure(503)]);
      const leaving = new AbortController();
      const options = { signal: leaving.signal, maxRetries: 100 };
      const first = rejectionOf(client.updateInventory(42, { quantity: 1 }, { ...options, maxWaitMs: 1_000_000 }));
      await vi.advanceTimersByTimeAsync(4_000);
      const second = rejectionOf(client.updateInventory(42, { quantity: 2 }, { ...options, maxWaitMs: 60_000 }));
      await vi.advanceTimersByTimeAsync(10);
      leaving.abort(KEY);
      expect([await first, await second]).toEqual([KEY, KEY]);
      await vi.advanceTimersByTimeAsync(0);
      expect(vi.getTimerCount()).toBe(0);
    });
  });

  test('raises a low update in front of other low calls when a normal one of its pet waits behind it', async () => {
    const sandbox = createSandbox({ pets: 9 });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, concurrency: 1 });
    const low = (petId: number) => client.updateInventory(petId, { quantity: petId }, { priority: 'low' });
    const all = Promise.all([client.listInventory(), low(1), low(2), low(3), client.updateInventory(3, { quantity: 30 })]);
    await vi.runAllTimersAsync();
    await all;
    expect(sandbox.requests.map(({ path, quantity }) => `${path} ${quantity}`)).toEqual([
      '/inventory undefined',
      '/inventory/3 3',
      '/inventory/3 30',
      '/inventory/1 1',
      '/inventory/2 2',
    ]);
  });

  test('lets low calls wait for normal ones that came later', async () => {
    const sandbox = createSandbox({ pets: 9 });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, concurrency: 1 });
    const update = (petId: number, priority: 'low' | 'normal') => client.updateInventory(petId, { quantity: 1 }, { priority });
    const all = Promise.all([client.listInventory(), update(1, 'low'), update(2, 'normal'), update(3, 'low'), update(4, 'normal')]);
    await vi.runAllTimersAsync();
    await all;
    expect(sandbox.requests.map(({ petId }) => petId)).toEqual([undefined, 2n, 4n, 1n, 3n]);
  });
});

describe('an abort ends a call at once, at whatever step it is, with its reason, and leaves nothing behind:', () => {
  const reason = { because: 'the caller left' };

  /** Aborts a call after `ms`; tells what it rejected with, when, and what is left of it. */
  async function abortAfter(ms: number, controller: AbortController, call: Promise<unknown>) {
    const rejection = rejectionOf(call);
    await vi.advanceTimersByTimeAsync(ms);
    controller.abort(reason);
    const abortedAtMs = Date.now();
    const thrown = await rejection;
    return {
      isReason: thrown === reason,
      lateMs: Date.now() - abortedAtMs,
      listeners: getEventListeners(controller.signal, 'abort').length,
      timers: vi.getTimerCount(),
    };
  }

  const AT_ONCE = { isReason: true, lateMs: 0, listeners: 0, timers: 0 };

  test('before it begins, nothing sent', async () => {
    const { client, seen, log } = scriptedClient([() => item(42)]);
    const controller = new AbortController();
    controller.abort(reason);
    const call = client.updateInventory(42, { quantity: 1 }, { signal: controller.signal });
    expect(await abortAfter(0, controller, call)).toEqual(AT_ONCE);
    expect([seen.length, log]).toEqual([0, ['settled not-sent 0']]);
  });

  test('before it begins, so that it neither waits behind an earlier update of its pet nor raises or replaces it', async () => {
    const sandbox = createSandbox({ pets: 3 });
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, concurrency: 1 });
    const waits: number[] = [];
    client.on('wait', ({ callId, reason }) => void (reason === 'order' && waits.push(callId)));
    const low = { priority: 'low', latestOnly: true } as const;
    const all = Promise.all([
      client.listInventory(),
      client.updateInventory(1, { quantity: 1 }, low),
      client.updateInventory(2, { quantity: 2 }, low),
    ]);
    const rejection = rejectionOf(client.updateInventory(2, { quantity: 3 }, { latestOnly: true, signal: AbortSignal.abort(reason) }));
    await vi.runAllTimersAsync();
    await all;
    expect([await rejection, waits]).toEqual([reason, []]);
    expect(sandbox.requests.map(({ petId, quantity }) => [petId, quantity])).toEqual([
      [undefined, undefined],
      [1n, 1],
      [2n, 2],
    ]);
  });

  test('in the same instant, with nothing sent and no quota spent', async () => {
    const { client, seen, log } = scriptedClient([() => item(42)]);
    const controller = new AbortController();
    const before = client.quota.minute.remaining;
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }, { signal: controller.signal }));
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    expect([seen.length, log, client.quota.minute.remaining]).toEqual([0, ['settled not-sent 0'], before]);
  });

  test('by a listener of its `request` event, with nothing sent and no quota spent', async () => {
    const { client, seen, log } = scriptedClient([() => item(42)]);
    const controller = new AbortController();
    const before = client.quota.minute.remaining;
    client.on('request', () => controller.abort(reason));
    expect(await rejectionOf(client.updateInventory(42, { quantity: 1 }, { signal: controller.signal }))).toBe(reason);
    expect([seen.length, log, client.quota.minute.remaining]).toEqual([0, ['request 1 PATCH /inventory/42', 'settled not-sent 0'], before]);
  });

  test('in flight', async () => {
    const { client, seen, log } = scriptedClient([hang]);
    const controller = new AbortController();
    const call = client.updateInventory(42, { quantity: 1 }, { signal: controller.signal });
    expect(await abortAfter(10, controller, call)).toEqual(AT_ONCE);
    expect([seen[0]?.signal.reason, log.at(-1)]).toEqual([reason, 'settled unknown 10']);
  });

  test('in flight with a fetch that ignores its signal', async () => {
    const { client, log } = scriptedClient([hangDeaf]);
    const controller = new AbortController();
    const call = client.updateInventory(42, { quantity: 1 }, { signal: controller.signal });
    expect(await abortAfter(10, controller, call)).toEqual(AT_ONCE);
    expect(log.at(-1)).toBe('settled unknown 10');
  });

  test('reading the body', async () => {
    const { client } = scriptedClient([() => new Response(chunked(['[{"petId":1'], 'stall'))]);
    const controller = new AbortController();
    expect(await abortAfter(10, controller, client.listInventory({ signal: controller.signal }))).toEqual(AT_ONCE);
  });

  test('reading the body of a failure', async () => {
    const { client } = scriptedClient([() => new Response(chunked(['{'], 'stall'), { status: 400 })]);
    const controller = new AbortController();
    expect(await abortAfter(10, controller, client.listInventory({ signal: controller.signal }))).toEqual(AT_ONCE);
  });

  test('backing off', async () => {
    const { client, seen, log } = scriptedClient([() => failure(500)]);
    const controller = new AbortController();
    expect(await abortAfter(100, controller, client.listInventory({ signal: controller.signal }))).toEqual(AT_ONCE);
    expect([seen.length, log.at(-1)]).toEqual([1, 'settled unknown 100']);
  });

  test('waiting behind a closed gate', async () => {
    const { client, log } = scriptedClient([() => failure(429, { 'retry-after': '60' })]);
    const controller = new AbortController();
    const call = client.updateInventory(42, { quantity: 1 }, { signal: controller.signal });
    expect(await abortAfter(1_000, controller, call)).toEqual(AT_ONCE);
    expect(log.at(-1)).toBe('settled rejected 1000');
  });

  test('waiting for quota, of which it spends none', async () => {
    const sandbox = createSandbox({ pets: 2, plans: { free: { requestsPerMinute: 1 } } });
    const plan = { requestsPerMinute: 1 };
    const client = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, plan });
    const log = logOf(client);
    await client.listInventory();
    const controller = new AbortController();
    const call = client.updateInventory(1, { quantity: 1 }, { signal: controller.signal });
    expect(await abortAfter(1_000, controller, call)).toEqual(AT_ONCE);
    expect([sandbox.requests.length, log.at(-1)]).toEqual([1, 'settled not-sent 1000']);
  });

  test('by a listener of the event queue', async () => {
    const { client, log } = scriptedClient([() => failure(429, { 'retry-after': '60' })], { maxRetries: 0 });
    await rejectionOf(client.listInventory());
    const controller = new AbortController();
    client.on('queue', () => controller.abort(reason));
    expect(await rejectionOf(client.listInventory({ signal: controller.signal }))).toBe(reason);
    expect([log.at(-1), vi.getTimerCount()]).toEqual(['settled not-sent 0', 0]);
  });

  test('waiting for an earlier update of its pet', async () => {
    const { client, seen } = scriptedClient([hang]);
    const first = rejectionOf(client.updateInventory(42, { quantity: 1 }));
    const controller = new AbortController();
    const call = client.updateInventory(42, { quantity: 2 }, { signal: controller.signal });
    expect(await abortAfter(100, controller, call)).toEqual({ ...AT_ONCE, timers: 1 });
    client.close();
    await first;
    expect(seen).toHaveLength(1);
  });

  test('waiting for the key', async () => {
    const { client, seen, log } = scriptedClient([() => item(42)], { apiKey: () => new Promise(() => {}) });
    const controller = new AbortController();
    const call = client.updateInventory(42, { quantity: 2 }, { signal: controller.signal });
    expect(await abortAfter(100, controller, call)).toEqual(AT_ONCE);
    expect([seen.length, log]).toEqual([0, ['settled not-sent 100']]);
  });

  test('with a revoked proxy, of which nothing can be read', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const { client, log } = scriptedClient([hang]);
    const controller = new AbortController();
    const calls = [controller.signal, AbortSignal.abort(proxy)].map((signal) => client.listInventory({ signal }));
    const areReasons = Promise.all(calls.map((call) => call.catch((thrown: unknown) => thrown === proxy)));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort(proxy);
    expect(await areReasons).toEqual([true, true]);
    expect(log).toEqual(['settled not-sent 0', 'request 1 GET /inventory', 'settled unknown 10']);
  });

  test('by AbortSignal.timeout and by a DOMException alike: the reason is passed on', async () => {
    const { client } = scriptedClient([hang]);
    const controller = new AbortController();
    const rejection = rejectionOf(client.listInventory({ signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(0);
    controller.abort();
    expect(await rejection).toMatchObject({ name: 'AbortError' });
    expect(await rejection).toBe(controller.signal.reason);
  });

  test('but an abort after the answer was read changes nothing', async () => {
    const { client } = scriptedClient([() => json(200, [])]);
    const controller = new AbortController();
    client.on('settled', () => controller.abort(reason));
    expect(await client.listInventory({ signal: controller.signal })).toEqual([]);
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });
});

describe('`totalTimeoutMs`', () => {
  const never = new Promise<string>(() => {});

  test('ends a call in flight', async () => {
    const { client } = scriptedClient([hang], { totalTimeoutMs: 1_000 });
    const rejection = rejectionOf(client.updateInventory(42, { quantity: 1 }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toMatchObject({
      name: 'TimeoutError',
      message: 'Cannot update pet 42: the call was not done within its `totalTimeoutMs` of 1 s',
      attempts: 1,
      outcome: 'unknown',
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('counts waiting: behind a closed gate, and for an earlier update of the pet', async () => {
    const { client } = scriptedClient([() => failure(429, { 'retry-after': '60' })]);
    const rejections = [
      rejectionOf(client.updateInventory(42, { quantity: 1 }, { totalTimeoutMs: 1_000 })),
      rejectionOf(client.updateInventory(42, { quantity: 2 }, { totalTimeoutMs: 999 })),
    ];
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await Promise.all(rejections)).toMatchObject([
      {
        name: 'TimeoutError',
        attempts: 1,
        outcome: 'rejected',
        message: expect.stringMatching(/ failed with \w+; the service closed this key until 2026/),
      },
      {
        name: 'TimeoutError',
        attempts: 0,
        outcome: 'not-sent',
        message: expect.stringMatching(/of 999 ms; an earlier update of this pet was not done$/),
      },
    ]);
    expect([Date.now() - NOW_MS, vi.getTimerCount()]).toEqual([1_000, 0]);
  });

  const refusedLease = { granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs: 30_000, reason: 'quota', members: 2 } as const;
  const usedUp = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW_MS / 1000 + 40}` };

  test.each<[string, Answering, PetStoreClientOptions, { afterMs?: number; why: string; retryAt?: Date }]>([
    [
      'the quota is used up',
      () => json(200, [], { ...usedUp, date: new Date(NOW_MS).toUTCString() }),
      {},
      { why: "this key's quota is used up until 2026-11-21T10:00:40.010Z", retryAt: new Date(NOW_MS + 40_010) },
    ],
    [
      'the service closed the key',
      () => failure(429, { 'retry-after': '30' }),
      {},
      { why: 'the service closed this key until 2026-11-21T10:00:30.000Z', retryAt: new Date(NOW_MS + 30_000) },
    ],
    [
      'its client used its share',
      () => json(200, []),
      { share: { low: 0.02 } },
      { why: "this client's share of the quota is used up until 2026-11-21T10:01:00.100Z", retryAt: new Date(NOW_MS + 60_100) },
    ],
    [
      'the store grants nothing',
      () => json(200, []),
      { quotaStore: { processes: undefined, isCheap: true, join: () => ({ exchange: () => refusedLease }) } },
      { why: "this key's quota is used up until 2026-11-21T10:00:30.000Z", retryAt: new Date(NOW_MS + 30_000) },
    ],
    ['no answer has come', hang, {}, { why: "no answer has yet said how much of this key's quota is left" }],
    ['its client has all requests in flight', hang, { concurrency: 1 }, { why: 'the most requests allowed were in flight' }],
    [
      'the service fails',
      () => failure(500),
      { maxRetries: 9 },
      { afterMs: 7_600, why: 'the service is failing', retryAt: new Date(NOW_MS + 9_500) },
    ],
  ])('says why a call that it ends was not sent: %s', async (_, answer, options, { afterMs = 0, why, retryAt }) => {
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const { client } = scriptedClient([answer], options);
    const first = Promise.allSettled([client.listInventory({ priority: 'low' })]);
    await vi.advanceTimersByTimeAsync(afterMs);
    const ended = rejectionOf(client.listInventory({ totalTimeoutMs: 900, priority: 'low' }));
    await vi.advanceTimersByTimeAsync(900);
    expect(await ended).toMatchObject({
      name: 'TimeoutError',
      message: `Cannot list the inventory: the call was not done within its \`totalTimeoutMs\` of 900 ms; ${why}`,
      attempts: 0,
      retryAt,
    });
    client.close();
    await first;
  });

  test('gives calls that it ends together the same reason', async () => {
    const { client } = scriptedClient([hang], { totalTimeoutMs: 500 });
    const ends = Array.from({ length: 5 }, () => rejectionOf(client.listInventory()));
    await vi.advanceTimersByTimeAsync(500);
    const [first, ...others] = (await Promise.all(ends)).map((error) => textOf(error, 'message')?.replace(/^.*500 ms/, ''));
    expect([first, ...new Set(others)]).toEqual(['', "; no answer has yet said how much of this key's quota is left"]);
  });

  test('says until when the quota is used up even if a request is out, and whose quota it is', async () => {
    const left = (remaining: number) => ({ ...usedUp, 'x-ratelimit-remaining': `${remaining}`, date: new Date(NOW_MS).toUTCString() });
    const reasonOf = async (answers: Answering[], options: PetStoreClientOptions) => {
      const { client } = scriptedClient(answers, options);
      await client.listInventory();
      const others = Promise.allSettled([client.listInventory(), client.listInventory(), client.listInventory()]);
      await vi.advanceTimersByTimeAsync(0);
      const ended = rejectionOf(client.listInventory({ totalTimeoutMs: 500 }));
      await vi.advanceTimersByTimeAsync(500);
      const message = textOf(await ended, 'message');
      client.close();
      await others;
      return message?.replace(/^.*500 ms; | until.*/g, '');
    };
    expect(await reasonOf([() => json(200, [], left(1)), hang], {})).toBe("this key's quota is used up");
    expect(await reasonOf([() => json(200, [], left(40))], { share: 0.05 })).toBe("this client's share of the quota is used up");
  });

  test('says what an update waits for that was superseded, and the one that takes its place', async () => {
    const { client } = scriptedClient([() => json(200, [], { ...usedUp, date: new Date(NOW_MS).toUTCString() })], { latestOnly: true });
    await client.listInventory();
    const waits = [1_500, 1_000].map((totalTimeoutMs) => rejectionOf(client.updateInventory(1, { quantity: 1 }, { totalTimeoutMs })));
    await vi.advanceTimersByTimeAsync(1_500);
    const reasons = (await Promise.all(waits)).map((error) => textOf(error, 'message')?.replace(/^.* s; | until.*/g, ''));
    expect(reasons).toEqual(["this key's quota is used up", "this key's quota is used up"]);
    client.close();
  });

  test('says that a superseded update waited for the later one, which is under way', async () => {
    const { client } = scriptedClient([() => item(1), hang], { latestOnly: true });
    await client.updateInventory(1, { quantity: 0 });
    const earlier = rejectionOf(client.updateInventory(1, { quantity: 1 }, { totalTimeoutMs: 1_000 }));
    const later = rejectionOf(client.updateInventory(1, { quantity: 2 }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(textOf(await earlier, 'message')).toMatch(/ of 1 s; a later update of this pet was not done$/);
    client.close();
    await later;
  });

  test('says that a call waited to try again, and until when', async () => {
    const { client } = scriptedClient([() => failure(500, { 'retry-after': '30' })], { totalTimeoutMs: 1_000 });
    const ended = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toMatchObject({
      message: expect.stringMatching(/ failed with \w+; it waited to try again$/),
      retryAt: new Date(NOW_MS + 30_000),
    });
  });

  test.each<[when: string, answers: Answering[], first: string | Promise<string>, options: PetStoreClientOptions]>([
    ['at first', [], never, {}],
    ['for a store', [], never, { quotaStore: { processes: undefined, isCheap: true, join: thrower } }],
    ['after a 401', [() => failure(401)], 'psk_1', {}],
  ])('says that an `apiKey` function gave no key %s', async (_when, answers, first, options) => {
    const apiKey = vi.fn(() => (apiKey.mock.calls.length === 1 ? first : never));
    const { client } = scriptedClient(answers, { totalTimeoutMs: 1_000, ...options, apiKey });
    const ended = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(textOf(await ended, 'message')).toMatch(/ of 1 s(?:, after .*)?; the `apiKey` function gave no key$/);
  });

  test('says nothing of an `apiKey` function that gave a key', async () => {
    const { client } = scriptedClient([hang], { apiKey: async () => 'psk_1', totalTimeoutMs: 1_000 });
    const ended = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(textOf(await ended, 'message')).toMatch(/of 1 s$/);
  });

  test('says that the body of a Request did not come', async () => {
    const { client, seen } = scriptedClient([() => json(200, {})], { totalTimeoutMs: 1_000 });
    const init = { method: 'PUT', body: chunked(['half'], 'stall'), duplex: 'half' };
    const ended = rejectionOf(client.fetch(new Request(`${client.baseUrl}/pets`, init)));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toMatchObject({
      message: expect.stringMatching(/ of 1 s; the body of its Request did not come$/),
      outcome: 'not-sent',
    });
    expect(seen).toEqual([]);
  });

  test('leaves no timer behind a call that ended before', async () => {
    const { client } = scriptedClient([() => json(200, [])], { totalTimeoutMs: 1_000 });
    await client.listInventory();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("the event of an answer gives the time of the service's clock", async () => {
  const dates: unknown[] = [];
  const { client } = scriptedClient([() => json(200, [], { date: 'Sat, 21 Nov 2026 09:59:00 GMT' }), () => json(200, [])]);
  client.on('response', ({ date }) => dates.push(date));
  await client.listInventory();
  await client.listInventory();
  expect(dates).toEqual([new Date('2026-11-21T09:59:00Z'), undefined]);
});

describe('an apiKey function', () => {
  test('is called once for each attempt, when the attempt has its permit', async () => {
    const apiKey = vi.fn(async () => `psk_${apiKey.mock.calls.length}`);
    const { client, seen } = scriptedClient([() => failure(500), () => json(200, [])], { apiKey });
    expect(apiKey).not.toHaveBeenCalled();
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    await items;
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer psk_1', 'Bearer psk_2']);
  });

  test.each([
    ['throws', () => Promise.reject(new Error('vault sealed'))],
    ['gives an empty key', () => ''],
    ['gives a key with a space', () => 'Bearer psk_1'],
  ])('that %s causes a ConfigurationError: no retry, nothing sent, no quota spent', async (_what, apiKey) => {
    const { client, seen, log } = scriptedClient([() => item(42)], { apiKey });
    const before = client.quota.minute.remaining;
    expect(await rejectionOf(client.updateInventory(42, { quantity: 1 }))).toMatchObject({
      name: 'ConfigurationError',
      option: 'apiKey',
      operation: 'updateInventory',
      petId: 42,
      attempts: 0,
      outcome: 'not-sent',
    });
    expect([seen.length, log, client.quota.minute.remaining]).toEqual([0, ['settled not-sent 0'], before]);
  });

  test('that gives its key after the gate has closed has nothing sent before the gate opens, and takes no quota', async () => {
    const [refusal, key] = [deferred<Response>(), deferred<string>()];
    const keys = ['psk_1', 'psk_1', key.promise];
    const limits = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '50', 'x-ratelimit-reset': '60' };
    const answers = [() => json(200, [], limits), () => refusal.promise, () => json(200, [])];
    const { client, seen } = scriptedClient(answers, { apiKey: () => keys.shift() ?? 'psk_1' });
    await client.listInventory();
    const lists = Promise.all([client.listInventory(), client.listInventory()]);
    await vi.advanceTimersByTimeAsync(10);
    refusal.resolve(failure(429, { 'retry-after': '10' }));
    await vi.advanceTimersByTimeAsync(10);
    key.resolve('psk_1');
    await vi.advanceTimersByTimeAsync(9_900);
    expect([seen.length, client.quota.minute.remaining]).toEqual([2, 49]);
    await vi.runAllTimersAsync();
    expect([await lists, seen.length]).toEqual([[[], []], 4]);
  });

  test('is called once more after a 401, and the call continues at once with another key', async () => {
    const apiKey = vi.fn(() => (apiKey.mock.calls.length === 1 ? 'psk_old' : 'psk_new'));
    const { client, seen, log } = scriptedClient([() => failure(401), () => item(42)], { apiKey });
    await client.updateInventory(42, { quantity: 1 });
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer psk_old', 'Bearer psk_new']);
    expect([apiKey.mock.calls.length, client.retryBudget.available]).toEqual([2, 10]);
    expect(log).toEqual([
      'request 1 PATCH /inventory/42',
      'response 401',
      'retry in 0 AuthenticationError',
      'request 2 PATCH /inventory/42',
      'response 200',
      'settled succeeded 0',
    ]);
  });

  test('is called again for each attempt after the one that had the key of a 401', async () => {
    const apiKey = vi.fn(() => `psk_${apiKey.mock.calls.length}`);
    const { client, seen } = scriptedClient([() => failure(401), () => failure(500), () => failure(500), () => json(200, [])], { apiKey });
    const listed = client.listInventory();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await listed).toEqual([]);
    expect(seen.map(({ headers }) => headers.authorization)).toEqual([1, 2, 3, 4].map((n) => `Bearer psk_${n}`));
  });

  test('that gives the same key after a 401 causes no second request', async () => {
    const apiKey = vi.fn(() => 'psk_1');
    const { client, log } = scriptedClient([() => failure(401)], { apiKey });
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'AuthenticationError', attempts: 1 });
    expect([apiKey.mock.calls.length, log]).toEqual([2, ['request 1 GET /inventory', 'response 401', 'settled rejected 0']]);
  });

  test('that gives another key each time is called once more, and a second 401 ends the call', async () => {
    const apiKey = vi.fn(() => `psk_${apiKey.mock.calls.length}`);
    const { client, seen } = scriptedClient([() => failure(401)], { apiKey });
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'AuthenticationError', attempts: 2 });
    expect([seen.length, apiKey.mock.calls.length]).toEqual([2, 2]);
  });

  test('that fails after a 401 does not replace the 401', async () => {
    const apiKey = vi.fn(() => (apiKey.mock.calls.length === 1 ? 'psk_1' : ''));
    const { client } = scriptedClient([() => failure(401)], { apiKey });
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'AuthenticationError', attempts: 1 });
  });

  test('is not called after a 401 if the call may not be retried', async () => {
    const apiKey = vi.fn(() => `psk_${apiKey.mock.calls.length}`);
    const { client, seen } = scriptedClient([() => failure(401)], { apiKey, maxRetries: 0 });
    expect(await rejectionOf(client.listInventory())).toMatchObject({ name: 'AuthenticationError', attempts: 1 });
    expect([seen.length, apiKey.mock.calls.length]).toEqual([1, 1]);
  });

  test('that never answers after a 401 does not hold up an abort of the call', async () => {
    const apiKey = vi.fn(() => (apiKey.mock.calls.length === 1 ? 'psk_1' : new Promise<string>(() => {})));
    const { client } = scriptedClient([() => failure(401)], { apiKey });
    const rejection = rejectionOf(client.listInventory({ signal: AbortSignal.timeout(1_000) }));
    await vi.advanceTimersByTimeAsync(1_100);
    expect(await rejection).toMatchObject({ name: 'TimeoutError' });
  });

  test('is called once more for a fetch and a stream too', async () => {
    const apiKey = vi.fn(() => `psk_${apiKey.mock.calls.length}`);
    const { client } = scriptedClient([() => failure(401), () => json(200, []), () => failure(401), () => json(200, [])], { apiKey });
    expect((await client.fetch('/store/orders', { method: 'POST', body: '{}' })).status).toBe(200);
    expect(await drain(client.streamInventory())).toEqual({ got: [], error: undefined });
  });

  test('that gives different keys never shows any of them', async () => {
    const apiKey = vi.fn(async () => `psk_hunter${apiKey.mock.calls.length}`);
    const { client } = scriptedClient([() => failure(500), () => json(404, { code: 'x', message: 'psk_hunter1 psk_hunter2' })], { apiKey });
    const rejection = rejectionOf(client.listInventory());
    await vi.runAllTimersAsync();
    expect(await rejection).toMatchObject({ message: expect.stringMatching(/x: \*\*\* \*\*\*; check the address/) });
  });
});

test('a connection failure has the innermost code and keeps the cause', async () => {
  const { client } = scriptedClient([() => Promise.reject(networkError('ECONNREFUSED'))], { maxRetries: 0 });
  const error = await rejectionOf(client.updateInventory(42, { quantity: 1 }));
  expect(error).toBeInstanceOf(ConnectionError);
  expect(error).toMatchObject({ code: 'ECONNREFUSED', status: undefined, outcome: 'not-sent', cause: expect.any(Error) });
});

describe('the stack of an error names the line of the call once', () => {
  async function restock<Given>(call: () => Promise<Given>): Promise<Given> {
    return await call();
  }

  const RESTOCKING = /\n {4}at (?:async )?restock \(/g;

  test.each<[string, Answering, (client: PetStoreClient) => Promise<unknown>]>([
    ['a connection failure', () => Promise.reject(networkError('ECONNRESET')), (client) => client.listInventory()],
    ['a list that was refused', () => failure(401), (client) => client.listInventory()],
    ['an update that was refused', () => failure(404), (client) => client.updateInventory(42, { quantity: 1 })],
    ['an update whose whole reply is awaited', () => failure(404), (client) => client.updateInventory(42, { quantity: 1 }).withResponse()],
    ['an attempt without an answer', hangDeaf, (client) => client.updateInventory(42, { quantity: 1 })],
    ['a call that took too long', hangDeaf, (client) => client.listInventory({ totalTimeoutMs: 10 })],
    ['a stream that was refused', () => failure(401), async (client) => await client.streamInventory()[Symbol.asyncIterator]().next()],
    ['a request of `fetch`', () => Promise.reject(networkError('ECONNRESET')), (client) => client.fetch('/store/orders')],
  ])('that %s causes', async (_what, answer, call) => {
    const { client } = scriptedClient([answer], { maxRetries: 0 });
    const rejection = rejectionOf(restock(() => call(client)));
    await vi.runAllTimersAsync();
    const stack = textOf(await rejection, 'stack');
    expect(stack?.match(RESTOCKING)).toHaveLength(1);
    expect(stack).not.toMatch(/#fail|called/);
  });

  test('that a bad option of a stream causes, though much of the client is between', async () => {
    const { client } = scriptedClient([]);
    async function readAll(): Promise<unknown> {
      return await client.streamInventory({ maxRetries: -1 })[Symbol.asyncIterator]().next();
    }
    const error = await rejectionOf(readAll());
    expect(error).toMatchObject({ name: 'ConfigurationError', stack: expect.stringContaining(' at readAll (') });
  });

  test('even if updates that it supersedes reject with it too', async () => {
    const { client } = scriptedClient([() => failure(404)], { latestOnly: true });
    const restocking = [1, 2, 3].map((quantity) => rejectionOf(restock(() => client.updateInventory(42, { quantity }))));
    const [first, ...others] = await Promise.all(restocking);
    expect(others).toEqual([first, first]);
    expect(textOf(first, 'stack')?.match(RESTOCKING)).toHaveLength(1);
  });

  test.each<[string, typeof Error.prepareStackTrace]>([
    ['a list of call sites', (_error, sites) => sites],
    ['nothing', () => undefined],
  ])('unless the program makes %s of its stacks: the call rejects and settles as always', async (_what, prepareStackTrace) => {
    const { client, log } = scriptedClient([() => failure(404)]);
    const { prepareStackTrace: before } = Error;
    onTestFinished(() => void Object.assign(Error, { prepareStackTrace: before }));
    Object.assign(Error, { prepareStackTrace });
    const rejection = await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    Object.assign(Error, { prepareStackTrace: before });
    expect(rejection).toBeInstanceOf(NotFoundError);
    expect(log.at(-1)).toBe('settled rejected 0');
  });

  test("unless it is the reason of the caller's own abort", async () => {
    const reason = new ConnectionError('the shop closed');
    const { stack } = reason;
    const { client } = scriptedClient([hang]);
    const controller = new AbortController();
    const rejection = rejectionOf(restock(() => client.listInventory({ signal: controller.signal })));
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    expect(reason.stack).toBe(stack);
  });
});
