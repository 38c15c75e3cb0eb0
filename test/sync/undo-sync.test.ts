import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { reply } from '../../src/reply.ts';
import { type Journal, type SyncReport, syncInventory, undoSync, type WantedEntry } from '../../src/sync/index.ts';
import { StockJob } from '../../src/sync/stock-job.ts';
import { WantedStock } from '../../src/sync/wanted-stock.ts';
import { FakeStore, pets, type Treatment } from './support/fake-store.ts';
import { killer } from './support/killer.ts';
import { MemoryJournal } from './support/memory-journal.ts';
import { TornJournal } from './support/torn-journal.ts';

const WANTED: WantedEntry[] = [
  { petId: 1, quantity: 9 },
  { petId: 2, adjust: -2 },
  { petId: 3, quantity: 5 },
];
const BIG = 2n ** 62n;

/** A finished job: of three pets at 5, the first two were changed. */
async function finishedJob(wanted = WANTED) {
  const store = new FakeStore(pets(3, 5));
  const journal = new MemoryJournal();
  await syncInventory(store, wanted, { journal, now: () => 0 });
  store.requests.length = 0;
  return { store, journal, undoJournal: new MemoryJournal() };
}

/** The same journal as another process has it. */
function elsewhere(journal: MemoryJournal): Journal {
  return { read: () => journal.read(), append: (lines) => journal.append(lines) };
}

const EMPTY: SyncReport = { updated: 0, unchanged: 0, missing: [], failed: [], pending: [] };

