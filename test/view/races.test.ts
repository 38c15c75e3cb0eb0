import { type InventoryItem, type PetStoreApi, PetStoreClient, reply, StockView } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { item, json } from '../support/answers.ts';
import { asItem, BAD_ITEMS, BAD_UPDATED } from '../support/bad-items.ts';
import { freshAddress, KEY } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime } from '../support/time.ts';
import { openShop } from './support/shop.ts';

holdTime();

const CLOSED = { name: 'AbortError', message: 'The view was closed' };

/** A client whose pet 1 has this quantity, and whose list takes a turn; `more` replaces parts of it. */
function fakeOf(more: Partial<PetStoreApi> = {}): PetStoreApi {
  const pet = (quantity: number): InventoryItem => ({ petId: 1, quantity, status: 'available' });
  return {
    listInventory: () => reply([pet(5)]),
    streamInventory: async function* () {
      yield pet(5);
    },
    updateInventory: (_petId, { quantity }) => reply(pet(quantity)),
    ...more,
  };
}

async function* collected<Item>(items: AsyncIterable<Item>): AsyncGenerator<Item[]> {
  const batch: Item[] = [];
  for await (const item of items) batch.push(item);
  yield batch;
}

describe('StockView', () => {
  test.each(BAD_ITEMS)('rejects if its client gives %o in place of an item', async (bad, said) => {
    const streamInventory = async function* (): AsyncGenerator<InventoryItem> {
      yield* [{ petId: -(2 ** 40), quantity: 1, status: 'sold' }, asItem<InventoryItem>(bad), { petId: 9, quantity: 1, status: 'sold' }];
    };
    const batches = (): AsyncGenerator<InventoryItem[]> => collected(streamInventory());
    const views = [{ streamInventory }, { streamInventory: () => ({ ...streamInventory(), batches }) }].map(
      (list) => new StockView(fakeOf(list)),
    );
    const message = `Cannot read the list: the client gave ${said}`;
    expect(await Promise.all(views.map((view) => rejectionOf(view.get(0))))).toMatchObject(
      views.map(() => ({ kind: 'invalid-response', reason: 'schema', message })),
    );
    expect(views.map(({ size }) => size)).toEqual([0, 0]);
  });

  test.each(BAD_UPDATED)('rejects an adjustment that its client answers with %o, and then reads a list', async (bad, said) => {
    let lists = 0;
    const streamInventory = async function* (): AsyncGenerator<InventoryItem> {
      lists += 1;
      yield { petId: 5, quantity: lists, status: 'sold' };
    };
    const view = new StockView(fakeOf({ streamInventory, updateInventory: () => reply(asItem<InventoryItem>(bad)) }), { maxAgeMs: 60_000 });
    const message = `Cannot update pet 5: the client gave ${said}`;
    expect(await rejectionOf(view.adjust(5, 1))).toMatchObject({ kind: 'invalid-response', message, petId: 5, outcome: 'unknown' });
    expect(view.size).toBe(1);
    expect([(await view.get(5))?.quantity, await view.get(6)]).toEqual([2, undefined]);
  });

  test('keeps the form of its ids if its client gives something else in place of the first item', async () => {
    const firsts: InventoryItem<'bigint'>[] = [{ petId: 5n, quantity: 1, status: 'sold' }, asItem({})];
    const streamInventory = async function* (): AsyncGenerator<InventoryItem<'bigint'>> {
      yield* firsts.splice(0, 1);
    };
    const unused = () => reply(Promise.reject(new Error('unused')));
    const view = new StockView<'bigint'>({ ...fakeOf(), listInventory: unused, streamInventory, updateInventory: unused });
    await view.refresh();
    expect(await rejectionOf(view.refresh())).toMatchObject({ kind: 'invalid-response' });
    expect(view.peek(5n)?.petId).toBe(5n);
  });

  test('rejects waiting readers and reports no pet as missing if it is closed just as a list ends', async () => {
    const { view } = openShop();
    const closing = view.refresh().then(() => view.close());
    const reads = [view.get(1), view.items(), view.adjust(1, 1)].map(rejectionOf);
    await vi.advanceTimersByTimeAsync(100);
    await closing;
    expect(await Promise.all(reads)).toMatchObject([CLOSED, CLOSED, CLOSED]);
  });

  test('closed by a consumer of the changes that a list brings, sends no adjustment that waited for the list', async () => {
    const { view, sandbox, log } = openShop({ view: { maxAgeMs: 0 } });
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    const closing = view
      .changes({ maxAgeMs: 3_600_000 })
      .next()
      .then(() => view.close());
    sandbox.inventory.set(1, { quantity: 6 });
    const adjusting = rejectionOf(view.adjust(1, 1));
    await vi.advanceTimersByTimeAsync(200);
    await closing;
    expect(await adjusting).toMatchObject(CLOSED);
    expect(log()).toEqual(['GET 200', 'GET 200']);
  });

  test('sends nothing if it is closed while a look at changes is due', async () => {
    const { view, client } = openShop();
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    const change = rejectionOf(view.changes().next());
    await vi.advanceTimersByTimeAsync(4_870);
    const refreshing = rejectionOf(view.refresh());
    const started = vi.fn();
    client.on('started', started);
    // The machine was busy: the timer of the look is late.
    vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 60);
    view.close();
    expect(await Promise.all([change, refreshing])).toMatchObject([CLOSED, CLOSED]);
    expect(started).not.toHaveBeenCalled();
  });

  test('begins one list, not two, if a look at changes is due when another list fails', async () => {
    const { view, sandbox, log } = openShop();
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    const iterator = view.changes();
    const first = rejectionOf(iterator.next());
    await vi.advanceTimersByTimeAsync(4_800);
    sandbox.faults.add({ status: 501, times: 1 });
    const failing = rejectionOf(view.refresh());
    await vi.advanceTimersByTimeAsync(50);
    // Restarts the timer of the look, so that it comes after that of the answer.
    const second = iterator.next();
    await vi.advanceTimersByTimeAsync(200);
    expect(await failing).toMatchObject({ kind: 'server' });
    expect(log()).toEqual(['GET 200', 'GET 501', 'GET 200']);
    view.close();
    expect([await first, (await second).done]).toMatchObject([CLOSED, true]);
  });
});

