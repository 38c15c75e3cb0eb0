import {
  ConnectionError,
  type InventoryItem,
  type InventoryStream,
  type ListSink,
  PetStoreClient,
  type RequestOptions,
} from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { chunked, json } from './support/answers.ts';
import { scriptedClient } from './support/client.ts';
import { drain } from './support/drain.ts';
import { rejectionOf, thrownBy } from './support/outcome.ts';
import { holdTime } from './support/time.ts';

holdTime();

const pet = (petId: number) => ({ petId, quantity: 1, status: 'sold' });

/** An answer whose body never ends, and that notes when it is dropped. */
function endless(): { answer: () => Response; onCancel: ReturnType<typeof vi.fn> } {
  const onCancel = vi.fn();
  const begin = new TextEncoder().encode(`[${JSON.stringify(pet(1))},${JSON.stringify(pet(2))},`);
  const body = () => new ReadableStream({ start: (controller) => controller.enqueue(begin), cancel: onCancel });
  return { answer: () => new Response(body()), onCancel };
}

/** A sink that keeps the number of items of each answer. */
function sinkOf(sizes: number[]): ListSink {
  const add = (items: InventoryItem[]) => sizes.push((sizes.pop() ?? 0) + items.length);
  return { begin: () => void sizes.push(0), add };
}

