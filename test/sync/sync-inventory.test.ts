import { type Int64, type InventoryItem, type PetId, type PetStoreApi, PetStoreClient, reply } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import {
  AuthenticationError,
  ConfigurationError,
  InvalidArgumentError,
  NotFoundError,
  RateLimitError,
  ServerError,
} from '../../src/errors.ts';
import { planSync, type SyncOptions, type SyncProgress, syncInventory, undoSync } from '../../src/sync/index.ts';
import { asItem, BAD_ITEMS, BAD_UPDATED } from '../support/bad-items.ts';
import { rejectionOf, thrower } from '../support/outcome.ts';
import { holdTime } from '../support/time.ts';
import { nextTurn, watchUnhandled } from '../support/unhandled.ts';
import { FakeStore, pets, type Treatment } from './support/fake-store.ts';
import { MemoryJournal } from './support/memory-journal.ts';

const unhandled = watchUnhandled();

const NOTHING = { updated: 0, unchanged: 0, missing: [], failed: [], pending: [] };

/** Throws wherever it is read. */
const untouchable = new Proxy(new Error('made up'), {
  get: () => {
    throw new Error('do not touch');
  },
});

describe('syncInventory', () => {
  test('reads a list again whose answer breaks after its first pets, as planSync does', async () => {
    const { baseUrl, fetch, keys, faults, inventory } = createSandbox({ pets: 10_000, latency: 0 });
    const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch });
    const before = inventory.get(1)?.quantity ?? 0;
    faults.add({ times: 1, fail: 'cut' });
    expect(await planSync(client, [{ petId: 1, adjust: 2 }])).toMatchObject({ changes: [{ petId: 1, from: before, to: before + 2 }] });
    faults.add({ times: 1, fail: 'cut' });
    const listed: number[] = [];
    const wanted = [
      { petId: 1, adjust: 2 },
      { petId: 9_999, quantity: -7 },
    ];
    const report = await syncInventory(client, wanted, { review: (_changes, list) => void listed.push(list.listed) });
    expect([report, listed]).toEqual([{ ...NOTHING, updated: 2 }, [10_000]]);
    expect([inventory.get(1)?.quantity, inventory.get(9_999)?.quantity]).toEqual([before + 2, -7]);
  });

  test('spends 31 requests on 900 pets of which 30 changed', async () => {
    const store = new FakeStore(pets(900, 5));
    const wanted = pets(900, 5).map(([petId]) => ({ petId, quantity: petId % 30 === 0 ? 6 : 5 }));
    const report = await syncInventory(store, wanted);
    expect(report).toEqual({ ...NOTHING, updated: 30, unchanged: 870 });
    expect(store.requests).toHaveLength(31);
  });

  test.each([undefined, null, 5, {}, { updateInventory: thrower }])(
    'refuses %o as its client, as planSync and undoSync do, and names the methods that it calls',
    async (bad) => {
      const journal = new MemoryJournal();
      const wanted = [{ petId: 1, quantity: 1 }];
      const calls = [
        Reflect.apply(syncInventory, undefined, [bad, wanted, { journal }]),
        Reflect.apply(undoSync, undefined, [bad, { journal }]),
        Reflect.apply(syncInventory, undefined, [bad, wanted, { journal, dryRun: true }]),
        Reflect.apply(undoSync, undefined, [bad, { journal, dryRun: true }]),
        Reflect.apply(planSync, undefined, [bad, []]),
      ];
      const rule = 'as `client`: it must be a PetStoreClient, or have its streamInventory()';
      const reads = { kind: 'invalid-argument', argument: 'client', message: expect.stringMatching(/its streamInventory\(\)$/) };
      const updates = { ...reads, message: expect.stringContaining(`${rule} and updateInventory()`) };
      expect(await Promise.all(calls.map(rejectionOf))).toMatchObject([updates, updates, reads, reads, reads]);
      expect(journal.lines).toEqual([]);
    },
  );

  test('takes a client that can only list for a dry run alone, as undoSync does', async () => {
    const store = new FakeStore([[1, 5]]);
    const reader = { streamInventory: () => store.streamInventory() };
    const wanted = [{ petId: 1, quantity: 6 }];
    const journal = new MemoryJournal();
    const planned = await Reflect.apply(syncInventory, undefined, [reader, wanted, { dryRun: true }]);
    expect(planned).toEqual({ ...NOTHING, pending: [{ petId: 1, quantity: 6 }] });
    const refused = rejectionOf(Reflect.apply(syncInventory, undefined, [reader, wanted]));
    expect(await refused).toMatchObject({ argument: 'client' });
    await syncInventory(store, wanted, { journal });
    const undone = await Reflect.apply(undoSync, undefined, [reader, { journal, dryRun: true }]);
    expect(undone).toEqual({ ...NOTHING, pending: [{ petId: 1, quantity: 5 }] });
  });

  test.each(BAD_UPDATED)(
    'reports the pet as failed if its client answers the update with %o, and the job as unfinished',
    async (bad, said) => {
      const journal = new MemoryJournal();
      const store = new FakeStore([[5, 5]]);
      const updateInventory = () => reply(asItem<InventoryItem>(bad));
      const fake = { listInventory: thrower, streamInventory: () => store.streamInventory(), updateInventory };
      const { failed, updated } = await syncInventory(fake, [{ petId: 5, adjust: 1 }], { journal });
      const message = `Cannot update pet 5: the client gave ${said}`;
      expect([updated, failed]).toMatchObject([0, [{ petId: 5, error: { kind: 'invalid-response', message, outcome: 'unknown' } }]]);
      expect(journal.lines.at(-1)).toContain('"intent"');
    },
  );

  test.each(BAD_ITEMS)('rejects if its client gives %o in place of an item, as planSync does, and sends nothing', async (bad, said) => {
    const store = new FakeStore([]);
    store.streamInventory = async function* () {
      yield* [{ petId: 1, quantity: 1, status: 'sold' }, asItem<InventoryItem>(bad)];
    };
    const wanted = [1, 5].map((petId) => ({ petId, adjust: 1 }));
    const error = { kind: 'invalid-response', reason: 'schema', message: `Cannot read the list: the client gave ${said}` };
    expect(await Promise.all([syncInventory(store, wanted), planSync(store, wanted)].map(rejectionOf))).toMatchObject([error, error]);
    expect(store.requests).toEqual([]);
  });

  test('asks with low priority, so that other calls pass', async () => {
    const store = new FakeStore([[1, 5]]);
    await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    expect(store.options.map(({ priority }) => priority)).toEqual(['low', 'low']);
  });

  test('adds up adjustments, and drops earlier entries of a pet at an absolute one', async () => {
    const store = new FakeStore([
      [1, 10],
      [2, 10],
      [3, 10],
    ]);
    const report = await syncInventory(store, [
      { petId: 1, adjust: 5 },
      { petId: 1, adjust: -2 },
      { petId: 2, adjust: 99 },
      { petId: 2, quantity: 1 },
      { petId: 2, adjust: 3 },
      { petId: 3, adjust: 4 },
      { petId: 3, adjust: -4 },
    ]);
    expect([...store.stock]).toEqual([
      [1, 13],
      [2, 4],
      [3, 10],
    ]);
    expect(report).toEqual({ ...NOTHING, updated: 2, unchanged: 1 });
  });

  test('accepts an id as number or bigint on either side, and reports it as it was given', async () => {
    const store = new FakeStore([
      [5n, 1],
      [6, 1],
      [2n ** 60n, 1],
    ]);
    const wanted = [
      { petId: 5, quantity: 2 },
      { petId: 6n, quantity: 2 },
      { petId: 2n ** 60n, quantity: 2 },
      { petId: 2n ** 60n + 1n, quantity: 2 },
      { petId: 7n, quantity: 2 },
    ];
    const report = await syncInventory(store, wanted);
    expect(store.requests).toEqual(['GET', 'PATCH 5 2', 'PATCH 6 2', 'PATCH 1152921504606846976 2']);
    expect(report.missing).toEqual([2n ** 60n + 1n, 7n]);
  });

  test('fails a pet that the service lists twice, without a request for it', async () => {
    const store = new FakeStore(pets(2, 5));
    store.twice.add(1);
    const report = await syncInventory(store, [
      { petId: 1, quantity: 6 },
      { petId: 2, quantity: 6 },
    ]);
    expect(report).toMatchObject({ updated: 1, failed: [{ petId: 1, quantity: 6, error: { reason: 'duplicate' } }] });
    expect(store.requests).toEqual(['GET', 'PATCH 2 6']);
  });

  test('gives a report whose JSON says why a pet failed', async () => {
    const store = new FakeStore(pets(1, 5));
    store.twice.add(1);
    const { failed } = await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    const message = 'Cannot update pet 1: the service lists it more than once, so its quantity is unclear';
    const error = { name: 'SyncItemError', kind: 'sync', message, code: 'duplicate', reason: 'duplicate' };
    expect(JSON.parse(JSON.stringify(failed))).toEqual([{ petId: 1, quantity: 6, error }]);
  });

  test('continues after a failed pet', async () => {
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 2 ? 'refuse' : 'apply') });
    const report = await syncInventory(
      store,
      pets(3, 6).map(([petId, quantity]) => ({ petId, quantity })),
    );
    expect(report).toMatchObject({ updated: 2, failed: [{ petId: 2, quantity: 6, error: { kind: 'bad-request' } }], pending: [] });
    expect(report.stopped).toBeUndefined();
  });

  test.each<[string, unknown, string]>([
    ['a text', 'odd', 'odd'],
    ['an object with a message', { message: 'the stock is locked' }, 'the stock is locked'],
    ['an object of another make', { toString: () => 'the stock is locked' }, 'the stock is locked'],
    ['an object without a prototype', Object.create(null), 'something that cannot be shown'],
    ['a function without a prototype', Object.setPrototypeOf(() => {}, null), 'something that cannot be shown'],
    ['an error that cannot be looked at', untouchable, 'something that cannot be shown'],
  ])('reports a thrown value even if it is %s', async (_what, thrown, message) => {
    const store = new FakeStore([[1, 5]], { treat: () => ({ reject: thrown }) });
    const report = await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    const [failed] = report.failed;
    expect(failed?.error).toMatchObject({ kind: 'sync', reason: 'thrown', message: `Cannot update pet 1: ${message}` });
    expect(failed?.error.cause === thrown).toBe(true);
  });

  test('reports a thrown proxy that was revoked', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const store = new FakeStore([[1, 5]], { treat: () => ({ reject: proxy }) });
    const { failed } = await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    expect(failed[0]?.error.message).toBe('Cannot update pet 1: something that cannot be shown');
  });

  test('keeps a SyncItemError of another copy of the package as it is', async () => {
    const thrown = Object.assign(new Error('listed twice'), { name: 'SyncItemError', kind: 'sync', reason: 'duplicate' });
    const store = new FakeStore([[1, 5]], { treat: () => ({ reject: thrown }) });
    const { failed } = await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    expect(failed[0]?.error).toBe(thrown);
  });

  test('keeps the code, the status and the outcome of an error of another kind of client', async () => {
    const thrown = Object.assign(new Error('locked'), { code: 'E_LOCKED', status: 423, outcome: 'rejected' });
    const store = new FakeStore([[1, 5]], { treat: () => ({ reject: thrown }) });
    const report = await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    expect(report.failed[0]?.error).toMatchObject({ kind: 'sync', code: 'E_LOCKED', status: 423, outcome: 'rejected' });
  });

  test('leaves out a code that is no text and a status that is no number', async () => {
    const thrown = Object.assign(new Error('locked'), { code: 423, status: '423' });
    const store = new FakeStore([[1, 5]], { treat: () => ({ reject: thrown }) });
    const report = await syncInventory(store, [{ petId: 1, quantity: 6 }]);
    expect(report.failed[0]?.error).toMatchObject({ kind: 'sync', code: 'thrown', status: undefined });
  });

  test.each([
    [{ dryrun: true }, 'dryrun', 'the options are journal, dryRun, concurrency, priority, signal, onProgress, maxChanges, review, now'],
    [{ dryRun: 'no' }, 'dryRun', 'it must be true or false'],
    [{ journal: 'x.journal' }, 'journal', 'such as fileJournal(path) of petstore-inventory/node gives'],
    [{ journal: { read: thrower } }, 'journal', 'such as fileJournal(path) of petstore-inventory/node gives'],
    [{ review: true }, 'review', 'Cannot use true as `review`: it must be a function'],
    [{ onProgress: 'x' }, 'onProgress', 'Cannot use "x" as `onProgress`: it must be a function'],
    [{ signal: {} }, 'signal', 'it must be an AbortSignal'],
    [{ signal: Object.assign(new EventTarget(), { throwIfAborted: () => {} }) }, 'signal', 'it must be an AbortSignal'],
  ])('refuses the options %o, and sends nothing', async (options, option, message) => {
    const store = new FakeStore([[1, 5]]);
    const run = Reflect.apply(syncInventory, undefined, [store, [{ petId: 1, quantity: 6 }], options]);
    await expect(run).rejects.toMatchObject({ kind: 'configuration', option, message: expect.stringContaining(message) });
    expect(store.requests).toEqual([]);
  });

  test.each([null, 5, 'dryRun', new AbortController().signal])('refuses %o as its options, and sends nothing', async (options) => {
    const store = new FakeStore([[1, 5]]);
    const run = Reflect.apply(syncInventory, undefined, [store, [{ petId: 1, quantity: 6 }], options]);
    await expect(run).rejects.toMatchObject({ kind: 'configuration', option: 'options' });
    expect(store.requests).toEqual([]);
  });

  test('sends nothing if nothing is wanted', async () => {
    const store = new FakeStore(pets(3, 5));
    expect(await syncInventory(store, [])).toEqual(NOTHING);
    expect(store.requests).toEqual([]);
  });

  test('a dry run reports the changes as pending and leaves the journal alone', async () => {
    const store = new FakeStore(pets(2, 5));
    const journal = new MemoryJournal();
    const wanted = [
      { petId: 1, adjust: 2 },
      { petId: 2, quantity: 5 },
    ];
    expect(await syncInventory(store, wanted, { dryRun: true, journal })).toEqual({
      ...NOTHING,
      unchanged: 1,
      pending: [{ petId: 1, quantity: 7 }],
    });
    expect(journal.lines).toEqual([]);
    expect(store.requests).toEqual(['GET']);
  });

  test('calls review with every change before the first update, and ends the run if review throws', async () => {
    const store = new FakeStore(pets(3, 5));
    const seen: unknown[] = [];
    const wanted = [
      { petId: 1, adjust: -9 },
      { petId: 2, quantity: 6 },
      { petId: 3, quantity: 5 },
    ];
    const review = (changes: Iterable<unknown>): void => {
      seen.push(...changes);
      throw new Error('no');
    };
    await expect(syncInventory(store, wanted, { review })).rejects.toThrow('no');
    expect(seen).toEqual([
      { petId: 1, from: 5, to: -4, adjust: -9 },
      { petId: 2, from: 5, to: 6 },
    ]);
    expect(store.requests).toEqual(['GET']);
  });

  test.each([{ dryRun: false }, { dryRun: true }])(
    'resolves with a report when it is aborted while review runs (%j)',
    async ({ dryRun }) => {
      const store = new FakeStore(pets(3, 5));
      const stop = new AbortController();
      const review = () => {
        queueMicrotask(() => stop.abort(new Error('enough')));
        return new Promise<void>(() => {});
      };
      const report = await syncInventory(store, [{ petId: 1, quantity: 9 }], { dryRun, review, signal: stop.signal });
      expect(report).toEqual({ ...NOTHING, pending: [{ petId: 1, quantity: 9 }], stopped: 'abort' });
      expect(store.requests).toEqual(['GET']);
    },
  );

  test.each([0, 1_001])('refuses a concurrency of %i', async (concurrency) => {
    await expect(syncInventory(new FakeStore([]), [], { concurrency })).rejects.toMatchObject({
      kind: 'configuration',
      option: 'concurrency',
    });
  });

  test.each([1, 1_000])('takes a concurrency of %i', async (concurrency) => {
    expect(await syncInventory(new FakeStore([]), [], { concurrency })).toEqual(NOTHING);
  });

  test('has as many updates under way as its concurrency says, and never more', async () => {
    const store = new FakeStore(pets(50, 5));
    const update = store.updateInventory.bind(store);
    const underWay = { now: 0, most: 0 };
    const count = async (...asked: Parameters<typeof update>) => {
      underWay.now += 1;
      underWay.most = Math.max(underWay.most, underWay.now);
      await nextTurn();
      const item = await update(...asked);
      underWay.now -= 1;
      return item;
    };
    store.updateInventory = (...asked) => reply(count(...asked));
    const wanted = pets(50, 6).map(([petId, quantity]) => ({ petId, quantity }));
    expect(await syncInventory(store, wanted, { concurrency: 3 })).toMatchObject({ updated: 50 });
    expect(underWay).toEqual({ now: 0, most: 3 });
  });
});

