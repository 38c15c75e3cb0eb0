import fc from 'fast-check';
import { PetStoreClient, type PetStoreClientOptions, StockView } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test, vi } from 'vitest';
import { syncInventory, undoSync, type WantedEntry } from '../../src/sync/index.ts';
import { StockJob } from '../../src/sync/stock-job.ts';
import { WantedStock } from '../../src/sync/wanted-stock.ts';
import { holdTime, settled } from '../support/time.ts';
import { MemoryJournal } from './support/memory-journal.ts';

holdTime();

/** A service with pets 1 to 6, ten of each, and more; and a client of it. */
function open(options: PetStoreClientOptions = {}) {
  const pets = Array.from({ length: 30 }, (_, at) => ({ petId: at + 1, quantity: 10 }));
  const sandbox = createSandbox({ pets, latency: 100 });
  const { baseUrl, fetch, keys } = sandbox;
  const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, plan: 'business', ...options });
  const stock = () => Array.from(sandbox.inventory, ({ quantity }) => quantity).slice(0, 6);
  return { sandbox, client, stock };
}

/** A view that has just read a list. */
async function openView(client: PetStoreClient): Promise<StockView> {
  const view = new StockView(client, { maxAgeMs: 600_000 });
  const refreshing = view.refresh();
  await vi.advanceTimersByTimeAsync(200);
  await refreshing;
  return view;
}

const adjustAll = (adjust: number): WantedEntry[] => Array.from({ length: 6 }, (_, at) => ({ petId: at + 1, adjust }));

/** Sells one of each pet at each of these times, in milliseconds from now. */
async function sellAt(view: StockView, times: readonly number[]): Promise<void> {
  const sales = times.flatMap((ms) =>
    [1, 2, 3, 4, 5, 6].map(async (petId) => {
      await new Promise<void>((resolve) => void setTimeout(resolve, ms));
      await view.adjust(petId, -1);
    }),
  );
  await Promise.all(sales);
}

test('adjustments of one pet by two views of a client lose nothing', async () => {
  const { client, stock } = open();
  const views = [new StockView(client, { maxAgeMs: 60_000 }), new StockView(client, { maxAgeMs: 60_000 })];
  await settled(Promise.all(views.flatMap((view) => Array.from({ length: 10 }, () => view.adjust(1, 1)))));
  expect(stock()[0]).toBe(30);
});

test.each([0, 50, 100, 150, 200, 250, 300, 400])(
  'a job and sales by a view of its client lose nothing, the first of them after %i ms',
  async (afterMs) => {
    const { client, stock } = open();
    const view = await openView(client);
    const journal = new MemoryJournal();
    const job = syncInventory(client, adjustAll(5), { journal, concurrency: 2 });
    const selling = sellAt(view, [afterMs, afterMs + 30, afterMs + 260]);
    const [report] = await settled(Promise.all([job, selling]));
    expect([stock(), report]).toMatchObject([[12, 12, 12, 12, 12, 12], { updated: 6, failed: [], pending: [] }]);
  },
);

test('two jobs of a client at once apply all adjustments', async () => {
  const { client, stock } = open();
  const jobs = [adjustAll(1), adjustAll(20), adjustAll(-3)].map((wanted, at) =>
    syncInventory(client, wanted, { concurrency: at + 1, journal: new MemoryJournal() }),
  );
  await settled(Promise.all(jobs));
  expect(stock()).toEqual([28, 28, 28, 28, 28, 28]);
});

test('a job sets a quantity whatever the client sells meanwhile, and its journal tells what was there', async () => {
  const { client, stock } = open();
  const view = await openView(client);
  const journal = new MemoryJournal();
  const job = syncInventory(
    client,
    [1, 2, 3].map((petId) => ({ petId, quantity: 40 })),
    { journal, concurrency: 1 },
  );
  const selling = (async () => {
    await vi.advanceTimersByTimeAsync(110);
    await view.adjust(3, -4);
  })();
  await settled(Promise.all([job, selling]));
  expect(stock().slice(0, 3)).toEqual([40, 40, 40]);
  expect(journal.lines.filter((line) => line.includes('intent')).map((line) => JSON.parse(line))).toMatchObject([
    { petId: 1, from: 10, to: 40 },
    { petId: 2, from: 10, to: 40 },
    { petId: 3, from: 6, to: 40 },
  ]);
});

test('what is pending when a job is aborted includes what the client sold meanwhile', async () => {
  const { client, stock } = open();
  const view = await openView(client);
  const aborted = new AbortController();
  const job = syncInventory(client, adjustAll(5), { concurrency: 1, signal: aborted.signal });
  const selling = view.adjust(6, -2);
  await vi.advanceTimersByTimeAsync(120);
  await selling;
  aborted.abort();
  const report = await job;
  expect(report).toMatchObject({ stopped: 'abort', pending: expect.arrayContaining([{ petId: 6, quantity: 13 }]) });
  expect(stock()[5]).toBe(8);
});