describe('InventoryStream', () => {
  test('throws at a second iteration, of either kind', async () => {
    const { client, seen } = scriptedClient([() => json(200, [pet(1)])]);
    const stream = client.streamInventory();
    const items = stream[Symbol.asyncIterator]();
    const refusal = { kind: 'invalid-argument', argument: 'stream', message: expect.stringContaining('a second time') };
    expect(thrownBy(() => stream[Symbol.asyncIterator]())).toMatchObject(refusal);
    expect(thrownBy(() => stream.batches())).toMatchObject(refusal);
    expect(await rejectionOf(stream.collect(sinkOf([])))).toMatchObject(refusal);
    expect(await items.next()).toEqual({ done: false, value: pet(1) });
    expect(seen).toHaveLength(1);
  });

  test('gives the items in arrays with batches(), none of them empty', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2), pet(3)])]);
    const { got: batches } = await drain(client.streamInventory().batches());
    expect(batches.flat()).toEqual([pet(1), pet(2), pet(3)]);
    expect(batches.filter((batch) => batch.length === 0)).toEqual([]);
  });

  test.each([
    ['items', (stream: InventoryStream) => stream[Symbol.asyncIterator]()],
    ['batches', (stream: InventoryStream) => stream.batches()],
  ])('begins its call synchronously when the first %s is asked for', async (_what, read) => {
    const { client } = scriptedClient([() => json(200, [pet(1)])]);
    const told: string[] = [];
    client.on('started', ({ operation }) => told.push(operation));
    const reading = read(client.streamInventory());
    told.push('not asked yet');
    const first = reading.next();
    expect(told).toEqual(['not asked yet', 'streamInventory']);
    await first;
  });

  test.each([
    ['items', [[1], [2], [3]], (stream: InventoryStream) => stream[Symbol.asyncIterator]()],
    ['batches', [[1, 2, 3], undefined, undefined], (stream: InventoryStream) => stream.batches()],
  ])('sends one request if a listener of `started` asks for the next %s, and keeps the order of the reads', async (_what, given, read) => {
    const { client, seen } = scriptedClient([() => json(200, [pet(1), pet(2), pet(3)])]);
    const reading = read(client.streamInventory());
    const reads: ReturnType<typeof reading.next>[] = [];
    client.on('started', () => void reads.push(reading.next()));
    const first = reading.next();
    const last = reading.next();
    const ids = (await Promise.all([first, ...reads, last])).map(({ value }) => value && [value].flat().map(({ petId }) => petId));
    expect([ids, seen.length]).toEqual([given, 1]);
  });

  test('answers reads that are not awaited one after the other, as a generator does', async () => {
    const { client, seen } = scriptedClient([() => json(200, [pet(1), pet(2)])]);
    const batches = client.streamInventory().batches();
    expect(await Promise.all([batches.next(), batches.next()])).toEqual([
      { done: false, value: [pet(1), pet(2)] },
      { done: true, value: undefined },
    ]);
    expect(seen).toHaveLength(1);
  });

  test('gives items in the order of the reads, whenever the next one is made', async () => {
    const readAfter = async (microtasks: number) => {
      const { client } = scriptedClient([() => json(200, [pet(1), pet(2), pet(3)])]);
      const items = client.streamInventory()[Symbol.asyncIterator]();
      const given: (number | undefined)[] = [];
      const read = () => items.next().then(({ value }) => given.push(value?.petId));
      const early = [read(), read()];
      for (let left = microtasks; left > 0; left--) await null;
      await Promise.all([...early, read()]);
      return given;
    };
    const orders = await Promise.all(Array.from({ length: 100 }, (_, microtasks) => readAfter(microtasks)));
    expect(orders).toEqual(Array(100).fill([1, 2, 3]));
  });

  test('gives ten thousand reads that are not awaited their items one by one', async () => {
    const items = Array.from({ length: 10_000 }, (_, index) => `${index === 0 ? '[' : ','}${JSON.stringify(pet(index))}`);
    const { client } = scriptedClient([() => new Response(chunked([...items, ']']))]);
    const reader = client.streamInventory()[Symbol.asyncIterator]();
    const reads = await Promise.all(items.map(() => reader.next()));
    expect(reads.map(({ value }) => value?.petId)).toEqual(items.map((_, index) => index));
  });

  test('gives reads that are not awaited all good items before a failure, as reads that are', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2), pet(3), { petId: 'x' }])]);
    const items = client.streamInventory()[Symbol.asyncIterator]();
    const ends = await Promise.allSettled([1, 2, 3, 4, 5].map(() => items.next()));
    const given = [1, 2, 3].map((petId) => ({ status: 'fulfilled', value: { done: false, value: pet(petId) } }));
    const failed = { status: 'rejected', reason: { message: expect.stringContaining('beyond item 3') } };
    expect(ends).toMatchObject([...given, failed, { value: { done: true } }]);
  });

  test('closes the connection when the loop is left early, and the call counts as succeeded', async () => {
    const { answer, onCancel } = endless();
    const { client, log } = scriptedClient([answer]);
    const items = client.streamInventory()[Symbol.asyncIterator]();
    await items.next();
    expect(await items.return?.()).toEqual({ done: true, value: undefined });
    expect([onCancel.mock.calls.length, log.at(-1), vi.getTimerCount()]).toEqual([1, 'settled succeeded 0', 0]);
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test('gives no more items once it is left, even if some are there and the leaving is not awaited', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2)])]);
    const items = client.streamInventory()[Symbol.asyncIterator]();
    await items.next();
    const end = { done: true, value: undefined };
    expect(await Promise.all([items.return?.(), items.next()])).toEqual([end, end]);
  });

  test.each(Array.from({ length: 10 }, (_, turns) => turns))(
    'gives no more items once it is left %i turns of the microtasks after a chunk came for a read',
    async (turns) => {
      const { readable, writable } = new TransformStream<string, string>();
      const { client } = scriptedClient([() => new Response(readable.pipeThrough(new TextEncoderStream()))]);
      const items = client.streamInventory()[Symbol.asyncIterator]();
      const writer = writable.getWriter();
      void writer.write(`[${JSON.stringify(pet(1))},`);
      await items.next();
      const read = items.next();
      void writer.write(`${JSON.stringify(pet(2))},${JSON.stringify(pet(3))},`).catch(() => {});
      for (let turn = 0; turn < turns; turn++) await null;
      const end = { done: true, value: undefined };
      expect(await Promise.all([items.return?.(), items.next(), items.next()])).toEqual([end, end, end]);
      await read;
    },
  );

  test('closes the connection when a loop over batches is left early', async () => {
    const { answer, onCancel } = endless();
    const { client } = scriptedClient([answer]);
    const batches = client.streamInventory().batches();
    expect((await batches.next()).value).toEqual([pet(1), pet(2)]);
    await batches.return?.();
    expect(onCancel).toHaveBeenCalledOnce();
    expect(await batches.next()).toEqual({ done: true, value: undefined });
  });

  test('gives its slot back once it has begun, so that its loop may make other calls', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2)]), () => json(200, pet(1)), () => json(200, pet(2))], {
      concurrency: 1,
    });
    const updated: unknown[] = [];
    for await (const { petId } of client.streamInventory()) updated.push(await client.updateInventory(petId, { quantity: 1 }));
    expect(updated).toEqual([pet(1), pet(2)]);
  });

  test('gives no more items once its signal is aborted, even if some are there', async () => {
    const { answer } = endless();
    const { client } = scriptedClient([answer]);
    const controller = new AbortController();
    const items = client.streamInventory({ signal: controller.signal })[Symbol.asyncIterator]();
    expect(await items.next()).toEqual({ done: false, value: pet(1) });
    controller.abort('enough');
    await expect(items.next()).rejects.toBe('enough');
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test.each([
    ['items', 1, (stream: InventoryStream) => stream[Symbol.asyncIterator]()],
    ['batches', 3, (stream: InventoryStream) => stream.batches()],
  ])('that gives %s says how many items it has given when `totalTimeoutMs` ends it', async (_what, given, read) => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2), pet(3)])], { totalTimeoutMs: 1_000 });
    const reader = read(client.streamInventory());
    await reader.next();
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(reader.next()).rejects.toThrow(`beyond item ${given}:`);
  });

  test('sends nothing if it is left before its first item is asked for', async () => {
    const { client, seen } = scriptedClient([() => json(200, [])]);
    const items = client.streamInventory()[Symbol.asyncIterator]();
    await items.return?.();
    expect(await items.next()).toEqual({ done: true, value: undefined });
    expect(seen).toHaveLength(0);
  });

  test('gives its slot back if it is left before its first item came, so that the next call is sent', async () => {
    const { client, seen } = scriptedClient([() => new Response(chunked(['['], 'stall')), () => json(200, [])], { concurrency: 1 });
    const items = client.streamInventory()[Symbol.asyncIterator]();
    const first = items.next();
    const list = client.listInventory();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(seen).toHaveLength(1);
    await items.return?.();
    await vi.advanceTimersByTimeAsync(100);
    expect([await first, await list]).toEqual([{ done: true, value: undefined }, []]);
  });

  test('iterates over itself with for await, to its end', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2)])]);
    const items = client.streamInventory()[Symbol.asyncIterator]();
    expect(await drain(items)).toEqual({ got: [pet(1), pet(2)], error: undefined });
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  test('that is collected is read again from its beginning if its answer breaks in the middle, as one of the retries', async () => {
    const { baseUrl, fetch, keys } = createSandbox({ pets: 10_000, faults: [{ at: [1, 2], fail: 'cut' }] });
    const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, maxRetries: 2 });
    const events: unknown[] = [];
    client.on('settled', ({ operation, attempt, outcome }) => events.push([operation, attempt, outcome]));
    const sizes: number[] = [];
    const collected = client.streamInventory().collect(sinkOf(sizes));
    await vi.advanceTimersByTimeAsync(5_000);
    await collected;
    expect([sizes.length, sizes.at(-1), events]).toEqual([3, 10_000, [['streamInventory', 3, 'succeeded']]]);
  });

  test('that is collected rejects as listInventory does when no retries are left', async () => {
    const { baseUrl, fetch, keys } = createSandbox({ pets: 10_000, faults: [{ fail: 'cut' }] });
    const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, maxRetries: 0 });
    const sizes: number[] = [];
    const ended = rejectionOf(client.streamInventory().collect(sinkOf(sizes)));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await ended).toMatchObject({ kind: 'connection', attempts: 1 });
    expect(sizes).toHaveLength(1);
  });

  test('that is collected gives its slot back once it has begun', async () => {
    const { answer } = endless();
    const { client } = scriptedClient([answer, () => json(200, pet(1))], { concurrency: 1 });
    const sizes: number[] = [];
    const ended = rejectionOf(client.streamInventory({ totalTimeoutMs: 20_000 }).collect(sinkOf(sizes)));
    await expect.poll(() => sizes).toEqual([2]);
    expect(await client.updateInventory(1, { quantity: 1 })).toEqual(pet(1));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await ended).toMatchObject({ name: 'TimeoutError' });
  });

  test('that is collected reads on when an async sink is ready', async () => {
    const { client } = scriptedClient([() => json(200, [pet(1), pet(2)])]);
    const told: string[] = [];
    const sink: ListSink = {
      begin: async () => {
        await Promise.resolve();
        told.push('ready');
      },
      add: async (items) => {
        await Promise.resolve();
        told.push(`took ${items.length}`);
      },
    };
    await client.streamInventory().collect(sink);
    expect(told).toEqual(['ready', 'took 2']);
  });

  test.each(['begin', 'add'] as const)(
    'that is collected ends with its abort or time limit while `%s` of its sink is under way',
    async (busy) => {
      const { client, seen } = scriptedClient([() => json(200, [pet(1)])]);
      const never = () => new Promise<never>(() => {});
      const sink = { ...sinkOf([]), [busy]: never };
      const controller = new AbortController();
      const ends: unknown[] = [];
      const collect = (options: RequestOptions) =>
        void rejectionOf(client.streamInventory(options).collect(sink)).then((end) => ends.push(end));
      collect({ signal: controller.signal });
      collect({ totalTimeoutMs: 1_000 });
      await vi.advanceTimersByTimeAsync(100);
      controller.abort('enough');
      await vi.advanceTimersByTimeAsync(1_000);
      expect([ends, seen.length]).toMatchObject([['enough', { kind: 'timeout', attempts: 1 }], 2]);
    },
  );

  test.each([
    ['an Error', new Error('full')],
    ['a text, which is no Error', 'full'],
    ['a failure that the client would retry', new ConnectionError('another client lost its connection', {})],
    ['a frozen failure of another client', Object.freeze(new ConnectionError('another client lost its connection', {}))],
  ])('that is collected ends with what its sink throws, without another attempt: %s', async (_what, thrown) => {
    const fail = async () => {
      throw thrown;
    };
    const endOf = async (sink: ListSink) => {
      const { client, seen } = scriptedClient([() => json(200, [pet(1)])]);
      const end = await rejectionOf(client.streamInventory().collect(sink));
      return [end === thrown, seen.length, client.retryBudget.available === client.retryBudget.capacity];
    };
    expect(await endOf({ begin: fail, add: () => {} })).toEqual([true, 1, true]);
    expect(await endOf({ begin: () => {}, add: fail })).toEqual([true, 1, true]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([undefined, () => {}, { begin: () => {} }, { add: () => {} }])('refuses %o as a sink before anything is sent', async (bad) => {
    const { client, seen } = scriptedClient([() => json(200, [])]);
    const stream = client.streamInventory();
    const refusal = { kind: 'invalid-argument', argument: 'sink', message: expect.stringContaining('begin() and add()') };
    expect(await rejectionOf(Reflect.apply(stream.collect, stream, [bad]))).toMatchObject(refusal);
    expect(seen).toHaveLength(0);
    await stream.collect(sinkOf([]));
  });

  test('that is collected gives nothing of an empty list', async () => {
    const { client } = scriptedClient([() => json(200, [])]);
    const sizes: number[] = [];
    await client.streamInventory().collect(sinkOf(sizes));
    expect(sizes).toEqual([0]);
  });
});