describe('undoSync', () => {
  test('sets back what the job set, and nothing else', async () => {
    const { store, journal } = await finishedJob();
    expect(await undoSync(store, { journal, concurrency: 1 })).toEqual({ ...EMPTY, updated: 2 });
    expect(store.requests).toEqual(['GET', 'PATCH 1 5', 'PATCH 2 5']);
  });

  test('does not change a pet that was changed since the job, and reports it', async () => {
    const { store, journal } = await finishedJob();
    store.stock.set(1, 7);
    const report = await undoSync(store, { journal });
    expect(report).toMatchObject({ updated: 1, failed: [{ petId: 1, quantity: 5, error: { kind: 'sync', reason: 'conflict' } }] });
    expect(report.failed[0]?.error.message).toBe(
      'Cannot update pet 1: conflict: its quantity is 7, neither 9, which the job set, nor 5, as before the job',
    );
    expect(store.stock.get(1)).toBe(7);
  });

  test('counts a pet that is back already as unchanged, and one that is gone as missing', async () => {
    const { store, journal } = await finishedJob();
    store.stock.set(1, 5).delete(2);
    expect(await undoSync(store, { journal })).toEqual({ ...EMPTY, unchanged: 1, missing: [2] });
    expect(store.requests).toEqual(['GET']);
  });

  test('takes back a doubtful update if it was applied', async () => {
    const treat = (petId: unknown): Treatment => (petId === 1 ? 'drop' : 'apply');
    const store = new FakeStore(pets(3, 5), { treat });
    const journal = new MemoryJournal();
    await syncInventory(store, WANTED, { journal });
    store.settings = {};
    expect(await undoSync(store, { journal })).toEqual({ ...EMPTY, updated: 2, inDoubt: 1 });
    expect([...store.stock.values()]).toEqual([5, 5, 5]);
  });

  test('takes back a doubtful update even if a resumed run found the pet listed twice', async () => {
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 1 ? 'drop' : 'apply') });
    const journal = new MemoryJournal();
    await syncInventory(store, WANTED, { journal });
    store.twice.add(1);
    expect(await syncInventory(store, WANTED, { journal })).toMatchObject({ failed: [{ petId: 1, error: { reason: 'duplicate' } }] });
    store.twice.clear();
    store.settings = {};
    expect(await undoSync(store, { journal })).toEqual({ ...EMPTY, updated: 2, inDoubt: 1 });
    expect([...store.stock.values()]).toEqual([5, 5, 5]);
  });

  test('sets back, when it is started again, what a job that was still at work sent after the undo', async () => {
    const late = Promise.withResolvers<void>();
    const sent: unknown[] = [];
    const store = new FakeStore(pets(3, 5));
    const update = store.updateInventory.bind(store);
    store.updateInventory = (petId, change, options) => {
      if (sent.push(petId) !== 2) return update(petId, change, options);
      return reply(late.promise.then(() => update(petId, change, options)));
    };
    const [journal, undoJournal] = [new MemoryJournal(), new MemoryJournal()];
    const job = syncInventory(store, WANTED, { journal: elsewhere(journal), concurrency: 1 });
    await expect.poll(() => sent).toHaveLength(2);
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 1, unchanged: 1, inDoubt: 1 });
    late.resolve();
    await job;
    expect([...store.stock.values()]).not.toEqual([5, 5, 5]);
    await undoSync(store, { journal, undoJournal });
    expect([...store.stock.values()]).toEqual([5, 5, 5]);
  });

  test('sets back again, when it is started again, an update that the job applied, and repeated after the undo', async () => {
    const late = Promise.withResolvers<void>();
    const store = new FakeStore(pets(3, 5));
    const update = store.updateInventory.bind(store);
    let isLost = true;
    store.updateInventory = (petId, change, options) => {
      const applied = update(petId, change, options);
      if (petId !== 1 || !isLost) return applied;
      isLost = false;
      return reply(late.promise.then(() => update(petId, change, options)));
    };
    const [journal, undoJournal] = [new MemoryJournal(), new MemoryJournal()];
    const job = syncInventory(store.elsewhere, WANTED.slice(0, 1), { journal: elsewhere(journal) });
    await expect.poll(() => store.stock.get(1)).toBe(9);
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 1, inDoubt: 1 });
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 1, inDoubt: 1 });
    expect(store.stock.get(1)).toBe(5);
    late.resolve();
    await job.catch(() => {});
    expect(store.stock.get(1)).toBe(9);
    expect(await undoSync(store, { journal, undoJournal, dryRun: true })).toEqual({ ...EMPTY, pending: [{ petId: 1, quantity: 5 }] });
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 1, inDoubt: 1 });
    expect(store.stock.get(1)).toBe(5);
    store.stock.set(1, 6);
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 1, inDoubt: 1 });
    expect([store.stock.get(1), undoJournal.story.slice(-1)]).toEqual([6, ['run']]);
  });

  test('refuses the journal of a job that is still at work in this process, also for a dry run', async () => {
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 2 ? 'hang' : 'apply') });
    const journal = new MemoryJournal();
    const controller = new AbortController();
    const job = syncInventory(store, WANTED, { journal, concurrency: 1, signal: controller.signal });
    await expect.poll(() => store.requests).toContain('PATCH 2 3');
    const busy = {
      name: 'JournalError',
      code: 'journal_busy',
      message: expect.stringContaining('journal memory: a job of this process is using it'),
    };
    await expect(undoSync(store, { journal, undoJournal: new MemoryJournal() })).rejects.toMatchObject(busy);
    await expect(undoSync(store, { journal, dryRun: true })).rejects.toMatchObject(busy);
    expect([journal.closed, journal.story.includes('undo')]).toEqual([0, false]);
    controller.abort();
    expect(await job).toMatchObject({ updated: 1, stopped: 'abort' });
    expect(await undoSync(store, { journal })).toMatchObject({ updated: 1, unchanged: 1 });
    expect([...store.stock.values()]).toEqual([5, 5, 5]);
  });

  test.each(['before the start', 'while its `read` hangs'])('rejects with the reason if it is aborted %s', async (when) => {
    const [store, controller] = [new FakeStore(pets(3, 5)), new AbortController()];
    const abort = () => controller.abort('enough');
    const hanging = Object.assign(new MemoryJournal(), {
      read: async function* () {
        abort();
        yield await new Promise<string>(() => {});
      },
    });
    if (when === 'before the start') abort();
    await expect(undoSync(store, { journal: hanging, signal: controller.signal })).rejects.toBe('enough');
    expect([store.requests, hanging.closed]).toEqual([[], 1]);
  });

  test('does not close the job if it is aborted by its review, and sends nothing', async () => {
    const [{ store, journal }, controller] = [await finishedJob(), new AbortController()];
    const [held, review] = [[...journal.lines], () => controller.abort()];
    expect(await undoSync(store, { journal, review, signal: controller.signal })).toMatchObject({ updated: 0, stopped: 'abort' });
    expect([journal.lines, store.requests]).toEqual([held, ['GET']]);
  });

  test('skips pets whose update was refused', async () => {
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 1 ? 'refuse' : 'apply') });
    const journal = new MemoryJournal();
    await syncInventory(store, WANTED, { journal });
    expect(await undoSync(store, { journal })).toEqual({ ...EMPTY, updated: 1 });
  });

  test('shows with dryRun what it would set, and writes nothing', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    const held = [...journal.lines];
    const report = await undoSync(store, { journal, undoJournal, dryRun: true });
    expect(report.pending).toEqual([
      { petId: 1, quantity: 5 },
      { petId: 2, quantity: 5 },
    ]);
    expect(store.requests).toEqual(['GET']);
    expect([journal.lines, undoJournal.lines]).toEqual([held, []]);
  });

  test('closes the job before its first update, and both journals at the end', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    await undoSync(store, { journal, undoJournal, now: () => 1_000 });
    expect(journal.lines.at(-1)).toBe('{"type":"undo","at":"1970-01-01T00:00:01.000Z"}');
    expect(undoJournal.story).toEqual(['job', 'run', 'intent 1', 'intent 2', 'done 1', 'done 2', 'end']);
    expect([journal.closed, undoJournal.closed]).toEqual([2, 1]);
    await expect(syncInventory(store, WANTED, { journal })).rejects.toThrow(
      'Cannot continue with journal memory: an undo of its job began at 1970-01-01T00:00:01.000Z; a new job needs a new journal',
    );
  });

  test('closes the job once, even if the undo takes two runs', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    store.settings = { treat: (petId) => (petId === 2 ? 'lose' : 'apply') };
    expect(await undoSync(store, { journal, undoJournal, concurrency: 1 })).toMatchObject({ updated: 1 });
    store.settings = {};
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 2 });
    expect(journal.lines.filter((line) => line.startsWith('{"type":"undo"'))).toHaveLength(1);
  });

  test('does not set a pet back twice, though others set it again what the job had set', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    store.settings = { treat: (petId) => (petId === 2 ? 'lose' : 'apply') };
    await undoSync(store, { journal, undoJournal });
    store.settings = {};
    store.stock.set(1, 9);
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 2 });
    expect([...store.stock.values()]).toEqual([9, 5, 5]);
  });

  test('leaves a job open that sent nothing', async () => {
    const store = new FakeStore(pets(3, 5));
    const journal = new MemoryJournal();
    await syncInventory(store, WANTED, { journal, review: () => Promise.reject(new Error('no')) }).catch(() => {});
    const undoJournal = new MemoryJournal();
    expect(await undoSync(store, { journal, undoJournal })).toEqual(EMPTY);
    expect(await syncInventory(store, WANTED, { journal, now: () => 0 })).toMatchObject({ updated: 2 });
    // What the job did since can be undone.
    expect(await undoSync(store, { journal, undoJournal })).toMatchObject({ updated: 2 });
    expect([...store.stock.values()]).toEqual([5, 5, 5]);
  });

  test('of an unfinished job, of which it could set back nothing, goes on after a later run of the job', async () => {
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 2 ? 'lose' : 'apply') });
    const [journal, undoJournal] = [new MemoryJournal(), new MemoryJournal()];
    await syncInventory(store, WANTED, { journal, now: () => 0 });
    store.stock.set(1, 7);
    const failed = [{ petId: 1, error: { reason: 'conflict' } }];
    expect(await undoSync(store, { journal, undoJournal })).toMatchObject({ updated: 0, failed });
    store.settings = {};
    await syncInventory(store, WANTED, { journal, now: () => 1_000 });
    expect(await undoSync(store, { journal, undoJournal })).toMatchObject({ updated: 1, failed });
    expect([...store.stock.values()]).toEqual([7, 5, 5]);
  });

  test('of a finished undo gives its report again, and sends nothing', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    await undoSync(store, { journal, undoJournal });
    // The undo must not touch what somebody else did since, even if it looks like the job.
    store.stock.set(1, 9);
    store.requests.length = 0;
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 2, finishedAt: expect.any(Date) });
    expect(store.requests).toEqual([]);
  });

  test('is finished, though it sends nothing, where a finished job is back already', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    store.stock.set(1, 5).set(2, 5);
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, unchanged: 2 });
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, unchanged: 2, finishedAt: expect.any(Date) });
  });

  test('is finished, though nothing is left to send, where an earlier undo closed an unfinished job', async () => {
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 2 ? 'lose' : 'apply') });
    const [journal, undoJournal] = [new MemoryJournal(), new MemoryJournal()];
    await syncInventory(store, WANTED, { journal });
    await undoSync(store, { journal, undoJournal });
    undoJournal.lines.pop();
    expect(await undoSync(store, { journal, undoJournal })).toEqual({ ...EMPTY, updated: 1 });
    expect(undoJournal.story.slice(-2)).toEqual(['run', 'end']);
  });

  test('can be undone by its own journal, and again', async () => {
    const { store, journal, undoJournal } = await finishedJob();
    await undoSync(store, { journal, undoJournal });
    const third = new MemoryJournal();
    await undoSync(store, { journal: undoJournal, undoJournal: third });
    expect([...store.stock.values()]).toEqual([9, 3, 5]);
    await undoSync(store, { journal: third });
    expect([...store.stock.values()]).toEqual([5, 5, 5]);
  });

  test("keeps its journal at the path that the job's journal names", async () => {
    const { store, journal, undoJournal } = await finishedJob();
    await undoSync(store, { journal: Object.assign(journal, { undoJournal: () => undoJournal }) });
    expect(undoJournal.story.at(-1)).toBe('end');
  });

  test('keeps to maxChanges', async () => {
    const { store, journal } = await finishedJob();
    await expect(undoSync(store, { journal, maxChanges: 1 })).rejects.toMatchObject({ kind: 'invalid-argument', argument: 'maxChanges' });
    expect(journal.story.at(-1)).toBe('end');
  });

  test('sets back long ids of a client of either int64', async () => {
    const store = new FakeStore([
      [BIG, 5],
      [7n, 5],
    ]);
    const journal = new MemoryJournal();
    const ids = [
      { petId: BIG, quantity: 6 },
      { petId: 7n, quantity: 6 },
    ];
    await syncInventory(store, ids, { journal, concurrency: 1 });
    expect(journal.lines[2]).toBe(`{"type":"intent","petId":"${BIG}","from":5,"to":6}`);
    expect(await undoSync(store, { journal, concurrency: 1 })).toMatchObject({ updated: 2 });
    expect(store.requests.slice(-2)).toEqual([`PATCH ${BIG} 5`, 'PATCH 7 5']);
  });

  test('reads journals of version 1', async () => {
    const { store, journal } = await finishedJob();
    journal.lines[0] = journal.lines[0]?.replace('"version":2', '"version":1') ?? '';
    expect(await undoSync(store, { journal })).toMatchObject({ updated: 2 });
  });
});