test('a run leaves no listener at its client, however it ends', async () => {
  const listeners = new Set();
  const on = (_event: unknown, listener: unknown) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  const refused = new ConfigurationError('a bad header', { option: 'headers' });
  const store = Object.assign(new FakeStore(pets(2, 5)), { on });
  await syncInventory(store, [{ petId: 1, quantity: 6 }]);
  expect(listeners.size).toBe(0);
  store.settings = { treat: () => ({ reject: refused }) };
  expect(await rejectionOf(syncInventory(store, [{ petId: 2, quantity: 6 }]))).toBe(refused);
  expect(listeners.size).toBe(0);
});

describe('a journal of a run that was refused before its first update', () => {
  const refused = async (journal: MemoryJournal, baseUrl?: string) => {
    const store = Object.assign(new FakeStore(pets(3, 5)), baseUrl && { baseUrl });
    const review = () => {
      throw new Error('too many');
    };
    await expect(syncInventory(store, [{ petId: 1, quantity: 9 }], { journal, review })).rejects.toThrow('too many');
    expect(journal.story).toEqual(['job', 'run']);
  };

  test.each([undefined, 'https://other.test/v1'])('takes the corrected job, and is its own from then on (store %s)', async (baseUrl) => {
    const journal = new MemoryJournal();
    await refused(journal, baseUrl);
    const store = new FakeStore(pets(3, 5));
    expect(await syncInventory(store, [{ petId: 2, adjust: 1 }], { journal })).toEqual({ ...NOTHING, updated: 1 });
    expect(journal.story).toEqual(['job', 'run', 'job', 'run', 'intent 2', 'done 2', 'end']);
    expect(await syncInventory(store, [{ petId: 2, adjust: 1 }], { journal })).toMatchObject({ updated: 1, finishedAt: expect.any(Date) });
    await expect(syncInventory(store, [{ petId: 1, quantity: 9 }], { journal })).rejects.toThrow('another wanted state');
    expect(await undoSync(store, { journal, undoJournal: new MemoryJournal() })).toEqual({ ...NOTHING, updated: 1 });
    expect(store.stock.get(2)).toBe(5);
  });
});