test('a job that is aborted while its last pet waits for a sale stops there, and its journal is not closed', async () => {
  const { client, stock } = open();
  const view = await openView(client);
  const [journal, aborted] = [new MemoryJournal(), new AbortController()];
  const wanted = [{ petId: 6, adjust: 5 }];
  const job = syncInventory(client, wanted, { journal, signal: aborted.signal });
  await vi.advanceTimersByTimeAsync(90);
  const selling = view.adjust(6, -1);
  await vi.advanceTimersByTimeAsync(30);
  aborted.abort();
  expect(await job).toMatchObject({ updated: 0, pending: [{ petId: 6, quantity: 15 }], stopped: 'abort' });
  await settled(selling);
  expect(await settled(syncInventory(client, wanted, { journal }))).toMatchObject({ updated: 1, pending: [] });
  expect(stock()[5]).toBe(14);
});

test('a list confirms an update in doubt, whatever the client has set before the list is read', () => {
  const stock = new WantedStock();
  stock.add({ petId: 6, adjust: 5 });
  const job = new StockJob(stock);
  job.intend(0, 10, 15);
  job.listSent();
  job.confirmed({ petId: 6, quantity: 14, status: 'available' });
  job.observe(6, 15);
  expect([job.endList(), job.count('done')]).toEqual([[6], 1]);
});

test('an update in doubt that the list does not confirm is a conflict once the client has changed the pet, to whatever quantity', async () => {
  const { client, sandbox, stock } = open();
  const journal = new MemoryJournal();
  const wanted = [1, 6].map((petId) => ({ petId, adjust: 5 }));
  await settled(syncInventory(client, wanted, { journal, concurrency: 1 }));
  journal.lines.splice(journal.lines.findLastIndex((line) => line.includes('intent')) + 1);
  sandbox.inventory.set(6, { quantity: 10 });
  const view = await openView(client);
  const resuming = syncInventory(client, wanted, { journal });
  await vi.advanceTimersByTimeAsync(90);
  const [report] = await settled(Promise.all([resuming, view.adjust(6, 5)]));
  expect([report, stock()[5]]).toMatchObject([{ updated: 1, failed: [{ petId: 6, error: { reason: 'conflict' } }] }, 15]);
});

test('a job does not overwrite a sale of which nobody knows whether it was applied, and the next run does what is left', async () => {
  const { client, sandbox, stock } = open({ maxRetries: 0 });
  const view = await openView(client);
  sandbox.faults.add({ fail: 'cut', times: 1, when: ({ petId }) => petId === 6n });
  const run = () => syncInventory(client, wanted, { journal, concurrency: 1 });
  const [journal, wanted] = [new MemoryJournal(), [...adjustAll(5), { petId: 7, quantity: 40 }]];
  const job = run();
  await vi.advanceTimersByTimeAsync(105);
  const selling = view.adjust(6, -1).catch(async () => (await view.get(6))?.quantity);
  expect(await settled(Promise.all([job, selling]))).toMatchObject([
    { updated: 6, failed: [{ petId: 6, quantity: 15, error: { reason: 'unconfirmed', outcome: 'not-sent' } }] },
    9,
  ]);
  expect(await settled(run())).toMatchObject({ updated: 7, failed: [] });
  expect(stock()).toEqual([15, 15, 15, 15, 15, 14]);
});

test('what is pending when a job is stopped includes what the client sold after the update that was refused', async () => {
  const { client, sandbox, stock } = open();
  const view = await openView(client);
  sandbox.faults.add({ delayMs: 5_000, when: ({ petId }) => petId === 1n });
  sandbox.faults.add({ status: 401, times: 1, when: ({ petId }) => petId === 6n });
  const wanted = [1, 6].map((petId) => ({ petId, adjust: 5 }));
  const job = syncInventory(client, wanted, { concurrency: 2 });
  await vi.advanceTimersByTimeAsync(1_000);
  const [report] = await settled(Promise.all([job, view.adjust(6, -1)]));
  expect([report, stock()[5]]).toMatchObject([{ updated: 1, pending: [{ petId: 6, quantity: 14 }], stopped: 'authentication' }, 9]);
});