describe('another kind of client', () => {
  test('may wait before it begins a list, even if it emits events', async () => {
    const { baseUrl, fetch, keys } = createSandbox({ pets: [{ petId: 1, quantity: 5 }] });
    const inner = new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch });
    const wrapped = fakeOf({
      streamInventory: async function* (options) {
        await Promise.resolve();
        yield* inner.streamInventory(options);
      },
      on: (name, listener) => inner.on(name, listener),
    });
    const view = new StockView(wrapped);
    expect(await view.get(1)).toMatchObject({ quantity: 5 });
    expect(view.asOf).toBeInstanceOf(Date);
  });

  test.each([
    { maxAgeMs: 0, lists: 2 },
    { maxAgeMs: 'quota' as const, lists: 2 },
    { maxAgeMs: 1, lists: 1 },
  ])('without a quota has $lists lists for two reads in one millisecond with a maxAgeMs of $maxAgeMs', async ({ maxAgeMs, lists }) => {
    const client = fakeOf();
    const list = vi.spyOn(client, 'streamInventory');
    const view = new StockView(client, { maxAgeMs });
    await view.get(1);
    await view.get(1);
    expect(list).toHaveBeenCalledTimes(lists);
  });

  test('has another list read for a read with a maxAgeMs of 0 that comes in the millisecond in which a list left, but after it', async () => {
    const client = fakeOf();
    const list = vi.spyOn(client, 'streamInventory');
    const view = new StockView(client, { maxAgeMs: 0 });
    await Promise.all([view.get(1), view.get(1)]);
    expect(list).toHaveBeenCalledTimes(2);
  });

  test.each([
    { maxStaleMs: 0, given: new Error('an outage') },
    { maxStaleMs: 1, given: { petId: 1, quantity: 5, status: 'available' } },
  ])(
    'whose list fails in the millisecond of the one before it gives, with a maxStaleMs of $maxStaleMs, $given',
    async ({ maxStaleMs, given }) => {
      const client = fakeOf();
      const view = new StockView(client, { maxAgeMs: 0, maxStaleMs });
      await view.get(1);
      vi.spyOn(client, 'streamInventory').mockImplementation(() => {
        throw new Error('an outage');
      });
      expect(await view.get(1).catch((error: unknown) => error)).toEqual(given);
    },
  );

  test('may emit no events, even if it has `on`', async () => {
    const view = new StockView(fakeOf({ on: () => () => {} }), { maxAgeMs: 1_000 });
    expect(await view.get(1)).toMatchObject({ quantity: 5 });
  });

  test('may give an empty batch among others', async () => {
    const only = { petId: 7n, quantity: 1, status: 'sold' };
    const client: PetStoreApi<'bigint'> = {
      listInventory: () => reply([only]),
      streamInventory: () => ({
        async *batches() {
          yield [only];
          yield [];
        },
        async *[Symbol.asyncIterator]() {
          yield only;
        },
      }),
      updateInventory: () => reply(only),
    };
    expect(await new StockView(client).get(7n)).toEqual(only);
  });
});