describe('a bad key, too long a wait for quota or an abort', () => {
  const wanted = pets(6, 6).map(([petId, quantity]) => ({ petId, quantity }));

  test.each([
    ['authentication', new AuthenticationError('no', { status: 401, outcome: 'rejected' })],
    ['quota', new RateLimitError('no', { outcome: 'not-sent' })],
    ['quota', new RateLimitError('no', { status: 429, outcome: 'rejected', retryAt: new Date(Date.now() + 3_600_000) })],
    ['abort', new DOMException('closed', 'AbortError')],
  ])('stops the run as %s, and what was not sent is pending', async (stopped, error) => {
    const store = new FakeStore(pets(6, 5), { treat: (petId) => (petId === 3 ? { reject: error } : 'apply') });
    const report = await syncInventory(store, wanted, { concurrency: 1 });
    expect(report).toEqual({ ...NOTHING, updated: 2, pending: wanted.slice(2), stopped, ...(stopped !== 'abort' && { error }) });
    expect(store.requests).toHaveLength(4);
  });

  test.each<[string, Error, object]>([
    ['an error of its own', new Error('canceled'), { pending: wanted.slice(2) }],
    [
      'the answer that had come',
      new NotFoundError('no such pet', { status: 404, petId: 3, outcome: 'rejected' }),
      { pending: wanted.slice(3), failed: [expect.objectContaining({ petId: 3, error: expect.objectContaining({ kind: 'not-found' }) })] },
    ],
  ])('an abort stops the run, also where the client rejects the update under way with %s', async (_what, error, expected) => {
    const controller = new AbortController();
    const abort = (): Treatment => {
      controller.abort();
      return { reject: error };
    };
    const store = new FakeStore(pets(6, 5), { treat: (petId) => (petId === 3 ? abort() : 'apply') });
    const report = await syncInventory(store, wanted, { concurrency: 1, signal: controller.signal });
    expect(report).toEqual({ ...NOTHING, updated: 2, stopped: 'abort', ...expected });
  });

  test.each([new Date(Date.now() + 5_000), undefined])('a 429 after the last retry fails one pet (retry at %s)', async (retryAt) => {
    const error = new RateLimitError('no', { status: 429, outcome: 'rejected', retryAt });
    const store = new FakeStore(pets(6, 5), { treat: (petId) => (petId === 3 ? { reject: error } : 'apply') });
    expect(await syncInventory(store, wanted)).toMatchObject({ updated: 5, failed: [{ petId: 3 }] });
  });

  test.each([
    [120_000, undefined],
    [120_001, 'quota'],
  ])('a 429 that closes the key for %i ms stops the run as %s', async (ms, stopped) => {
    const error = new RateLimitError('no', { status: 429, outcome: 'rejected', retryAt: new Date(ms) });
    const store = new FakeStore([[1, 5]], { treat: () => ({ reject: error }) });
    const report = await syncInventory(store, [{ petId: 1, quantity: 6 }], { now: () => 0 });
    expect(report.stopped).toBe(stopped);
  });

  test('an `apiKey` function that fails stops the run as a bad key does', async () => {
    const error = new ConfigurationError('no key', { option: 'apiKey', outcome: 'not-sent' });
    const store = new FakeStore(pets(6, 5), { treat: (petId) => (petId === 3 ? { reject: error } : 'apply') });
    expect(await syncInventory(store, wanted, { concurrency: 1 })).toMatchObject({ updated: 2, stopped: 'authentication', error });
  });

  test('a ConfigurationError of an update for another option rejects, and the pet stays undone', async () => {
    const error = new ConfigurationError('a bad header', { option: 'headers', outcome: 'not-sent' });
    const store = new FakeStore(pets(6, 5), { treat: (petId) => (petId === 3 ? { reject: error } : 'apply') });
    const journal = new MemoryJournal();
    await expect(syncInventory(store, wanted, { concurrency: 1, journal })).rejects.toBe(error);
    expect(journal.story.slice(-2)).toEqual(['intent 3', 'void 3']);
    expect(store.requests).toHaveLength(4);
  });

  test('a ConfigurationError of the list for another option rejects', async () => {
    const error = new ConfigurationError('a bad header', { option: 'headers' });
    await expect(syncInventory(new FakeStore([], { listError: error }), wanted)).rejects.toBe(error);
  });

  test('in the list leaves everything wanted pending, with adjustments as adjustments', async () => {
    const error = new AuthenticationError('no', { status: 401 });
    const store = new FakeStore([], { listError: error });
    const entries = [
      { petId: 1, quantity: 3 },
      { petId: 2, adjust: -1 },
    ];
    expect(await syncInventory(store, entries)).toEqual({ ...NOTHING, pending: entries, stopped: 'authentication', error });
  });

  test('is reported with the error of the last update that it stopped, which knows the latest Retry-After', async () => {
    const [sooner, later] = [1, 2].map((hours) => new RateLimitError('no', { status: 429, retryAt: new Date(hours * 3_600_000) }));
    const store = new FakeStore(pets(2, 5), { treat: (petId) => ({ reject: petId === 1 ? sooner : later }) });
    const { stopped, error } = await syncInventory(store, wanted.slice(0, 2), { now: () => 0 });
    expect([stopped, error]).toEqual(['quota', later]);
  });

  test('is the first that ended the run, whatever ends the updates under way', async () => {
    const [badKey, noQuota] = [new AuthenticationError('no', { status: 401 }), new RateLimitError('no')];
    const store = new FakeStore(pets(2, 5), { treat: (petId) => ({ reject: petId === 1 ? badKey : noQuota }) });
    expect(await syncInventory(store, wanted.slice(0, 2))).toMatchObject({ stopped: 'authentication', error: badKey });
  });

  test('a 429 of the list that asks for a longer wait than `maxWaitMs` leaves everything wanted pending', async () => {
    const { keys, baseUrl, fetch, faults } = createSandbox();
    faults.add({ when: ({ method }) => method === 'GET', status: 429, headers: { 'retry-after': '60' } });
    const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, maxWaitMs: 20_000 });
    const report = await syncInventory(client, [{ petId: 1, adjust: 1 }]);
    expect(report).toMatchObject({ pending: [{ petId: 1, adjust: 1 }], stopped: 'quota', error: { status: 429, retryAfterMs: 60_000 } });
  });

  test('another failure of the list rejects', async () => {
    const store = new FakeStore([], { listError: new ServerError('Cannot list', { status: 503 }) });
    await expect(syncInventory(store, wanted)).rejects.toMatchObject({ kind: 'server' });
  });

  test('an abort ends what is under way, and that is pending too', async () => {
    const controller = new AbortController();
    const store = new FakeStore(pets(6, 5), {
      treat: (petId) => {
        if (petId === 4) queueMicrotask(() => controller.abort());
        return petId === 4 ? 'hang' : 'apply';
      },
    });
    const report = await syncInventory(store, wanted, { concurrency: 1, signal: controller.signal });
    expect(report).toEqual({ ...NOTHING, updated: 3, pending: wanted.slice(3), stopped: 'abort' });
  });

  test.each([
    new RateLimitError('no quota for another call', { petId: 7, outcome: 'not-sent' }),
    new NotFoundError('another pet is gone', { status: 404, petId: 7, outcome: 'rejected' }),
    new AuthenticationError('another key is bad', { status: 401, outcome: 'rejected' }),
  ])('an update that is aborted in flight stays in doubt, even if the reason of the abort is a $name', async (reason) => {
    const controller = new AbortController();
    const { signal } = controller;
    const journal = new MemoryJournal();
    const torn = new FakeStore([[1, 5]], { treat: () => 'hang', step: async () => void setTimeout(() => controller.abort(reason)) });
    const adjusted = [{ petId: 1, adjust: 1 }];
    const report = await syncInventory(torn, adjusted, { signal, journal });
    expect(report).toEqual({ ...NOTHING, pending: [{ petId: 1, quantity: 6 }], stopped: 'abort' });
    expect(journal.story).toEqual(['job', 'run', 'intent 1']);
    expect(await syncInventory(new FakeStore([[1, 6]]), adjusted, { journal })).toEqual({ ...NOTHING, updated: 1 });
  });

  test.each([
    ['was sold meanwhile', 3, 8],
    ['has by chance the quantity that the aborted run was going to set', 55, 60],
  ])('an adjustment that only waited for quota when the run was aborted is computed anew, if the pet %s', async (_, now, then) => {
    const plan = { requestsPerMinute: 3 };
    const stock = pets(6, 50).map(([petId, quantity]) => ({ petId, quantity }));
    const sandbox = createSandbox({ pets: stock, plans: { few: plan } });
    const { baseUrl, fetch, keys, inventory } = sandbox;
    const journal = new MemoryJournal();
    const controller = new AbortController();
    const adjusted = pets(6, 50).map(([petId]) => ({ petId, adjust: 5 }));
    const waiting = new PetStoreClient({ apiKey: keys.few, baseUrl, fetch, plan });
    let settled = 0;
    waiting.on('settled', ({ petId }) => {
      if (petId !== undefined && ++settled === 2) setTimeout(() => controller.abort());
    });
    const first = await syncInventory(waiting, adjusted, { journal, signal: controller.signal });
    expect(first).toMatchObject({ updated: 2, stopped: 'abort' });
    inventory.set(6, { quantity: now });
    const other = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch });
    expect(await syncInventory(other, adjusted, { journal })).toMatchObject({ updated: 6, failed: [], pending: [] });
    expect([1, 2, 3, 6].map((petId) => inventory.get(petId)?.quantity)).toEqual([55, 55, 55, then]);
  });

  test('an adjustment that waited behind another update of its pet when the run was aborted is computed anew', async () => {
    const sandbox = createSandbox({ pets: [{ petId: 1, quantity: 10 }] });
    const { keys, baseUrl, fetch } = sandbox;
    const [journal, controller] = [new MemoryJournal(), new AbortController()];
    const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch });
    // The second request of the other update leaves while the job's update waits for it.
    sandbox.faults.add({ times: 1, when: ({ petId }) => petId === 1n, status: 503 });
    client.on('request', ({ attempt }) => attempt === 2 && controller.abort());
    let other: Promise<unknown> | undefined;
    const review = () => {
      other = client.updateInventory(1, { quantity: 50 });
    };
    const adjusted = [{ petId: 1, adjust: 5 }];
    expect(await syncInventory(client, adjusted, { journal, review, signal: controller.signal })).toMatchObject({ stopped: 'abort' });
    await other;
    expect(journal.story).toEqual(['job', 'run', 'intent 1', 'void 1']);
    expect(await syncInventory(client, adjusted, { journal })).toMatchObject({ updated: 1, failed: [] });
    expect(sandbox.inventory.get(1)?.quantity).toBe(55);
  });

  test('an adjustment that a wrapper of the client sends by a second call stays in doubt when it is aborted', async () => {
    const { keys, baseUrl, fetch } = createSandbox({ pets: [{ petId: 1, quantity: 10 }] });
    const [journal, controller] = [new MemoryJournal(), new AbortController()];
    const client = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch });
    const wrapper: PetStoreApi = {
      baseUrl,
      listInventory: () => client.listInventory(),
      streamInventory: () => client.streamInventory(),
      updateInventory: (petId, update, options) => {
        const first = client.updateInventory(petId, update, { signal: AbortSignal.abort() });
        return reply(first.catch(() => client.updateInventory(petId, update, options)));
      },
      on: (name, listener) => client.on(name, listener),
    };
    client.on('request', ({ petId }) => petId === 1 && controller.abort());
    const adjusted = [{ petId: 1, adjust: 5 }];
    expect(await syncInventory(wrapper, adjusted, { journal, signal: controller.signal })).toMatchObject({ stopped: 'abort' });
    expect(journal.story).toEqual(['job', 'run', 'intent 1']);
  });

  test('an adjustment that was refused, and waited to be sent again, when the run was aborted is computed anew', async () => {
    const sandbox = createSandbox({ pets: [{ petId: 1, quantity: 50 }] });
    const { baseUrl, faults, fetch, keys } = sandbox;
    faults.add({ when: ({ petId }) => petId === 1n, status: 429, headers: { 'retry-after': '30' }, times: 1 });
    const [journal, controller] = [new MemoryJournal(), new AbortController()];
    const client = new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch });
    client.on('retry', () => setTimeout(() => controller.abort()));
    const adjusted = [{ petId: 1, adjust: 5 }];
    expect(await syncInventory(client, adjusted, { journal, signal: controller.signal })).toMatchObject({ stopped: 'abort' });
    sandbox.inventory.set(1, { quantity: 3 });
    const other = new PetStoreClient({ apiKey: keys.business, baseUrl, fetch });
    expect(await syncInventory(other, adjusted, { journal })).toMatchObject({ updated: 1, failed: [] });
    expect(sandbox.inventory.get(1)?.quantity).toBe(8);
  });

  test.each([
    [Number.MAX_SAFE_INTEGER, 98],
    [-Number.MAX_SAFE_INTEGER, -1],
  ])('an adjustment of %i beyond 2^53 fails its pet before anything is sent, and is not rounded', async (adjust, quantity) => {
    const [store, journal] = [new FakeStore([...pets(2, 5), [3, quantity]]), new MemoryJournal()];
    const entries = [
      { petId: 1, adjust: 1 },
      { petId: 3, adjust },
    ];
    const { failed, pending } = await syncInventory(store, entries, { dryRun: true });
    const message = `Cannot update pet 3: its quantity ${quantity} and the adjustment ${adjust} add up to more than ±(2^53−1)`;
    expect(pending).toEqual([{ petId: 1, quantity: 6 }]);
    expect(failed).toMatchObject([{ petId: 3, error: { kind: 'invalid-argument', message, outcome: 'not-sent' } }]);
    expect(await syncInventory(store, entries, { journal })).toMatchObject({ updated: 1, failed: [{ error: { message } }] });
    expect(await syncInventory(store, entries, { journal })).toMatchObject({
      finishedAt: expect.any(Date),
      failed: [{ error: { message } }],
    });
    expect(store.requests).toEqual(['GET', 'GET', 'PATCH 1 6']);
  });

  test('an update whose answer has another quantity is not confirmed', async () => {
    const store = new FakeStore([[1, 5]]);
    store.updateInventory = (petId) => reply({ petId, quantity: 7, status: 'available' });
    const [failed] = (await syncInventory(store, [{ petId: 1, quantity: 6 }])).failed;
    expect(failed?.error).toMatchObject({
      reason: 'unconfirmed',
      outcome: 'unknown',
      message: 'Cannot confirm the update of pet 1: the service answered with the quantity 7, not 6',
    });
  });

  test('an abort in the list counts as an abort, even if its reason is a PetStoreError', async () => {
    const controller = new AbortController();
    const reason = new NotFoundError('another pet is gone', { status: 404 });
    const store = new FakeStore(pets(6, 5), { step: async () => controller.abort(reason) });
    expect(await syncInventory(store, wanted, { signal: controller.signal })).toEqual({ ...NOTHING, pending: wanted, stopped: 'abort' });
  });

  test('an abort while the list is read resolves with everything pending', async () => {
    const controller = new AbortController();
    const store = new FakeStore(pets(6, 5), { step: async () => controller.abort() });
    expect(await syncInventory(store, wanted, { signal: controller.signal })).toEqual({ ...NOTHING, pending: wanted, stopped: 'abort' });
  });

  test('an abort within a list that continues leaves every pet pending as it was wanted', async () => {
    const controller = new AbortController();
    const store = new FakeStore(pets(3, 5), { listed: (petId) => petId === 2 && controller.abort() });
    const entries = [
      { petId: 1, quantity: 5 },
      { petId: 2, adjust: 1 },
      { petId: 3, adjust: 1 },
    ];
    const report = await syncInventory(store, entries, { signal: controller.signal });
    expect(report).toEqual({ ...NOTHING, pending: entries, stopped: 'abort' });
    expect(store.options.map(({ signal }) => signal)).toEqual([controller.signal]);
  });

  test('an abort before the start sends nothing', async () => {
    const store = new FakeStore(pets(6, 5));
    expect(await syncInventory(store, wanted, { signal: AbortSignal.abort() })).toEqual({ ...NOTHING, pending: wanted, stopped: 'abort' });
    expect(store.requests).toEqual([]);
  });

  test.each(['hangs', 'continues'])('an abort rejects with its reason if it cuts a wanted source that %s', async (how) => {
    const [store, controller] = [new FakeStore(pets(2, 5)), new AbortController()];
    const source = async function* () {
      yield { petId: 1, adjust: 1 };
      controller.abort('enough');
      if (how === 'hangs') await new Promise(() => {});
      yield { petId: 2, adjust: 1 };
    };
    await expect(syncInventory(store, source(), { signal: controller.signal })).rejects.toBe('enough');
    expect(store.requests).toEqual([]);
  });

  test('an abort before the start shows nothing as pending that a journal may show as done', async () => {
    const [store, journal] = [new FakeStore([[1, 5]]), new MemoryJournal()];
    const adjusted = [{ petId: 1, adjust: 1 }];
    await syncInventory(store, adjusted, { journal });
    await expect(syncInventory(store, adjusted, { journal, signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
    expect(journal.closed).toBe(2);
  });

  test.each([0, 4])('an abort ends a journal whose `read` hangs after %i lines, and nothing is sent or written', async (count) => {
    const adjusted = [
      { petId: 1, adjust: 1 },
      { petId: 2, adjust: 1 },
    ];
    const [store, journal, controller] = [new FakeStore(pets(2, 5)), new MemoryJournal(), new AbortController()];
    await syncInventory(store, adjusted, { journal, concurrency: 1 });
    const [lines, requests] = [[...journal.lines], [...store.requests]];
    const hanging = Object.assign(journal, {
      read: async function* () {
        yield* lines.slice(0, count);
        controller.abort('enough');
        await new Promise(() => {});
      },
    });
    await expect(syncInventory(store, adjusted, { journal: hanging, signal: controller.signal })).rejects.toBe('enough');
    expect([journal.lines, store.requests, journal.closed]).toEqual([lines, requests, 2]);
  });

  test('an abort waits until an intent is written, and withdraws it', async () => {
    const [store, journal, controller] = [new FakeStore([[1, 5]]), new MemoryJournal(), new AbortController()];
    journal.step = async () => {
      if (store.requests.length > 0) controller.abort();
      await nextTurn();
    };
    const report = await syncInventory(store, [{ petId: 1, adjust: 1 }], { journal, signal: controller.signal });
    expect(report).toEqual({ ...NOTHING, pending: [{ petId: 1, quantity: 6 }], stopped: 'abort' });
    expect([journal.story, store.requests]).toEqual([['job', 'run', 'intent 1', 'void 1'], ['GET']]);
  });

  test('what breaks a run off lets no update follow whose intent is still being written', async () => {
    const [store, journal] = [new FakeStore(pets(12, 5)), new MemoryJournal()];
    const append = async (lines: readonly string[]) => {
      const isOfPet1 = lines.some((line) => line.includes('"intent"') && JSON.parse(line).petId === 1);
      if (isOfPet1) throw new Error('disk full');
      await nextTurn();
      await journal.append(lines);
    };
    const wanted = pets(12, 5).map(([petId]) => ({ petId, adjust: 1 }));
    const slow = { read: () => journal.read(), append };
    await expect(syncInventory(store, wanted, { journal: slow, concurrency: 4 })).rejects.toThrow('disk full');
    expect(store.requests).toEqual(['GET']);
  });

  test('a bad option of the client, which breaks a run off, lets no other worker begin an update', async () => {
    const bad = new ConfigurationError('made up', { option: 'fetch' });
    const journal = new MemoryJournal();
    const updated: PetId[] = [];
    const store = new FakeStore(pets(12, 5));
    const client: PetStoreApi<Int64> = {
      listInventory: (options) => store.listInventory(options),
      streamInventory: (options) => store.streamInventory(options),
      updateInventory: (petId) => {
        updated.push(petId);
        return reply(Promise.reject(bad));
      },
    };
    journal.step = nextTurn;
    const wanted = pets(12, 5).map(([petId]) => ({ petId, adjust: 1 }));
    await expect(syncInventory(client, wanted, { journal, concurrency: 4 })).rejects.toBe(bad);
    expect(updated).toEqual([1]);
  });

  test('an abort after the last update changes nothing', async () => {
    const controller = new AbortController();
    const store = new FakeStore([[1, 5]], {
      treat: () => {
        controller.abort();
        return 'apply';
      },
    });
    expect(await syncInventory(store, [{ petId: 1, quantity: 6 }], { signal: controller.signal })).toEqual({ ...NOTHING, updated: 1 });
  });
});

describe('a bad entry', () => {
  test.each([
    ['petId', { petId: 1.5, quantity: 1 }, 'petId must be an int64 (a bigint beyond ±(2^53−1)), not 1.5'],
    ['string petId', { petId: '1', quantity: 1 }, 'petId must be a number or a bigint, not "1"'],
    ['rounded petId', { petId: 2 ** 53, quantity: 1 }, 'petId must be an int64 (a bigint beyond ±(2^53−1)), not 9007199254740992'],
    ['long petId', { petId: 2n ** 63n, quantity: 1 }, 'petId must be an int64 (a bigint beyond ±(2^53−1)), not 9223372036854775808n'],
    ['quantity', { petId: 1, quantity: '5' }, 'quantity must be an integer within ±(2^53−1), not "5"'],
    ['adjust', { petId: 1, adjust: Number.NaN }, 'adjust must be an integer within ±(2^53−1), not NaN'],
    ['both', { petId: 1, quantity: 1, adjust: 1 }, 'it has both a quantity (1) and an adjust (1): leave one out'],
    ['a column that is NULL', { petId: 1, quantity: null, adjust: 1 }, 'it has both a quantity (null) and an adjust (1): leave one out'],
    ['neither', { petId: 1 }, 'it needs a quantity or an adjust'],
    ['no object', null, 'it must be an object with petId and quantity or adjust, not null'],
    ['list', [1, 5], 'it must be an object with petId and quantity or adjust, not an array'],
    ['object as id', { petId: {}, quantity: 1 }, 'petId must be an int64 (a bigint beyond ±(2^53−1)), not an object'],
  ])('is refused with its number before anything is sent: %s', async (_name, entry, problem) => {
    const store = new FakeStore(pets(3, 5));
    const wanted = Object([{ petId: 1, quantity: 1 }, entry]);
    await expect(syncInventory(store, wanted)).rejects.toThrow(
      new InvalidArgumentError(`Cannot use entry 2 of \`wanted\`: ${problem}`, { argument: 'wanted' }),
    );
    expect(store.requests).toEqual([]);
  });

  test.each([
    [{}, 'an object'],
    [5, '5'],
    [null, 'null'],
    [undefined, 'undefined'],
    ['stock.csv', '"stock.csv"'],
  ])('a wanted state that is no list is refused and shown: %j', async (wanted, shown) => {
    const refused = Reflect.apply(syncInventory, undefined, [new FakeStore([]), wanted]);
    const message = `Cannot use ${shown} as \`wanted\`: it must be a list or another iterable of { petId, quantity }`;
    await expect(refused).rejects.toMatchObject({ kind: 'invalid-argument', argument: 'wanted', message });
  });

  test('adjustments that add up to more than a double holds are refused', async () => {
    const wanted = [
      { petId: 1, adjust: Number.MAX_SAFE_INTEGER },
      { petId: 1, adjust: 1 },
    ];
    await expect(syncInventory(new FakeStore([]), wanted)).rejects.toThrow(
      'Cannot use entry 2 of `wanted`: the adjustments of its pet add up',
    );
  });
});

describe('planSync', () => {
  test('refuses an option that it does not have', async () => {
    const plan = Reflect.apply(planSync, undefined, [new FakeStore([]), [], { concurrency: 3 }]);
    await expect(plan).rejects.toMatchObject({ option: 'concurrency', message: expect.stringContaining('the options are signal, now') });
  });

  test('gives changes, counts and cost with one list request', async () => {
    const resetAt = new Date(90_000);
    const quota = { minute: { limit: 2, remaining: 1, resetAt }, day: { limit: 100, remaining: 3, resetAt: new Date(86_400_000) } };
    const store = new FakeStore(pets(5, 5), { quota });
    store.twice.add(5);
    const wanted = [
      { petId: 1, quantity: 9 },
      { petId: 1, adjust: 1 },
      { petId: 2, quantity: 5 },
      { petId: 3, adjust: -5 },
      { petId: 77, quantity: 1 },
      { petId: 5, quantity: 1 },
      { petId: 4, adjust: Number.MAX_SAFE_INTEGER },
    ];
    expect(await planSync(store, wanted, { now: () => 60_000 })).toEqual({
      changes: [
        { petId: 1, from: 5, to: 10 },
        { petId: 3, from: 5, to: 0 },
      ],
      unchanged: 1,
      missing: [77],
      duplicates: 1,
      ambiguous: [5],
      outOfRange: [4],
      requests: 3,
      estimatedMs: 30_000,
      fitsToday: true,
    });
    expect(store.requests).toEqual(['GET']);
  });

  test('takes a client that can only list', async () => {
    const store = new FakeStore([[1, 5]]);
    const plan = await planSync({ streamInventory: () => store.streamInventory() }, [{ petId: 1, quantity: 6 }]);
    expect(plan).toMatchObject({ changes: [{ petId: 1, from: 5, to: 6 }], requests: 2 });
  });

  test('says when today does not suffice', async () => {
    const quota = { minute: {}, day: { limit: 10, remaining: 2, resetAt: new Date(1_000) } };
    const plan = await planSync(
      new FakeStore(pets(5, 5), { quota }),
      pets(5, 6).map(([petId, quantity]) => ({ petId, quantity })),
      { now: () => 0 },
    );
    expect(plan).toMatchObject({ requests: 6, fitsToday: false, estimatedMs: 1_000 });
  });

  test('needs no request if nothing is wanted, and rejects with the reason of an abort', async () => {
    const store = new FakeStore([]);
    expect(await planSync(store, [])).toMatchObject({ requests: 0, changes: [] });
    expect(store.requests).toEqual([]);
    await expect(planSync(new FakeStore([]), [{ petId: 1, quantity: 1 }], { signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
  });
});

describe('the pace of a run', () => {
  holdTime();

  const step = async () => {
    vi.advanceTimersByTime(500);
    // The date is set while the job runs.
    vi.setSystemTime(Date.now() + 3_600_000);
  };

  test('gives the ETA of a resumed job, without the pace of earlier runs', async () => {
    const seen: SyncProgress[] = [];
    const store = new FakeStore(pets(4, 5), { step, treat: (petId) => (Number(petId) > 2 ? 'lose' : 'apply') });
    const journal = new MemoryJournal();
    const wanted = pets(4, 6).map(([petId, quantity]) => ({ petId, quantity }));
    await syncInventory(store, wanted, { journal, concurrency: 1 });
    store.settings = { step };
    await syncInventory(store, wanted, { journal, concurrency: 1, onProgress: (progress) => seen.push(progress) });
    expect(seen.filter(({ phase }) => phase === 'updating').map(({ updated, etaMs }) => [updated, etaMs])).toEqual([
      [2, 0],
      [3, 1_000],
      [4, 0],
    ]);
  });

  test('counts failed updates', async () => {
    const etas: [number, number | undefined][] = [];
    const store = new FakeStore(pets(4, 5), { step, treat: (petId) => (Number(petId) === 1 ? 'lose' : 'apply') });
    const wanted = pets(4, 6).map(([petId, quantity]) => ({ petId, quantity }));
    const onProgress = ({ failed, updated, etaMs }: SyncProgress) => etas.push([failed + updated, etaMs]);
    await syncInventory(store, wanted, { concurrency: 1, onProgress });
    expect(etas.slice(-4)).toEqual([
      [2, 1_500],
      [3, 833],
      [4, 0],
      [4, 0],
    ]);
  });
});

describe('onProgress', () => {
  test('reports counts, requests, the wait and an ETA from the quota', async () => {
    const seen: SyncProgress[] = [];
    const quota = { minute: { limit: 2, remaining: 0, resetAt: new Date(61_000) }, day: {} };
    const store = new FakeStore(pets(4, 5), { quota });
    const wanted = [
      { petId: 1, quantity: 6 },
      { petId: 1, quantity: 7 },
      { petId: 2, quantity: 7 },
      { petId: 3, adjust: 0 },
      { petId: 9, quantity: 1 },
    ];
    await syncInventory(store, wanted, { onProgress: (progress) => seen.push(progress), concurrency: 1, now: () => 1_000 });
    const waitingUntil = new Date(61_000);
    const counts = { wanted: 4, duplicates: 1, listed: 4, changes: 2, unchanged: 1, missing: 1, failed: 0, waitingUntil };
    expect(seen.map(({ phase }) => phase)).toEqual(['listing', 'updating', 'updating', 'updating', 'done']);
    expect(seen[1]).toEqual({ ...counts, phase: 'updating', updated: 0, requests: 1, etaMs: 60_000 });
    expect(seen.at(-1)).toEqual({ ...counts, phase: 'done', updated: 2, requests: 3, etaMs: 0 });
  });

  test('tells the latest of the instants until which nothing can be sent, or none to a client without a quota', async () => {
    const seen: (Date | undefined)[] = [];
    const options = { onProgress: ({ waitingUntil }: SyncProgress) => seen.push(waitingUntil), dryRun: true, now: () => 1_000 };
    const closed = (ms: number) => ({ limit: 2, remaining: 0, resetAt: new Date(ms) });
    const store = new FakeStore([], { quota: { minute: closed(61_000), day: closed(90_000), closedUntil: new Date(70_000) } });
    await syncInventory(store, [], options);
    await syncInventory(Object.defineProperty(store, 'quota', { value: undefined }), [], options);
    expect(seen).toEqual([new Date(90_000), new Date(90_000), undefined, undefined]);
  });

  test.each([
    ['low', new Date(61_000), 60_000],
    ['normal', undefined, 0],
  ] as const)('of a job of %s priority goes by the share of low priority only if that limits it', async (priority, until, etaMs) => {
    const seen: SyncProgress[] = [];
    const share = { minute: { limit: 1, remaining: 0, resetAt: new Date(61_000) }, day: {} };
    const store = new FakeStore(pets(1, 5), { quota: { minute: { limit: 60, remaining: 59 }, day: {}, share } });
    const options = { onProgress: (progress: SyncProgress) => seen.push(progress), priority, now: () => 1_000 };
    await syncInventory(store, [{ petId: 1, quantity: 6 }], options);
    expect([seen[1]?.phase, seen[1]?.waitingUntil, seen[1]?.etaMs]).toEqual(['updating', until, etaMs]);
  });

  test.each<[string, SyncOptions, Partial<SyncProgress>]>([
    ['of a dry run', { dryRun: true }, { listed: 2, changes: 2, missing: 1, failed: 1, requests: 1, etaMs: 60_000 }],
    ['of a run that is aborted before it begins', { signal: AbortSignal.abort() }, { listed: 0, requests: 0 }],
    [
      'of a run that is aborted while it is reviewed',
      ((controller) => ({ signal: controller.signal, review: () => controller.abort() }))(new AbortController()),
      { listed: 2, changes: 2, requests: 1 },
    ],
  ])('tells the end %s', async (_which, options, end) => {
    const seen: SyncProgress[] = [];
    const quota = { minute: { limit: 2, remaining: 0, resetAt: new Date(61_000) }, day: {} };
    const wanted = [
      { petId: 1, quantity: 6 },
      { petId: 2, adjust: Number.MAX_SAFE_INTEGER },
      { petId: 9, quantity: 6 },
    ];
    const store = new FakeStore(pets(2, 5), { quota });
    await syncInventory(store, wanted, { ...options, onProgress: (progress) => seen.push(progress), now: () => 1_000 });
    expect(seen.map(({ phase }) => phase).filter((phase) => phase !== 'listing')).toEqual(['done']);
    expect(seen.at(-1)).toMatchObject({ ...end, phase: 'done' });
  });

  test.each<[string, (abort: () => undefined) => FakeStore['settings']]>([
    ['an abort before it begins', (abort) => abort() ?? {}],
    ['an abort during the list', (abort) => ({ listed: abort })],
    ['a refused key', () => ({ listError: new AuthenticationError('Cannot list: 401', { status: 401 }) })],
    ['too long a wait', () => ({ listError: new RateLimitError('Cannot list: wait', { retryAt: new Date(900_000) }) })],
  ])('gives no ETA if %s ends the run before the list has been read', async (_what, settings) => {
    const controller = new AbortController();
    const store = new FakeStore(
      pets(3, 5),
      settings(() => void controller.abort()),
    );
    const seen: SyncProgress[] = [];
    const wanted = pets(3, 6).map(([petId, quantity]) => ({ petId, quantity }));
    const onProgress = (progress: SyncProgress) => seen.push(progress);
    const report = await syncInventory(store, wanted, { signal: controller.signal, onProgress });
    expect(report.pending).toHaveLength(3);
    expect(seen.at(-1)).toMatchObject({ phase: 'done', listed: 0, changes: 0 });
    expect(seen.at(-1)).not.toHaveProperty('etaMs');
  });

  test.each<[string, () => void | Promise<void>]>([
    ['at once', () => thrower()],
    ['later', async () => thrower()],
  ])('a listener that throws %s affects neither run nor process', async (_when, throwing) => {
    const told: string[] = [];
    // No mock of vitest's, which would hear of a rejection itself.
    const onProgress = ({ phase }: SyncProgress) => {
      told.push(phase);
      return throwing();
    };
    expect(await syncInventory(new FakeStore([[1, 5]]), [{ petId: 1, quantity: 6 }], { onProgress })).toMatchObject({ updated: 1 });
    expect(told).toEqual(['listing', 'updating', 'updating', 'done']);
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('counts a failed pet among the changes', async () => {
    const seen: SyncProgress[] = [];
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 2 ? 'refuse' : 'apply') });
    const wanted = pets(3, 6).map(([petId, quantity]) => ({ petId, quantity }));
    await syncInventory(store, wanted, { onProgress: (progress) => seen.push(progress), concurrency: 1 });
    expect(seen.map(({ changes, updated, failed }) => [changes, updated, failed])).toEqual([
      [0, 0, 0],
      [3, 0, 0],
      [3, 1, 0],
      [3, 1, 1],
      [3, 2, 1],
      [3, 2, 1],
    ]);
  });

  test('is called for every thousand items of the list', async () => {
    const listed: number[] = [];
    await syncInventory(new FakeStore(pets(2_500, 5)), [{ petId: 1, quantity: 5 }], {
      onProgress: (progress) => listed.push(progress.listed),
    });
    expect(listed).toEqual([0, 1000, 2000, 2500, 2500]);
  });
});

describe('maxChanges', () => {
  const WANTED = [1, 2, 3].map((petId) => ({ petId, quantity: 6 }));

  test.each([
    [2, 'at most 2'],
    ['20%', 'at most 20% of them (2)'],
    ['29.9%', 'at most 29.9% of them (2)'],
  ] as const)('of %s refuses more changes before the first update, and names the numbers', async (maxChanges, rule) => {
    const store = new FakeStore(pets(10, 5));
    const refused = syncInventory(store, WANTED, { maxChanges, review: () => expect.unreachable() });
    await expect(refused).rejects.toMatchObject({
      kind: 'invalid-argument',
      argument: 'maxChanges',
      message: `Cannot start: 3 of the 10 pets in the list would change, and \`maxChanges\` allows ${rule}`,
    });
    expect(store.requests).toEqual(['GET']);
  });

  test('of 0 allows none', async () => {
    const store = new FakeStore(pets(10, 5));
    await expect(syncInventory(store, WANTED, { maxChanges: 0 })).rejects.toThrow('`maxChanges` allows at most 0');
    expect(await syncInventory(store, [{ petId: 1, quantity: 5 }], { maxChanges: 0 })).toMatchObject({ updated: 0, unchanged: 1 });
  });

  test.each([3, '30%', '100%'] as const)('of %s allows three changes of ten pets', async (maxChanges) => {
    expect(await syncInventory(new FakeStore(pets(10, 5)), WANTED, { maxChanges })).toMatchObject({ updated: 3 });
  });

  test('of 2.3% allows 69 changes of 3,000 pets, though a double is a little below', async () => {
    const wanted = pets(69, 6).map(([petId, quantity]) => ({ petId, quantity }));
    expect(await syncInventory(new FakeStore(pets(3_000, 5)), wanted, { maxChanges: '2.3%' })).toMatchObject({ updated: 69 });
  });

  test.each([-1, 1.5, '10', '101%', '%', '-1%', true])('of %s is refused as an option', async (maxChanges) => {
    const store = new FakeStore(pets(1, 5));
    const run = Reflect.apply(syncInventory, undefined, [store, WANTED, { maxChanges }]);
    await expect(run).rejects.toMatchObject({ kind: 'configuration', option: 'maxChanges' });
    expect(store.requests).toEqual([]);
  });
});

test('review gets the size of the list, and how many wanted pets are in it', async () => {
  const review = vi.fn();
  const wanted = [1, 2, 99].map((petId) => ({ petId, quantity: petId === 1 ? 5 : 6 }));
  await syncInventory(new FakeStore(pets(10, 5)), wanted, { review });
  expect(review.mock.lastCall?.[1]).toEqual({ listed: 10, wanted: 3, changes: 1, missing: 1 });
});

test('priority applies to the list and the updates', async () => {
  const store = new FakeStore(pets(1, 5));
  await syncInventory(store, [{ petId: 1, quantity: 6 }], { priority: 'normal' });
  expect(store.options.map(({ priority }) => priority)).toEqual(['normal', 'normal']);
});