describe('undoSync refuses, before anything is sent,', () => {
  const refusal = async (store: FakeStore, options: { journal: Journal; undoJournal?: Journal }): Promise<unknown> => {
    const error = await undoSync(store, options).catch((thrown: unknown) => thrown);
    expect(store.requests).toEqual([]);
    return error;
  };

  test('a journal without a job', async () => {
    const error = await refusal(new FakeStore([]), { journal: new MemoryJournal() });
    expect(error).toMatchObject({ kind: 'invalid-argument', message: 'Cannot undo journal memory: it has no job' });
  });

  test('missing options, and names the journal', async () => {
    const undone = Reflect.apply(undoSync, undefined, [new FakeStore([])]);
    await expect(undone).rejects.toThrow('Cannot use undefined as `options`: it must be an object such as { journal }');
  });

  test('a journal of another store', async () => {
    const { store, journal } = await finishedJob();
    store.baseUrl = 'https://other.example/v1';
    expect(await refusal(store, { journal })).toMatchObject({
      kind: 'invalid-argument',
      message: expect.stringContaining('for https://other.example/v1: it belongs to a job for a store with an unknown address'),
    });
  });

  test('the journal of another undo, or of a job, as its own', async () => {
    const [first, second] = [await finishedJob(), await finishedJob([{ petId: 1, quantity: 8 }])];
    await undoSync(first.store, { journal: first.journal, undoJournal: first.undoJournal });
    expect(await refusal(second.store, { journal: second.journal, undoJournal: first.undoJournal })).toMatchObject({
      kind: 'invalid-argument',
      message: 'Cannot use journal memory here: it belongs to an undo of another job; name journals after their job',
    });
    expect(await refusal(second.store, { journal: second.journal, undoJournal: first.journal })).toMatchObject({
      kind: 'invalid-argument',
      message: expect.stringContaining('it belongs to a job that is not an undo'),
    });
  });

  test('a journal of a newer version', async () => {
    const { store, journal } = await finishedJob();
    journal.lines[0] = '{"type":"job","version":3,"shape":"new"}';
    const expected = {
      kind: 'journal',
      code: 'journal_version',
      message:
        'Cannot read journal memory: a newer version of petstore-inventory wrote it (format 3, and this one reads up to 2); use that version here too',
    };
    expect(await refusal(store, { journal })).toMatchObject(expected);
    await expect(syncInventory(store, WANTED, { journal })).rejects.toMatchObject(expected);
  });

  test('a journal of this version whose first line it cannot read', async () => {
    const { store, journal } = await finishedJob();
    journal.lines[0] = '{"type":"job","version":2,"shape":"new"}';
    expect(await refusal(store, { journal })).toMatchObject({ kind: 'journal', code: 'journal_unreadable' });
  });

  test('a file that is not a journal', async () => {
    const { store } = await finishedJob();
    const journal = new MemoryJournal();
    journal.lines.push('petId,quantity');
    expect(await refusal(store, { journal })).toMatchObject({ code: 'journal_unreadable' });
  });

  test.each([{}, { journal: {} }, { journal: 'restock.journal' }])('options without a journal: %j', async (options) => {
    const { store } = await finishedJob();
    const error = await Reflect.apply(undoSync, undefined, [store, options]).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: 'configuration', option: 'journal' });
    expect(store.requests).toEqual([]);
  });
});