describe('what a view gives', () => {
  test('includes an update that was confirmed while the first pets were listed, and those pets', async () => {
    const lists = [[], [{ petId: 1, quantity: 5, status: 'sold' }]];
    const fetch = async (_input: unknown, { method }: RequestInit = {}) => {
      if (method === 'PATCH') return item(8, 3);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return json(200, lists.shift());
    };
    const client = new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch, plan: 'unlimited' });
    const view = new StockView(client, { maxAgeMs: 60_000 });
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    const refreshing = view.refresh();
    await vi.advanceTimersByTimeAsync(50);
    await client.updateInventory(8, { quantity: 3 });
    await vi.advanceTimersByTimeAsync(50);
    await refreshing;
    expect(Array.from(await view.items(), ({ petId, quantity }) => [petId, quantity])).toEqual([
      [1, 5],
      [8, 3],
    ]);
  });

  test('is not changed by a caller that changes the item of an update', async () => {
    const { view, client } = openShop();
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    const changes = view.changes()[Symbol.asyncIterator]();
    const updating = client.updateInventory(1, { quantity: 6 });
    await vi.advanceTimersByTimeAsync(50);
    const reading = view.refresh();
    await vi.advanceTimersByTimeAsync(50);
    const updated = await updating;
    updated.quantity = 999;
    await vi.advanceTimersByTimeAsync(50);
    await reading;
    expect(view.peek(1)?.quantity).toBe(6);
    expect((await changes.next()).value?.after?.quantity).toBe(6);
  });

  test('is a copy for each consumer', async () => {
    const { view, client } = openShop();
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await loading;
    const [one, other] = [view.changes()[Symbol.asyncIterator](), view.changes()[Symbol.asyncIterator]()];
    const updating = client.updateInventory(1, { quantity: 6 });
    await vi.advanceTimersByTimeAsync(100);
    await updating;
    const { value: first } = await one.next();
    if (first?.after) first.after.quantity = 999;
    expect((await other.next()).value?.after?.quantity).toBe(6);
  });

  test.each([
    ['started', 'the view'],
    ['wait', 'the view'],
    ['started', 'another view'],
    ['wait', 'another view'],
  ] as const)('has its list if a listener of `%s` reads %s', async (event, which) => {
    const { client, view } = openShop();
    const other = which === 'the view' ? view : new StockView(client);
    // The lists of the views wait for its answer.
    const list = client.listInventory();
    let read: unknown;
    const stop = client.on(event, () => {
      stop();
      read = other.get(1);
    });
    const changes = view.changes();
    const change = changes.next();
    await vi.advanceTimersByTimeAsync(1_000);
    await list;
    expect([await read, view.peek(1)]).toMatchObject([{ petId: 1 }, { petId: 1 }]);
    await changes.return?.();
    await change;
  });
});
