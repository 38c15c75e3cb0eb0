import { getEventListeners } from 'node:events';
import { PetStoreClient } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { chunked, failure, json, networkError } from '../support/answers.ts';
import { freshAddress, KEY, scriptedClient } from '../support/client.ts';
import { drain } from '../support/drain.ts';
import { rejectionOf } from '../support/outcome.ts';
import { hang, scriptedFetch } from '../support/scripted-fetch.ts';
import { holdTime } from '../support/time.ts';

holdTime();

const text = (petId: number, status = 'sold') => JSON.stringify({ petId, quantity: 1, status });
const pet = (petId: number, status = 'sold') => ({ petId, quantity: 1, status });

describe('streamInventory', () => {
  test('gives every item with one request, which is sent when the first item is asked for', async () => {
    const { client, seen, log } = scriptedClient([() => new Response(chunked([`[${text(1)},`, `${text(2)}`, ']']))]);
    const stream = client.streamInventory();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(seen).toHaveLength(0);
    expect(await drain(stream)).toEqual({ got: [pet(1), pet(2)], error: undefined });
    expect(log).toEqual(['request 1 GET /inventory', 'response 200', 'settled succeeded 0']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('gives no item of an empty list', async () => {
    const { client } = scriptedClient([() => json(200, [])]);
    expect(await drain(client.streamInventory())).toEqual({ got: [], error: undefined });
  });

  test('gives exact ids if the option says so', async () => {
    const { fetch } = scriptedFetch(() => new Response('[{"petId":9223372036854775807,"quantity":1,"status":"sold"}]'));
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch, int64: 'bigint' });
    expect((await drain(client.streamInventory())).got).toEqual([{ petId: 9_223_372_036_854_775_807n, quantity: 1, status: 'sold' }]);
  });

  test('announces an unknown status once, cleaned for a log', async () => {
    const { client, log } = scriptedClient([
      () => new Response(chunked([`[${text(1, `a\n${KEY}`)},`, `${text(2, `a\n${KEY}`)},`, `${text(3, 'lost')}]`])),
    ]);
    await drain(client.streamInventory());
    expect(log.filter((line) => line.startsWith('unknownStatus'))).toEqual(['unknownStatus a ***', 'unknownStatus lost']);
  });

  test('retries its beginning, as every call does', async () => {
    const { client, seen } = scriptedClient([
      () => Promise.reject(networkError('ECONNRESET')),
      () => new Response(chunked(['['], 'break')),
      () => json(200, [pet(1)]),
    ]);
    const draining = drain(client.streamInventory());
    await vi.runAllTimersAsync();
    expect(await draining).toEqual({ got: [pet(1)], error: undefined });
    expect(seen).toHaveLength(3);
  });

  test('gives the items that came before the connection broke, then an error with their number; nothing is sent again', async () => {
    const { client, seen, log } = scriptedClient([() => new Response(chunked([`[${text(1)},${text(2)},`], 'break'))]);
    const { got, error } = await drain(client.streamInventory());
    expect(got).toEqual([pet(1), pet(2)]);
    expect(error).toMatchObject({
      name: 'ConnectionError',
      operation: 'streamInventory',
      message: expect.stringMatching(/^Cannot read the inventory beyond item 2: the connection to \S+ failed: ECONNRESET$/),
    });
    expect([seen.length, log.at(-1)]).toEqual([1, 'settled unknown 0']);
  });

  test('gives the good items before the bad one, and names its row', async () => {
    const { client } = scriptedClient([() => new Response(`[${text(1)},{"petId":"x"}]`)]);
    const { got, error } = await drain(client.streamInventory());
    expect(got).toEqual([pet(1)]);
    expect(error).toMatchObject({ name: 'InvalidResponseError', reason: 'schema', problems: [{ path: '[1].petId' }, {}, {}] });
  });

  test('rejects with the failure of its request', async () => {
    const { client } = scriptedClient([() => failure(401)]);
    expect((await drain(client.streamInventory())).error).toMatchObject({ name: 'AuthenticationError', attempts: 1 });
  });

  test('rejects with a ConfigurationError for bad options, nothing sent', async () => {
    const { client, seen } = scriptedClient([() => json(200, [])]);
    const stream = Reflect.apply(client.streamInventory, client, [{ maxRetries: -1 }]);
    expect((await drain(stream)).error).toMatchObject({ name: 'ConfigurationError', option: 'maxRetries' });
    expect(seen).toHaveLength(0);
  });
});

describe('streamInventory lets its time limit', () => {
  test('stop while the consumer is busy', async () => {
    const { client } = scriptedClient([() => new Response(chunked([`[${text(1)},`, `${text(2)}]`]))], { attemptTimeoutMs: 1_000 });
    const items = client.streamInventory()[Symbol.asyncIterator]();
    await items.next();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await items.next()).toEqual({ done: false, value: pet(2) });
  });

  test('run while it waits for a chunk', async () => {
    const { client } = scriptedClient([() => new Response(chunked([`[${text(1)},`], 'stall'))], { attemptTimeoutMs: 1_000 });
    const items = client.streamInventory()[Symbol.asyncIterator]();
    await items.next();
    await vi.advanceTimersByTimeAsync(60_000);
    const rejection = rejectionOf(items.next());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toMatchObject({ name: 'TimeoutError' });
  });

  test('run for the whole stream with `totalTimeoutMs`', async () => {
    const { client } = scriptedClient([() => new Response(chunked([`[${text(1)},`], 'stall'))]);
    const items = client.streamInventory({ totalTimeoutMs: 1_000 })[Symbol.asyncIterator]();
    await items.next();
    const rejection = rejectionOf(items.next());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toMatchObject({ name: 'TimeoutError', message: expect.stringContaining('`totalTimeoutMs` of 1 s') });
  });
});

describe('streamInventory ends at once', () => {
  test('if its signal aborts while it reads', async () => {
    const { client, log } = scriptedClient([() => new Response(chunked([`[${text(1)},`], 'stall'))]);
    const controller = new AbortController();
    const items = client.streamInventory({ signal: controller.signal })[Symbol.asyncIterator]();
    await items.next();
    const rejection = rejectionOf(items.next());
    controller.abort('enough');
    expect(await rejection).toBe('enough');
    expect(log.at(-1)).toBe('settled unknown 0');
    expect([vi.getTimerCount(), getEventListeners(controller.signal, 'abort').length]).toEqual([0, 0]);
  });

  test('if its signal aborts while the consumer is busy: the connection is closed, and the next read rejects', async () => {
    const { client, seen, log } = scriptedClient([() => new Response(chunked([`[${text(1)},`], 'stall'))]);
    const controller = new AbortController();
    const items = client.streamInventory({ signal: controller.signal })[Symbol.asyncIterator]();
    await items.next();
    controller.abort('enough');
    expect([seen[0]?.signal.reason, log.at(-1)]).toEqual(['enough', 'settled unknown 0']);
    expect(await rejectionOf(items.next())).toBe('enough');
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test('if its signal aborts before its answer has come', async () => {
    const { client } = scriptedClient([hang]);
    const controller = new AbortController();
    const draining = drain(client.streamInventory({ signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(0);
    controller.abort('enough');
    expect(await draining).toEqual({ got: [], error: 'enough' });
  });

  test('if the client is closed', async () => {
    const { client } = scriptedClient([() => new Response(chunked([`[${text(1)},`], 'stall'))]);
    const items = client.streamInventory()[Symbol.asyncIterator]();
    await items.next();
    const rejection = rejectionOf(items.next());
    client.close();
    expect(await rejection).toMatchObject({ name: 'AbortError' });
  });
});
