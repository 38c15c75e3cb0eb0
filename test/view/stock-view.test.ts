import { getEventListeners } from 'node:events';
import {
  InvalidArgumentError,
  type InventoryItem,
  type PetId,
  type PetStoreApi,
  PetStoreClient,
  reply,
  StockView,
  type StockViewOptions,
} from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { HeldStock } from '../../src/view/held-stock.ts';
import { json } from '../support/answers.ts';
import { freshAddress, KEY } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { rejectionOf, soFar, thrownBy } from '../support/outcome.ts';
import { holdTime, NOW_MS } from '../support/time.ts';
import { watchUnhandled } from '../support/unhandled.ts';
import { openShop, openView, PETS } from './support/shop.ts';

holdTime();
const unhandled = watchUnhandled();

/** Gives what a promise gives after so many milliseconds of virtual time. */
async function settledIn<T>(ms: number, promise: Promise<T>): Promise<T | 'pending'> {
  promise.catch(() => {});
  await vi.advanceTimersByTimeAsync(ms);
  return Promise.race([promise, Promise.resolve<'pending'>('pending')]);
}

describe('reading', () => {
  test('reads a list again whose answer breaks after its first pets, as listInventory does', async () => {
    const sandbox = { pets: 10_000, faults: [{ at: 1, fail: 'cut' as const }], latency: 0 };
    const { view, log } = openShop({ sandbox, client: { maxRetries: 1 } });
    expect(await settledIn(2_000, view.get(9_999))).toMatchObject({ petId: 9_999 });
    expect([view.size, view.isStale, log()]).toEqual([10_000, false, ['GET 200', 'GET 200']]);
  });

  test('readers at the same time share one list, and later readers get what is held until it is older than maxAgeMs', async () => {
    const { view, log } = openShop();
    const pets = await settledIn(100, Promise.all([view.get(1), view.get(3), view.get(9), view.items({ status: 'sold' })]));
    expect(pets).toEqual([
      { petId: 1, quantity: 5, status: 'available' },
      { petId: 3, quantity: 7, status: 'pending' },
      undefined,
      expect.anything(),
    ]);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(await view.get(2)).toEqual({ petId: 2, quantity: 0, status: 'sold' });
    expect(log()).toEqual(['GET 200']);
    await vi.advanceTimersByTimeAsync(1);
    await settledIn(100, view.get(2));
    expect(log()).toEqual(['GET 200', 'GET 200']);
  });

  test('a reader joins a list that is under way if it was sent late enough, and otherwise waits for the next one', async () => {
    const { view, log } = openShop();
    const first = view.get(1, { maxAgeMs: 0 });
    await vi.advanceTimersByTimeAsync(60);
    const joining = view.get(1, { maxAgeMs: 60 });
    const later: Promise<unknown>[] = [view.get(1, { maxAgeMs: 59 }), view.get(1, { maxAgeMs: 0 }), view.refresh()];
    expect(await settledIn(40, Promise.all([first, joining]))).toHaveLength(2);
    expect(await Promise.all(later.map((read) => soFar(read)))).toEqual(['pending', 'pending', 'pending']);
    expect(await settledIn(100, Promise.all(later))).toHaveLength(3);
    expect(log()).toHaveLength(2);
  });

  test('refresh() joins a list that still waits for its slot', async () => {
    const { view, client, sandbox, log } = openShop({ client: { concurrency: 1 } });
    const update = client.updateInventory(1, { quantity: 6 });
    const lists = [view.refresh(), view.refresh(), view.get(1, { maxAgeMs: 0 })];
    await vi.advanceTimersByTimeAsync(50);
    lists.push(view.refresh());
    await settledIn(150, Promise.all([update, ...lists]));
    expect(log()).toEqual(['PATCH 200', 'GET 200']);
    expect(sandbox.report().requests).toBe(2);
  });

  test('items() gives the same items on every iteration, whatever comes later', async () => {
    const { view, client, sandbox } = openShop();
    await settledIn(100, view.refresh());
    const items = await view.items();
    const [first, ...others] = items;
    await settledIn(100, client.updateInventory(1, { quantity: 50 }));
    await settledIn(100, client.updateInventory(3, { quantity: 51 }));
    sandbox.inventory.set(77, { quantity: 1 });
    await settledIn(200, Promise.all([view.refresh(), view.refresh()]));
    expect([first, ...others]).toEqual([...items]);
    expect([...items].map(({ quantity }) => quantity)).toEqual([5, 0, 7]);
    expect([...(await view.items())].map(({ quantity }) => quantity)).toEqual([50, 0, 51, 1]);
    expect([...(await view.items({ status: 'lost' }))]).toEqual([]);
  });

  test.each([
    ['available', [1]],
    ['sold', [2]],
    ['pending', [3]],
  ])('items() gives the pets of the status %s alone', async (status, petIds) => {
    const { view } = openShop();
    await settledIn(100, view.refresh());
    expect(Array.from(await view.items({ status }), ({ petId }) => petId)).toEqual(petIds);
  });

  test('a pet that a list names twice has the values of the last', async () => {
    const row = (petId: number, quantity: number) => ({ petId, quantity, status: 'sold' });
    const fetch = async () => json(200, [row(2, 1), row(1, 2), row(2, 3), row(1, 4)]);
    const view = new StockView(new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch }));
    expect([...(await view.items())]).toEqual([row(2, 3), row(1, 4)]);
    expect(view.size).toBe(2);
  });

  test('peek(), size, asOf and isStale show what is held without a request', async () => {
    const { view, sandbox, log } = openShop();
    expect([view.peek(1), view.size, view.asOf, view.isStale]).toEqual([undefined, 0, undefined, false]);
    await settledIn(100, view.refresh());
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect([view.peek(1)?.quantity, view.size, view.asOf, view.isStale]).toEqual([5, 3, new Date(NOW_MS), false]);
    expect(log()).toEqual(['GET 200']);
    sandbox.faults.add({ status: 501 });
    await settledIn(100, rejectionOf(view.refresh()));
    expect([view.size, view.asOf, view.isStale]).toEqual([3, new Date(NOW_MS), true]);
  });

  test.each([
    ['number' as const, 7, 2 ** 40],
    ['bigint' as const, 7n, 2n ** 60n],
  ])('gives ids as the client does: %s', async (int64, small, large) => {
    const sandbox = createSandbox({ pets: [small, large].map((petId) => ({ petId, quantity: 1 })) });
    const view = openView(sandbox, int64);
    expect(await view.get(7)).toMatchObject({ petId: small });
    expect(await view.get(large)).toMatchObject({ petId: large });
    expect(Array.from(await view.items(), ({ petId }) => petId)).toEqual([small, large]);
  });
});