test('an undo does not set back what the client sold while the list was read', async () => {
  const { client, stock } = open();
  const journal = new MemoryJournal();
  await settled(syncInventory(client, adjustAll(5), { journal }));
  const view = await openView(client);
  const undo = undoSync(client, { journal, undoJournal: new MemoryJournal(), concurrency: 1 });
  const selling = view.adjust(6, -1);
  const [report] = await settled(Promise.all([undo, selling]));
  expect(report).toMatchObject({ updated: 5, failed: [{ petId: 6, error: { reason: 'conflict' } }] });
  expect(stock()).toEqual([10, 10, 10, 10, 10, 14]);
});

test('a sale of a pet whose low update waits for quota waits only for the normal calls before it', async () => {
  const { client, sandbox, stock } = open({ plan: { requestsPerMinute: 12, requestsPerDay: 10_000 } });
  const view = await openView(client);
  const job = syncInventory(client, adjustAll(5));
  await vi.advanceTimersByTimeAsync(50);
  // More than is left of the minute.
  const others = Array.from({ length: 20 }, (_, at) => client.updateInventory(7 + at, { quantity: 1 }));
  await vi.advanceTimersByTimeAsync(200);
  const selling = view.adjust(6, -1);
  await settled(Promise.all([job, selling, ...others]));
  const updates = sandbox.requests.filter(({ method }) => method === 'PATCH').map(({ path }) => Number(path.split('/').at(-1)));
  expect(stock()).toEqual([15, 15, 15, 15, 15, 14]);
  expect([updates.slice(0, 20).toSorted((a, b) => a - b), updates[20]]).toEqual([others.map((_, at) => 7 + at), 6]);
});

test('a low update that nobody waits for stays low, and is not called twice, when it is tried again', async () => {
  const { client, sandbox, stock } = open();
  const calls: unknown[] = [];
  client.on('settled', ({ petId, outcome }) => calls.push([petId, outcome]));
  sandbox.faults.add({ when: ({ method }) => method === 'PATCH', times: 1, status: 429 });
  await settled(syncInventory(client, [{ petId: 1, adjust: 5 }]));
  expect([stock()[0], calls]).toEqual([
    15,
    [
      [undefined, 'succeeded'],
      [1, 'succeeded'],
    ],
  ]);
});

test('what the client set before the list of a job was sent does not count more than the list', async () => {
  const { client, sandbox, stock } = open({ plan: { requestsPerMinute: 12, requestsPerDay: 10_000 } });
  const others = Array.from({ length: 12 }, (_, at) => client.updateInventory(7 + at, { quantity: 1 }));
  const last = client.updateInventory(1, { quantity: 20 });
  await vi.advanceTimersByTimeAsync(1_000);
  const job = syncInventory(client, [{ petId: 1, adjust: 5 }]);
  // The list waits for quota behind this normal call.
  void last.then(() => sandbox.inventory.set(1, { quantity: 50 }));
  await settled(Promise.all([...others, last, job]));
  expect(stock()[0]).toBe(55);
});

const delay = fc.integer({ min: 0, max: 700 });
const jobs = fc.array(
  fc.record({ afterMs: delay, concurrency: fc.integer({ min: 1, max: 4 }), priority: fc.constantFrom('low', 'normal') }),
  { minLength: 1, maxLength: 3 },
);
const sales = fc.array(fc.record({ afterMs: delay, view: fc.nat(1), petId: fc.integer({ min: 1, max: 6 }) }), { maxLength: 30 });
const faults = fc.array(
  fc.record({ pet: fc.bigInt({ min: 1n, max: 6n }), times: fc.integer({ min: 1, max: 2 }), status: fc.constantFrom(429, 500, 503) }),
  { maxLength: 3 },
);

test('jobs and views of one client lose no adjustment, whenever they begin and whatever is tried again', async () => {
  const later = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms));
  await fc.assert(
    fc.asyncProperty(jobs, sales, faults, async (begun, sold, failing) => {
      const { client, sandbox, stock } = open({ plan: { requestsPerMinute: 40, requestsPerDay: 100_000 }, maxRetries: 10 });
      for (const { pet, ...fault } of failing) sandbox.faults.add({ ...fault, when: ({ petId }) => petId === pet });
      const views = [0, 600_000].map((maxAgeMs) => new StockView(client, { maxAgeMs }));
      const syncing = begun.map(({ afterMs, ...options }, at) =>
        later(afterMs).then(() => syncInventory(client, adjustAll(10 ** at), options)),
      );
      const selling = sold.map(({ afterMs, view, petId }) => later(afterMs).then(() => views[view]?.adjust(petId, -1)));
      await settled(Promise.all([...syncing, ...selling]));
      const added = begun.reduce((sum, _job, at) => sum + 10 ** at, 10);
      expect(stock()).toEqual([1, 2, 3, 4, 5, 6].map((petId) => added - sold.filter((sale) => sale.petId === petId).length));
    }),
    { numRuns: 30 },
  );
});