const PETS = 10;
const amount = fc.integer({ min: -20, max: 20 });
const entry: fc.Arbitrary<WantedEntry> = fc.record({ petId: fc.integer({ min: 1, max: PETS }), adjust: amount });
const treatments = fc.infiniteStream(fc.constantFrom<Treatment>('apply', 'apply', 'apply', 'drop', 'lose'));
const world = fc.record({
  stock: fc.array(amount, { minLength: PETS, maxLength: PETS }),
  wanted: fc.array(entry, { maxLength: 20 }),
  concurrency: fc.integer({ min: 1, max: 4 }),
  /** Steps after which the job is killed, and then each run of its undo. */
  jobEnds: fc.integer({ min: 1, max: 60 }),
  kills: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }),
  torn: fc.double({ min: 0, max: 1, noNaN: true }),
  treatments,
});

test('undoSync brings the stock back to where it was, wherever job and undo are killed and whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ stock, wanted, concurrency, jobEnds, kills, torn, treatments }) => {
      const store = new FakeStore(stock.map((quantity, index) => [index + 1, quantity] as const));
      const [journal, undoJournal] = [new TornJournal(), new TornJournal()];
      const run = async (steps: number, perform: () => Promise<SyncReport>): Promise<'killed' | number> => {
        const { step, killed } = killer(steps);
        store.settings = { step, treat: () => (steps === Infinity ? 'apply' : (treatments.next().value ?? 'apply')) };
        for (const each of [journal, undoJournal]) each.begin(step, torn);
        const left = perform().then(({ failed, pending }) => failed.length + pending.length);
        return Promise.race([killed, left]);
      };
      const undo = () => undoSync(store.elsewhere, { journal: journal.opened(), undoJournal: undoJournal.opened(), concurrency });
      const begun = await run(jobEnds, () => syncInventory(store.elsewhere, wanted, { journal: journal.opened(), concurrency }));
      await new Promise((resolve) => setImmediate(resolve));
      // A job that was killed before its journal held anything has nothing to undo.
      fc.pre(begun !== 'killed' || jobEnds > 4);
      for (const steps of kills) {
        await run(steps, undo);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await run(Infinity, undo)).toBe(0);
      expect([...store.stock.values()]).toEqual(stock);

      store.requests.length = 0;
      await run(Infinity, undo);
      // Where the job left updates in doubt, it looks whether they came late.
      expect(store.requests.filter((request) => request !== 'GET')).toEqual([]);
    }),
    { numRuns: 400 },
  );
});

test('StockJob forgets what a broken list said of a pet that the undone job may still set', () => {
  const stock = new WantedStock();
  stock.add({ petId: 1, quantity: 5 });
  const job = new StockJob(stock, { left: Float64Array.of(9), late: [0] });
  job.intend(0, 9, 5);
  job.finish(0);
  job.observe(1, 5);
  job.forgetList();
  job.observe(1, 9);
  expect([...job.changes()]).toEqual([{ petId: 1, row: 0, from: 9, to: 5 }]);
  job.forgetList();
  job.observe(1, 5);
  expect([job.count('done'), job.count('change')]).toEqual([1, 0]);
});