describe('failures of lists', () => {
  test('reject all waiting readers if nothing is held', async () => {
    const { view, sandbox } = openShop();
    sandbox.faults.add({ status: 501, times: 1 });
    const errors = await settledIn(100, Promise.all([rejectionOf(view.get(1)), rejectionOf(view.items()), rejectionOf(view.refresh())]));
    expect(errors).toMatchObject([{ kind: 'server' }, { kind: 'server' }, { kind: 'server' }]);
    expect(await settledIn(100, view.get(1))).toMatchObject({ quantity: 5 });
    expect(view.isStale).toBe(false);
  });

  test('let readers have what is held for maxStaleMs, but not refresh() and adjust()', async () => {
    const { view, sandbox, log } = openShop({ view: { maxStaleMs: 20_000 } });
    await settledIn(100, view.refresh());
    sandbox.faults.add({ status: 501 });
    await vi.advanceTimersByTimeAsync(19_800);
    const reads = Promise.all([view.get(1), rejectionOf(view.refresh()), rejectionOf(view.adjust(1, 1))]);
    expect(await settledIn(100, reads)).toMatchObject([{ quantity: 5 }, { kind: 'server' }, { kind: 'server' }]);
    expect(view.isStale).toBe(true);
    expect(await settledIn(101, rejectionOf(view.get(1)))).toMatchObject({ kind: 'server' });
    expect(log().filter((line) => line !== 'GET 501')).toEqual(['GET 200']);
  });

  test('reject readers with a maxStaleMs of 0, and after the client was closed', async () => {
    const strict = openShop({ view: { maxStaleMs: 0, maxAgeMs: 0 } });
    await settledIn(100, strict.view.refresh());
    strict.sandbox.faults.add({ status: 501 });
    expect(await settledIn(100, rejectionOf(strict.view.get(1)))).toMatchObject({ kind: 'server' });
    const { view, client } = openShop({ view: { maxAgeMs: 0 } });
    await settledIn(100, view.refresh());
    client.close();
    expect(await rejectionOf(view.get(1))).toMatchObject({ name: 'AbortError', message: 'The client was closed' });
  });
});

