import { type StockChange, StockView, type ViewReadOptions } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { IntColumn } from '../../src/stock/int-column.ts';
import { rejectionOf, soFar } from '../support/outcome.ts';
import { holdTime, NOW_MS } from '../support/time.ts';
import { openShop, type Shop } from './support/shop.ts';

holdTime();

/** Writes down changes as `1: 5 -> 6`, as they come. */
function watch(view: StockView, options?: ViewReadOptions): { told: string[]; ended: Promise<unknown> } {
  const told: string[] = [];
  const run = async () => {
    for await (const change of view.changes(options)) told.push(show(change));
  };
  const ended = run().catch((error: unknown) => error);
  return { told, ended };
}

function show({ petId, before, after }: StockChange): string {
  return `${petId}: ${before?.quantity ?? 'new'} -> ${after?.quantity ?? 'gone'}`;
}

async function openLoaded(...options: Parameters<typeof openShop>): Promise<Shop> {
  const shop = openShop(...options);
  const loading = shop.view.refresh();
  await vi.advanceTimersByTimeAsync(100);
  await loading;
  return shop;
}

describe('changes()', () => {
  test('reports pets that changed, came and went since iteration began, at the pace of maxAgeMs', async () => {
    const { view, sandbox, log } = await openLoaded();
    const { told } = watch(view);
    sandbox.inventory.set(1, { quantity: 6 });
    sandbox.inventory.set(9, { quantity: 1 });
    sandbox.inventory.delete(2);
    await vi.advanceTimersByTimeAsync(4_800);
    expect(told).toEqual([]);
    await vi.advanceTimersByTimeAsync(200);
    expect(told.toSorted()).toEqual(['1: 5 -> 6', '2: 0 -> gone', '9: new -> 1']);
    await vi.advanceTimersByTimeAsync(50_000);
    expect(log().length).toBe(12);
    expect(told).toHaveLength(3);
  });

  test('loads an empty view first, and does not report what it found', async () => {
    const { view, sandbox } = openShop();
    const { told } = watch(view);
    await vi.advanceTimersByTimeAsync(200);
    expect([view.size, told]).toEqual([3, []]);
    sandbox.inventory.set(1, { quantity: 6 });
    await vi.advanceTimersByTimeAsync(5_100);
    expect(told).toEqual(['1: 5 -> 6']);
  });

  test('reports updates of the same client at once, and changes in lists that others asked for', async () => {
    const { view, client, sandbox } = await openLoaded({ view: { maxAgeMs: 3_600_000 } });
    const { told } = watch(view);
    const updating = client.updateInventory(1, { quantity: 8 });
    await vi.advanceTimersByTimeAsync(100);
    await updating;
    expect(told).toEqual(['1: 5 -> 8']);
    sandbox.inventory.set(3, { quantity: 6 });
    const reading = view.get(3, { maxAgeMs: 0 });
    await vi.advanceTimersByTimeAsync(100);
    await reading;
    expect(told).toEqual(['1: 5 -> 8', '3: 7 -> 6']);
  });

  test('merges several changes of a pet for a busy consumer, and drops them if they cancel out', async () => {
    const { view, sandbox } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const busy = view.changes();
    const first = busy.next();
    const steps: Record<number, number>[] = [
      { 1: 6, 3: 1 },
      { 1: 7, 2: 9 },
      { 1: 8, 2: 0 },
    ];
    for (const step of steps) {
      for (const [petId, quantity] of Object.entries(step)) sandbox.inventory.set(Number(petId), { quantity });
      await vi.advanceTimersByTimeAsync(1_100);
    }
    const told = [await first, await busy.next(), await busy.next()].map(({ value }) => value && show(value));
    expect(told).toEqual(['1: 5 -> 6', '3: 7 -> 1', '1: 6 -> 8']);
    const next = busy.next();
    await vi.advanceTimersByTimeAsync(1_100);
    expect(await soFar(next)).toBe('pending');
    await busy.return?.();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  test('serves several consumers with one list at the pace of the fastest, each with all changes', async () => {
    const { view, sandbox, log } = await openLoaded();
    const consumers = [watch(view, { maxAgeMs: 1_000 }), watch(view, { maxAgeMs: 10_000 }), watch(view)];
    for (let quantity = 10; quantity < 13; quantity++) {
      sandbox.inventory.set(1, { quantity });
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(consumers.map(({ told }) => told)).toEqual(consumers.map(() => ['1: 5 -> 10', '1: 10 -> 11', '1: 11 -> 12']));
    expect(log().length).toBe(4);
  });

  test.each([0, 99, 'quota' as const])('has ten lists a second read, not more, with a maxAgeMs of %s', async (maxAgeMs) => {
    const unlimited = { requestsPerMinute: 100_000, requestsPerDay: 10_000_000 };
    const { view, sandbox } = openShop({
      sandbox: { latency: 0, plans: { business: unlimited } },
      client: { plan: unlimited },
      view: { maxAgeMs },
    });
    watch(view);
    await vi.advanceTimersByTimeAsync(950);
    expect(sandbox.requests.map(({ atMs }) => atMs - NOW_MS)).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
    view.close();
  });

  test('survives an outage, asks rarely during it, and reports what changed meanwhile', async () => {
    const { view, sandbox, log } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const { told } = watch(view);
    const mend = sandbox.faults.add({ status: 503 });
    await vi.advanceTimersByTimeAsync(600_000);
    const asked = log().filter((line) => line === 'GET 503').length;
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(90);
    sandbox.inventory.set(1, { quantity: 6 });
    mend();
    await vi.advanceTimersByTimeAsync(70_000);
    expect(told).toEqual(['1: 5 -> 6']);
  });

  test('is as fresh as before an outage once a reader has had a list read', async () => {
    const { view, sandbox, log } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const { told } = watch(view);
    const mend = sandbox.faults.add({ status: 503 });
    await vi.advanceTimersByTimeAsync(600_000);
    mend();
    const refreshed = view.refresh();
    await vi.advanceTimersByTimeAsync(200);
    await refreshed;
    sandbox.inventory.set(1, { quantity: 6 });
    const asked = log().length;
    await vi.advanceTimersByTimeAsync(1_000);
    expect([told, log().length - asked]).toEqual([['1: 5 -> 6'], 1]);
  });

  test('ends with the reason of its signal, when the view is closed, and when the key is refused', async () => {
    const { view, sandbox } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const controller = new AbortController();
    const [aborted, refused] = [watch(view, { signal: controller.signal }), watch(view)];
    controller.abort(new Error('enough'));
    expect(await aborted.ended).toMatchObject({ message: 'enough' });
    sandbox.revokeKey(sandbox.keys.business);
    await vi.advanceTimersByTimeAsync(1_100);
    expect(await refused.ended).toMatchObject({ kind: 'authentication' });
    const closed = watch(view);
    view.close();
    expect(await closed.ended).toMatchObject({ name: 'AbortError' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('ends at once when the client is closed, for consumers that wait, are busy, or begin later', async () => {
    const { view, client, log } = await openLoaded({ view: { maxAgeMs: 3_600_000 } });
    const waiting = watch(view);
    const busy = view.changes()[Symbol.asyncIterator]();
    client.close();
    const closed = { name: 'AbortError', message: 'The client was closed' };
    expect(await soFar(waiting.ended)).toMatchObject(closed);
    expect(await rejectionOf(busy.next())).toMatchObject(closed);
    expect(await soFar(watch(view).ended)).toMatchObject(closed);
    expect([log(), vi.getTimerCount()]).toEqual([['GET 200'], 0]);
  });

  test('ends at once in a view that was made when its client was closed already', async () => {
    const { client, sandbox } = openShop({ sandbox: { faults: [{ status: 429, headers: { 'retry-after': '30' } }] } });
    const refused = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(100);
    expect(await refused).toMatchObject({ status: 429 });
    client.close();
    const view = new StockView(client);
    const [read, iterated] = [await rejectionOf(view.get(1)), await soFar(watch(view).ended)];
    expect(read).toMatchObject({ name: 'AbortError', message: 'The client was closed' });
    expect([iterated, sandbox.requests.length, vi.getTimerCount()]).toEqual([read, 1, 0]);
  });

  test('aborts the list under way when its last consumer leaves, and not before', async () => {
    const { view, client } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const outcomes: string[] = [];
    client.on('settled', ({ error }) => outcomes.push(error instanceof Error ? error.name : 'listed'));
    const leaving = [new AbortController(), new AbortController()];
    const consumers = leaving.map(({ signal }) => watch(view, { signal }));
    await vi.advanceTimersByTimeAsync(950);
    leaving[0]?.abort();
    await vi.advanceTimersByTimeAsync(200);
    expect(outcomes).toEqual(['listed']);
    await vi.advanceTimersByTimeAsync(800);
    leaving[1]?.abort();
    await Promise.all(consumers.map(({ ended }) => ended));
    await vi.advanceTimersByTimeAsync(10);
    expect(outcomes).toEqual(['listed', 'AbortError']);
  });

  test('has lists of low priority read, and lists are compared only while somebody iterates', async () => {
    const { view, client } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const compare = vi.spyOn(IntColumn.prototype, 'endOfShared');
    const list = vi.spyOn(client, 'streamInventory');
    const changes = view.changes();
    const next = changes.next();
    await vi.advanceTimersByTimeAsync(1_100);
    expect(list.mock.calls).toMatchObject([[{ priority: 'low' }]]);
    expect(compare).toHaveBeenCalled();
    await changes.return?.();
    await next;
    compare.mockClear();
    const refreshing = view.refresh();
    await vi.advanceTimersByTimeAsync(100);
    await refreshing;
    expect(list.mock.lastCall).toMatchObject([{ priority: 'normal' }]);
    expect(compare).not.toHaveBeenCalled();
  });

  test('sends nothing more once its last consumer has left', async () => {
    const { view, log } = await openLoaded({ view: { maxAgeMs: 1_000 } });
    const changes = view.changes();
    const next = changes.next();
    await vi.advanceTimersByTimeAsync(850);
    await changes.return?.();
    expect(await next).toMatchObject({ done: true });
    expect(await changes.next()).toMatchObject({ done: true });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(log()).toEqual(['GET 200']);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('uses low priority for its lists, but raises a list for which a reader waits', async () => {
    const { view, client, sandbox } = openShop({ plan: 'free', sandbox: { latency: 0, plans: { free: { requestsPerMinute: 6 } } } });
    const spent = Promise.all(Array.from({ length: 6 }, () => client.listInventory()));
    await vi.advanceTimersByTimeAsync(100);
    await spent;
    watch(view);
    await vi.advanceTimersByTimeAsync(100);
    const updates = Array.from({ length: 4 }, (_, quantity) => client.updateInventory(3, { quantity }));
    const read = view.get(1);
    updates.push(...Array.from({ length: 20 }, (_, quantity) => client.updateInventory(3, { quantity })));
    await vi.advanceTimersByTimeAsync(62_000);
    expect(await soFar(read)).toMatchObject({ quantity: 5 });
    const methods = sandbox.requests.map(({ method }) => method).slice(6);
    expect(methods.indexOf('GET')).toBeLessThanOrEqual(5);
    await Promise.race([rejectionOf(Promise.all(updates)), Promise.resolve()]);
    client.close();
    await Promise.allSettled(updates);
  });

  test('raises a list for which a reader waits even if its first request was refused', async () => {
    const { view, client, sandbox, log } = await openLoaded({ client: { concurrency: 1, maxRetries: 1 } });
    watch(view);
    sandbox.faults.add({ at: 2, status: 503, headers: { 'retry-after': '1' } });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(log()).toEqual(['GET 200', 'GET 503']);
    const updates = [0, 1].map((quantity) => client.updateInventory(3, { quantity }));
    const reads = Promise.all([view.get(1, { maxAgeMs: 0 }), view.refresh()]);
    updates.push(...Array.from({ length: 20 }, (_, quantity) => client.updateInventory(2, { quantity })));
    await vi.advanceTimersByTimeAsync(5_000);
    expect(log().indexOf('GET 200', 1)).toBeLessThan(6);
    expect(await soFar(reads)).toHaveLength(2);
    client.close();
    await Promise.allSettled(updates);
  });
});