describe('signals', () => {
  test('an abort rejects one reader and ends the list only if no other reader waits for it', async () => {
    const { view, client } = openShop();
    const settled: unknown[] = [];
    client.on('settled', ({ outcome }) => settled.push(outcome));
    const [one, other] = [new AbortController(), new AbortController()];
    const reads = [view.get(1, { signal: one.signal }), view.get(2, { signal: other.signal })].map(rejectionOf);
    await vi.advanceTimersByTimeAsync(50);
    one.abort(new Error('gone'));
    expect(await reads[0]).toMatchObject({ message: 'gone' });
    expect(settled).toEqual([]);
    other.abort();
    expect(await reads[1]).toMatchObject({ name: 'AbortError' });
    await vi.advanceTimersByTimeAsync(0);
    expect(settled).toEqual(['unknown']);
    expect(await settledIn(100, view.get(1))).toMatchObject({ quantity: 5 });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('a read with an aborted signal sends nothing', async () => {
    const { view, log } = openShop();
    const signal = AbortSignal.abort(new Error('before'));
    const changes = view.changes({ signal });
    const errors = [
      view.get(1, { signal }),
      view.items({ signal }),
      view.refresh({ signal }),
      view.adjust(1, 1, { signal }),
      changes.next(),
    ];
    expect(await Promise.all(errors.map(rejectionOf))).toMatchObject(errors.map(() => ({ message: 'before' })));
    expect(log()).toEqual([]);
  });

  test('an abort rejects a reader also where what is held would do if the list failed', async () => {
    const { view } = openShop();
    await settledIn(100, view.refresh());
    const controller = new AbortController();
    const reads = [view.get(1, { maxAgeMs: 0, signal: controller.signal }), view.items({ maxAgeMs: 0, signal: controller.signal })];
    const errors = reads.map(rejectionOf);
    controller.abort(new Error('gone'));
    expect(await Promise.all(errors)).toMatchObject([{ message: 'gone' }, { message: 'gone' }]);
  });

  test('a signal that has aborted rejects a read also where what is held is new enough', async () => {
    const { view } = openShop();
    await settledIn(100, view.refresh());
    const signal = AbortSignal.abort(new Error('before'));
    const errors = [view.get(1, { signal }), view.items({ signal })].map(rejectionOf);
    expect(await Promise.all(errors)).toMatchObject([{ message: 'before' }, { message: 'before' }]);
  });

  test('close() rejects all waiting and all later calls, and leaves no timer', async () => {
    const { view, client } = openShop();
    const changes = view.changes();
    const waiting = [view.get(1), view.items(), view.refresh(), view.refresh(), view.adjust(1, 1), changes.next()].map(rejectionOf);
    await vi.advanceTimersByTimeAsync(50);
    view.close();
    const later = [view.get(1), view.items(), view.refresh(), view.adjust(1, 1), view.changes().next()].map(rejectionOf);
    const closed = { name: 'AbortError', message: 'The view was closed' };
    expect(await Promise.all([...waiting, ...later])).toMatchObject(Array.from({ length: 11 }, () => closed));
    expect([view.peek(1), view.size, view.asOf]).toEqual([undefined, 0, undefined]);
    expect(vi.getTimerCount()).toBe(0);
    expect((await settledIn(100, client.listInventory()))?.length).toBe(3);
  });

  test('the signal of a view, and `using`, end it', async () => {
    const controller = new AbortController();
    const { view } = openShop({ view: { signal: controller.signal } });
    const waiting = rejectionOf(view.get(1));
    controller.abort();
    expect(await waiting).toMatchObject({ name: 'AbortError' });
    const { view: used } = openShop();
    used[Symbol.dispose]();
    expect(await rejectionOf(used.get(1))).toMatchObject({ message: 'The view was closed' });
    const { view: late } = openShop({ view: { signal: controller.signal } });
    expect(await rejectionOf(late.get(1))).toMatchObject({ name: 'AbortError' });
  });

  test('an abort of the only reader of a list does not make the view stale', async () => {
    const { view } = openShop();
    await settledIn(100, view.refresh());
    const controller = new AbortController();
    const refreshing = rejectionOf(view.refresh({ signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(50);
    controller.abort();
    await refreshing;
    await vi.advanceTimersByTimeAsync(0);
    expect(view.isStale).toBe(false);
  });

  test('a view that was closed holds nothing, sends nothing, and follows no update', async () => {
    const { view, client, log } = openShop();
    await settledIn(100, view.refresh());
    view.close();
    expect([view.peek(1), view.size, view.asOf]).toEqual([undefined, 0, undefined]);
    const calls = [view.get(1), view.items(), view.refresh(), view.adjust(1, 1), view.changes().next()].map(rejectionOf);
    await settledIn(200, Promise.all(calls));
    expect(log()).toEqual(['GET 200']);
    const confirmed = vi.spyOn(HeldStock.prototype, 'confirmed');
    await settledIn(100, client.updateInventory(1, { quantity: 6 }));
    expect(confirmed).not.toHaveBeenCalled();
  });

  test('a view that was closed no longer listens to its signal', () => {
    const { signal } = new AbortController();
    const { view } = openShop({ view: { signal } });
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    view.close();
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a view without a waiting reader causes no unhandled rejection', async () => {
    const { view, sandbox } = openShop();
    sandbox.faults.add({ status: 501 });
    const controller = new AbortController();
    const read = rejectionOf(view.get(1, { signal: controller.signal }));
    controller.abort();
    await read;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

/** A client whose lists are answered when the test says so, and whose updates succeed at once. */
function manualClient(): { client: PetStoreClient; answers: ((quantity: number) => void)[] } {
  const answers: ((quantity: number) => void)[] = [];
  const fetch = async (input: unknown, init: RequestInit = {}) => {
    if (init.method === 'PATCH') {
      const { quantity } = JSON.parse(String(init.body));
      if (quantity === 666) return json(502, {});
      return json(200, { petId: Number(String(input).split('/').at(-1)), quantity, status: 'available' });
    }
    const { promise, resolve } = deferred<Response>();
    answers.push((quantity) => resolve(json(200, [{ petId: 1, quantity, status: 'available' }])));
    return promise;
  };
  return { client: new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch, plan: 'unlimited', maxRetries: 0 }), answers };
}

/** A view that holds pet 1 with a quantity of 10. */
async function loaded(client: PetStoreClient, answers: ((quantity: number) => void)[], options: StockViewOptions = {}): Promise<StockView> {
  const view = new StockView(client, { maxAgeMs: 60_000, ...options });
  const loading = view.refresh();
  await vi.advanceTimersByTimeAsync(0);
  answers.shift()?.(10);
  await loading;
  return view;
}

describe('updates of the same client', () => {
  test('are in every view of it when their promise resolves', async () => {
    const { client, answers } = manualClient();
    const views = [await loaded(client, answers), await loaded(client, answers)];
    await client.updateInventory(1, { quantity: 3 });
    expect(views.map((view) => view.peek(1)?.quantity)).toEqual([3, 3]);
    await client.updateInventory(8, { quantity: 4 });
    expect(views.map((view) => [view.size, view.peek(8)?.quantity])).toEqual([
      [2, 4],
      [2, 4],
    ]);
  });

  test('are not undone by a list that was sent before, but by one that was sent after', async () => {
    const { client, answers } = manualClient();
    const view = await loaded(client, answers);
    const early = view.refresh();
    await vi.advanceTimersByTimeAsync(1);
    await client.updateInventory(1, { quantity: 3 });
    await client.updateInventory(8, { quantity: 4 });
    answers.shift()?.(10);
    await early;
    expect([view.peek(1)?.quantity, view.peek(8)?.quantity]).toEqual([3, 4]);
    const late = view.refresh();
    await vi.advanceTimersByTimeAsync(1);
    answers.shift()?.(10);
    await late;
    expect([view.peek(1)?.quantity, view.peek(8)]).toEqual([10, undefined]);
  });

  test('are not undone by a list under way, if a reader gives up the list that would have come after it', async () => {
    const { client, answers } = manualClient();
    const view = await loaded(client, answers);
    const early = view.refresh();
    await vi.advanceTimersByTimeAsync(1);
    await client.updateInventory(1, { quantity: 3 });
    const leaving = new AbortController();
    const given = rejectionOf(view.refresh({ signal: leaving.signal }));
    leaving.abort('changed my mind');
    expect(await given).toBe('changed my mind');
    answers.shift()?.(10);
    await early;
    expect(view.peek(1)?.quantity).toBe(3);
  });

  test('are not undone by the very first list', async () => {
    const { client, answers } = manualClient();
    // A first answer, so that no request waits for another one.
    await client.updateInventory(1, { quantity: 2 });
    const view = new StockView(client);
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(1);
    await client.updateInventory(1, { quantity: 3 });
    answers.shift()?.(10);
    await loading;
    expect(view.peek(1)?.quantity).toBe(3);
  });

  test('with an unknown outcome make the view read their pet again, with a list that is sent after them', async () => {
    const { client, answers } = manualClient();
    const view = await loaded(client, answers);
    const early = view.refresh();
    await vi.advanceTimersByTimeAsync(1);
    await rejectionOf(client.updateInventory(1, { quantity: 666 }));
    expect((await view.get(8)) ?? 'held').toBe('held');
    const read = view.get(1);
    answers.shift()?.(10);
    await early;
    const later = view.get(1);
    await vi.advanceTimersByTimeAsync(1);
    expect([await soFar(read), await soFar(later)]).toEqual(['pending', 'pending']);
    answers.shift()?.(666);
    expect(await later).toMatchObject({ quantity: 666 });
    expect(await read).toMatchObject({ quantity: 666 });
    expect(await view.get(1)).toMatchObject({ quantity: 666 });
    expect(answers).toEqual([]);
  });

  test('with an unknown outcome make the view read all pets again, while other pets may come from a list that was sent before', async () => {
    const { client, answers } = manualClient();
    // A first answer, so that no request waits for another one.
    await client.updateInventory(1, { quantity: 2 });
    const view = new StockView(client, { maxAgeMs: 60_000 });
    const loading = view.refresh();
    await vi.advanceTimersByTimeAsync(1);
    await rejectionOf(client.updateInventory(1, { quantity: 666 }));
    const [other, items] = [view.get(8), view.items()];
    answers.shift()?.(10);
    await loading;
    expect(await soFar(other)).toBeUndefined();
    expect(await soFar(items)).toBe('pending');
    await vi.advanceTimersByTimeAsync(1);
    answers.shift()?.(666);
    expect(Array.from(await items, ({ quantity }) => quantity)).toEqual([666]);
  });

  test('that are refused, or confirmed after the doubt, cause no list', async () => {
    const { client, answers } = manualClient();
    const view = await loaded(client, answers);
    await rejectionOf(client.updateInventory(1, { quantity: 666 }));
    await client.updateInventory(1, { quantity: 5 });
    expect(await view.get(1)).toMatchObject({ quantity: 5 });
    await rejectionOf(client.updateInventory(1, { quantity: 6 }, { signal: AbortSignal.abort() }));
    expect(await view.get(1)).toMatchObject({ quantity: 5 });
    expect(answers).toEqual([]);
  });

  test('of two pets are in doubt separately', async () => {
    const { client, answers } = manualClient();
    const view = await loaded(client, answers);
    await Promise.all([1, 8].map((petId) => rejectionOf(client.updateInventory(petId, { quantity: 666 }))));
    await client.updateInventory(1, { quantity: 5 });
    const reading = view.get(8);
    await vi.advanceTimersByTimeAsync(1);
    expect(answers).toHaveLength(1);
    answers.shift()?.(10);
    expect(await reading).toBeUndefined();
  });

  test('of two pets that were confirmed after the doubt cause no list', async () => {
    const { client, answers } = manualClient();
    const view = await loaded(client, answers);
    await Promise.all([1, 8].map((petId) => rejectionOf(client.updateInventory(petId, { quantity: 666 }))));
    await Promise.all([1, 8].map((petId) => client.updateInventory(petId, { quantity: 5 })));
    expect(await soFar(view.items())).not.toBe('pending');
    expect(answers).toEqual([]);
  });

  test("that were superseded show the later one's quantity when their promises resolve, as one change", async () => {
    const { view, client, log } = openShop({ client: { latestOnly: true } });
    await settledIn(100, view.refresh());
    const changes: unknown[] = [];
    const watching = (async () => {
      for await (const { before, after } of view.changes({ maxAgeMs: 60_000 })) changes.push([before?.quantity, after?.quantity]);
    })();
    const updates = [7, 8, 9].map((quantity) =>
      client.updateInventory(1, { quantity }).then((item) => [item.quantity, view.peek(1)?.quantity]),
    );
    expect(await settledIn(100, Promise.all(updates))).toEqual([
      [9, 9],
      [9, 9],
      [9, 9],
    ]);
    expect(log()).toEqual(['GET 200', 'PATCH 200']);
    expect(changes).toEqual([[5, 9]]);
    view.close();
    await rejectionOf(watching);
  });

  test('that were not sent do not change the view, and one that is sent after all does', async () => {
    const { view, client, log } = openShop({ client: { latestOnly: true, concurrency: 1 } });
    await settledIn(100, view.refresh());
    const list = client.listInventory();
    const earlier = client.updateInventory(1, { quantity: 8 });
    const controller = new AbortController();
    const later = rejectionOf(client.updateInventory(1, { quantity: 9 }, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    await later;
    expect(await view.get(1)).toMatchObject({ quantity: 5 });
    await settledIn(200, Promise.all([list, earlier]));
    expect(await view.get(1)).toMatchObject({ quantity: 8 });
    expect(log()).toEqual(['GET 200', 'GET 200', 'PATCH 200']);
  });
});

describe('adjust()', () => {
  test('adds to what is held, one call after the other for each pet', async () => {
    const { view, sandbox, log } = openShop();
    const adjusting = Promise.all([view.adjust(1, -1), view.adjust(1, -1), view.adjust(3, 2), view.adjust(1, -1, { min: 2 })]);
    expect(await settledIn(400, adjusting)).toMatchObject([{ quantity: 4 }, { quantity: 3 }, { quantity: 9 }, { quantity: 2 }]);
    expect(log()).toEqual(['GET 200', 'PATCH 200', 'PATCH 200', 'PATCH 200', 'PATCH 200']);
    expect(sandbox.inventory.get(1)).toMatchObject({ quantity: 2 });
  });

  test('may reach its bounds, and has a list of normal priority read', async () => {
    const { view, client } = openShop();
    const list = vi.spyOn(client, 'streamInventory');
    expect(await settledIn(200, view.adjust(1, -5, { min: 0, max: 5 }))).toMatchObject({ quantity: 0 });
    expect(await settledIn(100, view.adjust(1, 5, { min: 0, max: 5 }))).toMatchObject({ quantity: 5 });
    expect(list.mock.calls).toMatchObject([[{ priority: 'normal' }]]);
  });

  test('refuses a result outside its bounds, and a pet that the list lacks, without an update', async () => {
    const { view, log } = openShop();
    const bad = [view.adjust(1, -6, { min: 0 }), view.adjust(1, 6, { max: 10 }), view.adjust(1, Number.MAX_SAFE_INTEGER)].map(rejectionOf);
    const errors = await settledIn(100, Promise.all(bad));
    expect(errors).toMatchObject(
      bad.map(() => ({ kind: 'invalid-argument', argument: 'delta', code: 'out_of_bounds', petId: 1, outcome: 'not-sent' })),
    );
    expect(await rejectionOf(view.adjust(1, -6, { min: 0 }))).toMatchObject({
      message: 'Cannot adjust pet 1 by -6: its quantity is 5, and the new one must be at least 0',
    });
    expect(await rejectionOf(view.adjust(9, 1))).toMatchObject({ kind: 'not-found', petId: 9, outcome: 'not-sent', attempts: 0 });
    expect(log()).toEqual(['GET 200']);
  });

  test('reads a list again after an update whose outcome is unknown', async () => {
    const { view, sandbox, log } = openShop();
    await settledIn(100, view.refresh());
    sandbox.faults.add({ fail: 'lost', times: 1 });
    const adjusting = [rejectionOf(view.adjust(1, -1)), view.adjust(1, -1)];
    expect(await settledIn(400, Promise.all(adjusting))).toMatchObject([{ outcome: 'unknown' }, { quantity: 3 }]);
    expect(log()).toEqual(['GET 200', expect.stringContaining('PATCH'), 'GET 200', 'PATCH 200']);
  });

  test('does not affect the other calls of a pet when one is aborted', async () => {
    const { view, log } = openShop();
    const controller = new AbortController();
    const [first, second, third] = [view.adjust(1, -1), view.adjust(1, -1, { signal: controller.signal }), view.adjust(1, -1)];
    const aborted = rejectionOf(second);
    controller.abort();
    expect(await aborted).toMatchObject({ name: 'AbortError' });
    expect(await settledIn(300, Promise.all([first, third]))).toMatchObject([{ quantity: 4 }, { quantity: 3 }]);
    expect(log()).toEqual(['GET 200', 'PATCH 200', 'PATCH 200']);
  });

  test('waits for the call under way even if the last one of its pet was aborted before', async () => {
    const { view, sandbox } = openShop();
    const first = view.adjust(1, -1);
    await rejectionOf(view.adjust(1, -1, { signal: AbortSignal.abort() }));
    const controller = new AbortController();
    const aborted = rejectionOf(view.adjust(1, -1, { signal: controller.signal }));
    controller.abort();
    await aborted;
    const later = view.adjust(1, -1);
    expect(await settledIn(300, Promise.all([first, later]))).toMatchObject([{ quantity: 4 }, { quantity: 3 }]);
    expect(sandbox.inventory.get(1)).toMatchObject({ quantity: 3 });
  });

  test('is sent even if a later update comes and the client has latestOnly', async () => {
    const { view, client, sandbox } = openShop({ client: { latestOnly: true, concurrency: 1 } });
    await settledIn(100, view.refresh());
    const list = client.listInventory();
    const adjusting = view.adjust(1, -1);
    await vi.advanceTimersByTimeAsync(10);
    const setting = client.updateInventory(1, { quantity: 50 });
    expect(await settledIn(300, Promise.all([list, adjusting, setting]))).toMatchObject([{}, { quantity: 4 }, { quantity: 50 }]);
    expect(sandbox.requests.map(({ quantity }) => quantity)).toEqual([undefined, undefined, 4, 50]);
    expect(view.peek(1)?.quantity).toBe(50);
  });

  test('that was not sent does not change the view, and causes no list', async () => {
    const { view, client, log } = openShop({ client: { concurrency: 1 } });
    await settledIn(100, view.refresh());
    const list = client.listInventory();
    const controller = new AbortController();
    const adjusting = rejectionOf(view.adjust(1, -1, { signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(10);
    controller.abort();
    await adjusting;
    expect(await view.get(1)).toMatchObject({ quantity: 5 });
    await settledIn(100, list);
    expect(log()).toEqual(['GET 200', 'GET 200']);
  });

  test('of a fake is in the view, and its failure makes the view read the pet again', async () => {
    const stock = new Map<PetId, number>([[1, 5]]);
    const item = (petId: PetId): InventoryItem => ({ petId: Number(petId), quantity: stock.get(petId) ?? 0, status: 'available' });
    const fake: PetStoreApi = {
      listInventory: () => reply([...stock.keys()].map(item)),
      streamInventory: vi.fn(async function* () {
        yield* [...stock.keys()].map(item);
      }),
      updateInventory: (petId, { quantity }) =>
        reply(stock.set(petId, quantity) && (quantity > 100 ? Promise.reject(new Error('no answer')) : item(petId))),
    };
    const view = new StockView(fake, { maxAgeMs: 60_000 });
    expect(await view.adjust(1, 2)).toMatchObject({ quantity: 7 });
    expect(view.peek(1)?.quantity).toBe(7);
    expect(fake.streamInventory).toHaveBeenCalledTimes(1);
    await rejectionOf(view.adjust(1, 100));
    expect(await view.adjust(1, -100)).toMatchObject({ quantity: 7 });
    expect(fake.streamInventory).toHaveBeenCalledTimes(2);
  });
});

describe('bad input', () => {
  test.each([
    [{ maxAgeMs: -1 }, 'maxAgeMs'],
    [{ maxAgeMs: 'fresh' }, 'maxAgeMs'],
    [{ maxAgeMs: Number.NaN }, 'maxAgeMs'],
    [{ maxStaleMs: -1 }, 'maxStaleMs'],
    [{ quotaShare: 0 }, 'quotaShare'],
    [{ quotaShare: 1.5 }, 'quotaShare'],
    [{ signal: {} }, 'signal'],
    [{ maxAge: 5 }, 'maxAge'],
    [null, 'options'],
  ])('an option that is out of range throws: %j', (options, option) => {
    const { client } = openShop();
    expect(thrownBy(() => Reflect.construct(StockView, [client, options]))).toMatchObject({ kind: 'configuration', option });
  });

  test('an option of a read that is out of range rejects the read, with nothing sent', async () => {
    const { view, log } = openShop();
    const call = async (method: string, ...args: unknown[]) => Reflect.apply(Reflect.get(view, method), view, args);
    const errors = [
      call('get', 1, { maxAgeMs: -1 }),
      call('get', 1, { status: 'sold' }),
      call('get', 1, { signal: {} }),
      call('items', { status: 5 }),
      call('items', { maxAgeMs: -1 }),
      call('items', { pets: 5 }),
      call('refresh', { signal: {} }),
      call('refresh', { maxAgeMs: 5 }),
      call('changes', { maxAgeMs: -1 }),
      call('adjust', 1, 1, { min: 0.5 }),
      call('adjust', 1, 1, { min: 2, max: 1 }),
      call('adjust', 1, 1, { most: 5 }),
    ];
    const options = ['maxAgeMs', 'status', 'signal', 'status', 'maxAgeMs', 'pets', 'signal', 'maxAgeMs', 'maxAgeMs', 'min', 'min', 'most'];
    expect(await Promise.all(errors.map(rejectionOf))).toMatchObject(options.map((option) => ({ kind: 'configuration', option })));
    expect(log()).toEqual([]);
  });

  test('a bad id, delta or client is an InvalidArgumentError, and a bad argument of an adjustment is not sent', async () => {
    const { view, log } = openShop();
    const unsent = { operation: 'updateInventory', outcome: 'not-sent' };
    const ids = [2 ** 53, 1.5, 2n ** 63n].map((petId) => rejectionOf(view.get(petId)));
    expect(await Promise.all(ids)).toMatchObject(ids.map(() => ({ kind: 'invalid-argument', argument: 'petId' })));
    expect(thrownBy(() => view.peek(0.5))).toBeInstanceOf(InvalidArgumentError);
    expect(await rejectionOf(view.adjust(1.5, 1))).toMatchObject({ argument: 'petId', ...unsent });
    expect(await rejectionOf(view.adjust(1, 0.5))).toMatchObject({ argument: 'delta', petId: 1, ...unsent });
    expect(await rejectionOf(view.adjust(1, 1, { min: 2, max: 1 }))).toMatchObject({ option: 'min', petId: 1, ...unsent });
    expect(thrownBy(() => Reflect.construct(StockView, [{}]))).toMatchObject({ argument: 'client' });
    expect(log()).toEqual([]);
  });

  test('a view of a client that was closed rejects as the client does', async () => {
    const { client } = openShop();
    client.close();
    const view = new StockView(client);
    expect(await rejectionOf(view.get(1))).toMatchObject({ name: 'AbortError', message: 'The client was closed' });
    expect(await rejectionOf(view.changes().next())).toMatchObject({ name: 'AbortError', message: 'The client was closed' });
  });
});

test('PETS of the tests are those that the sandbox lists', async () => {
  const { view } = openShop();
  expect((await settledIn(100, view.items())) === 'pending' ? [] : Array.from(await view.items(), ({ petId }) => petId)).toEqual(
    PETS.map(({ petId }) => petId),
  );
});
