import { reply } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import {
  AuthenticationError,
  BadRequestError,
  ConfigurationError,
  InvalidArgumentError,
  NotFoundError,
  ServerError,
  UnexpectedStatusError,
} from '../../src/errors.ts';
import { JournalError, syncInventory } from '../../src/sync/index.ts';
import { deferred } from '../support/deferred.ts';
import { rejectionOf } from '../support/outcome.ts';
import { nextTurn } from '../support/unhandled.ts';
import { FakeStore, pets, type Treatment } from './support/fake-store.ts';
import { MemoryJournal } from './support/memory-journal.ts';

const TWO = [
  { petId: 1, quantity: 6 },
  { petId: 2, adjust: 2 },
];

/** Runs a job once in which the given pets are not simply applied. */
async function runOnce(treatments: Record<number, Treatment>): Promise<{ store: FakeStore; journal: MemoryJournal }> {
  const store = new FakeStore(pets(2, 5), { treat: (petId) => treatments[Number(petId)] ?? 'apply' });
  const journal = new MemoryJournal();
  await syncInventory(store, TWO, { journal, concurrency: 1, now: () => 0 });
  store.requests.length = 0;
  store.settings = {};
  return { store, journal };
}

test('A JournalError in JSON says what is wrong, without its cause', () => {
  const error = new JournalError('Cannot write journal a: EIO', { code: 'EIO', cause: new Error('EIO') });
  const json = { name: 'JournalError', kind: 'journal', message: 'Cannot write journal a: EIO', code: 'EIO' };
  expect(JSON.parse(JSON.stringify({ error }))).toEqual({ error: json });
});

describe('a journal', () => {
  test('holds each promise before its request is sent, and how it ended', async () => {
    const { journal } = await runOnce({});
    expect(journal.story).toEqual(['job', 'run', 'intent 1', 'done 1', 'intent 2', 'done 2', 'end']);
    expect(journal.lines[2]).toBe('{"type":"intent","petId":1,"from":5,"to":6}');
    expect(journal.closed).toBe(1);
  });

  test('is written in batches of at most a thousand lines, and in as few as possible', async () => {
    const journal = new MemoryJournal();
    await syncInventory(
      new FakeStore([]),
      pets(2_500, 6).map(([petId, quantity]) => ({ petId, quantity })),
      { journal },
    );
    expect(journal.portions).toEqual([2, 1_000, 1_000, 501]);
  });

  test('of a finished job gives its report again and sends nothing', async () => {
    const store = new FakeStore(pets(5, 5), { treat: (petId) => (petId === 2 ? 'refuse' : 'apply') });
    const journal = new MemoryJournal();
    const wanted = [...TWO, { petId: 3, quantity: 5 }, { petId: 2n ** 62n, quantity: 1 }];
    const first = await syncInventory(store, wanted, { journal });
    const second = await syncInventory(store, wanted, { journal });
    expect(first).not.toHaveProperty('finishedAt');
    expect(second).toMatchObject({ finishedAt: expect.any(Date), updated: 1, unchanged: 1, missing: [2n ** 62n], pending: [] });
    expect(second.failed).toMatchObject([
      { petId: 2, quantity: 7, error: { name: 'BadRequestError', kind: 'bad-request', code: 'refused', status: 400, outcome: 'rejected' } },
    ]);
    expect(second.failed[0]?.error).toBeInstanceOf(BadRequestError);
    expect(second.failed[0]?.error.message).toBe(first.failed[0]?.error.message);
    expect(store.requests).toHaveLength(3);
  });

  test.each([
    { refusal: new NotFoundError('no such pet', { status: 404, code: 'pet_missing', outcome: 'rejected' }), own: {} },
    { refusal: new UnexpectedStatusError('forbidden', { status: 403, code: 'forbidden', outcome: 'rejected' }), own: {} },
    { refusal: new InvalidArgumentError('below 0', { argument: 'quantity', outcome: 'not-sent' }), own: { argument: 'quantity' } },
  ])('of a finished job gives a refusal again with the kind $refusal.kind', async ({ refusal, own }) => {
    const { store, journal } = await runOnce({ 1: { reject: refusal } });
    const { failed } = await syncInventory(store, TWO, { journal });
    const { kind, message, status, code, outcome } = refusal;
    expect(failed).toMatchObject([{ petId: 1, quantity: 6, error: { kind, message, status, code, outcome, ...own } }]);
    expect(store.requests).toEqual([]);
  });

  test("keeps the first 4,096 characters of a refusal's message", async () => {
    const error = new BadRequestError('x'.repeat(5_000), { status: 400, outcome: 'rejected' });
    const { store, journal } = await runOnce({ 2: { reject: error } });
    const { failed } = await syncInventory(store, TWO, { journal });
    expect(failed.map((each) => each.error.message.length)).toEqual([4_096]);
  });

  test('serves one job at a time', async () => {
    const [store, journal] = [new FakeStore(pets(3, 5)), new MemoryJournal()];
    const adjusted = pets(3, 5).map(([petId]) => ({ petId, adjust: 1 }));
    const first = syncInventory(store, adjusted, { journal });
    await expect(syncInventory(store, adjusted, { journal })).rejects.toMatchObject({
      name: 'JournalError',
      code: 'journal_busy',
      message: 'Cannot use journal memory: a job of this process is using it; wait for its end, and name journals after their job',
    });
    await first;
    expect(await syncInventory(store, adjusted, { journal })).toMatchObject({ updated: 3, finishedAt: expect.any(Date) });
    expect([...store.stock.values()]).toEqual([6, 6, 6]);
  });

  test('shows what was done although nothing follows it', async () => {
    const [store, journal] = [new FakeStore(pets(2, 5), { treat: (petId) => (petId === 2 ? 'hang' : 'apply') }), new MemoryJournal()];
    const controller = new AbortController();
    const wanted = pets(2, 6).map(([petId, quantity]) => ({ petId, quantity }));
    const job = syncInventory(store, wanted, { journal, concurrency: 2, signal: controller.signal });
    await expect.poll(() => journal.story).toContain('done 1');
    controller.abort();
    await job;
  });

  test('accepts the same wanted state in another order', async () => {
    const { store, journal } = await runOnce({});
    expect(await syncInventory(store, TWO.toReversed(), { journal })).toMatchObject({ updated: 2 });
  });

  test('refuses another wanted state, and stays unchanged', async () => {
    const { store, journal } = await runOnce({});
    const held = [...journal.lines];
    const other = syncInventory(store, [{ petId: 1, quantity: 7 }], { journal });
    await expect(other).rejects.toMatchObject({ kind: 'invalid-argument', argument: 'journal' });
    await expect(other).rejects.toThrow('journal memory for this input: it belongs to another wanted state (pets there: 2, here: 1)');
    expect(journal.lines).toEqual(held);
    expect(store.requests).toEqual([]);
  });

  test('of one store is refused for another, and names both addresses', async () => {
    const staging = Object.assign(new FakeStore(pets(2, 5)), { baseUrl: 'https://staging.example/v1' });
    const production = Object.assign(new FakeStore(pets(2, 5)), { baseUrl: 'https://example/v1' });
    const journal = new MemoryJournal();
    await syncInventory(staging, TWO, { journal });
    const other = syncInventory(production, TWO, { journal });
    await expect(other).rejects.toMatchObject({ kind: 'invalid-argument', argument: 'journal' });
    await expect(other).rejects.toThrow('journal memory for https://example/v1: it belongs to a job for https://staging.example/v1');
    expect(production.requests).toEqual([]);
    expect(await syncInventory(staging, TWO, { journal })).toMatchObject({ updated: 2 });
  });

  test('of a store with an address is refused for one without', async () => {
    const journal = new MemoryJournal();
    await syncInventory(Object.assign(new FakeStore(pets(2, 5)), { baseUrl: 'https://example/v1' }), TWO, { journal });
    await expect(syncInventory(new FakeStore(pets(2, 5)), TWO, { journal })).rejects.toThrow('for a store with an unknown address');
  });

  test('sends a doubtful update again if the pet has its old quantity', async () => {
    const { store, journal } = await runOnce({ 2: 'drop' });
    store.stock.set(2, 5);
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, failed: [] });
    expect(store.requests).toEqual(['GET', 'PATCH 2 7']);
  });

  test('counts a doubtful update as done if the pet has the wanted quantity', async () => {
    const { store, journal } = await runOnce({ 2: 'drop' });
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, failed: [] });
    expect(store.requests).toEqual(['GET']);
    expect(journal.story.slice(-3)).toEqual(['run', 'done 2', 'end']);
    expect(journal.lines.filter((line) => line.includes('"type":"job"'))).toHaveLength(1);
  });

  test('keeps what its list has confirmed, even if the run is refused', async () => {
    const { store, journal } = await runOnce({ 1: 'lose', 2: 'drop' });
    await expect(syncInventory(store, TWO, { journal, maxChanges: 0 })).rejects.toThrow('Cannot start');
    store.stock.set(2, 4);
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, failed: [] });
    expect(store.stock.get(2)).toBe(4);
  });

  test('is free for another job if its run is refused, however many pets its list has failed', async () => {
    const [store, journal] = [new FakeStore(pets(1_200, 5)), new MemoryJournal()];
    for (let petId = 1; petId <= 1_100; petId++) store.twice.add(petId);
    const wanted = pets(1_200, 6).map(([petId, quantity]) => ({ petId, quantity }));
    await expect(syncInventory(store, wanted, { journal, maxChanges: 10 })).rejects.toThrow('Cannot start');
    expect(await syncInventory(store, wanted.slice(1_190), { journal })).toMatchObject({ updated: 10 });
  });

  test('fails a doubtful update as a conflict for good if the pet has another quantity', async () => {
    const { store, journal } = await runOnce({ 2: 'drop' });
    store.stock.set(2, 4);
    const conflict = { petId: 2, quantity: 7, error: { kind: 'sync', code: 'conflict', reason: 'conflict' } };
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 1, failed: [conflict] });
    journal.lines.pop();
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 1, failed: [conflict] });
    expect(journal.story.slice(-4)).toEqual(['run', 'failed 2', 'run', 'end']);
    expect(store.requests).toEqual(['GET']);
    expect(store.stock.get(2)).toBe(4);
  });

  test('computes an adjustment again if its update was certainly not applied', async () => {
    const { store, journal } = await runOnce({ 2: 'lose' });
    store.stock.set(2, 40);
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, failed: [] });
    expect(store.stock.get(2)).toBe(42);
  });

  test('continues with what a bad key left pending', async () => {
    const bad = { reject: new AuthenticationError('no', { status: 401, outcome: 'rejected' }) };
    const { store, journal } = await runOnce({ 1: bad });
    expect(journal.story).toEqual(['job', 'run', 'intent 1', 'void 1']);
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2 });
  });

  test.each([408, 425])('sends an update again that was refused with the temporary status %i', async (status) => {
    const refusal = { reject: new UnexpectedStatusError('not now', { status, outcome: 'rejected' }) };
    const { store, journal } = await runOnce({ 2: refusal });
    expect(journal.story.at(-1)).toBe('void 2');
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, failed: [] });
  });

  test.each([301, 403])("sends an update again that was refused with %i by an answer that is not the service's", async (status) => {
    const refusal = { reject: new UnexpectedStatusError('no', { status, code: `http_${status}`, outcome: 'rejected' }) };
    const { store, journal } = await runOnce({ 2: refusal });
    expect(journal.story.at(-1)).toBe('void 2');
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, failed: [] });
  });

  test('says how an update ended that was under way when another one ended the run with an error', async () => {
    const refused = new ConfigurationError('no', { option: 'priority', outcome: 'not-sent' });
    const ended = deferred<void>();
    const journal = new MemoryJournal();
    const store = new FakeStore(pets(3, 5), { treat: (petId) => (petId === 2 ? { reject: refused } : 'apply') });
    const update = store.updateInventory.bind(store);
    store.updateInventory = (petId, ...rest) => {
      if (petId === 1) return reply(ended.promise.then(() => update(petId, ...rest)));
      // Pet 1 is answered while the journal writes how this one ended.
      journal.step = async () => {
        ended.resolve();
        await nextTurn();
      };
      return update(petId, ...rest);
    };
    const wanted = pets(3, 6).map(([petId, quantity]) => ({ petId, quantity }));
    expect(await rejectionOf(syncInventory(store, wanted, { journal, concurrency: 2 }))).toBe(refused);
    expect(journal.story).toEqual(['job', 'run', 'intent 1', 'intent 2', 'void 2', 'done 1']);
  });

  test('does not change a pet that an earlier run has done, whatever its quantity is now', async () => {
    const { store, journal } = await runOnce({ 2: 'lose' });
    store.stock.set(1, 1);
    await syncInventory(store, TWO, { journal });
    expect(store.stock.get(1)).toBe(1);
  });

  test('needs no list when an earlier run did everything but write its end', async () => {
    const { store, journal } = await runOnce({});
    journal.lines.pop();
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2 });
    expect(store.requests).toEqual([]);
  });

  test('looks again for a pet that was missing when an earlier run did everything but write its end', async () => {
    const [store, journal] = [new FakeStore([[1, 5]]), new MemoryJournal()];
    await syncInventory(store, TWO, { journal });
    journal.lines.pop();
    store.stock.set(2, 5);
    expect(journal.story.at(-1)).toBe('missing 2');
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2, missing: [] });
  });

  test('keeps a refusal for good, though the list of a later run has its pet', async () => {
    const { store, journal } = await runOnce({ 1: 'refuse', 2: 'lose' });
    const refused = { petId: 1, error: { kind: 'bad-request' } };
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 1, failed: [refused] });
    expect(store.requests).toEqual(['GET', 'PATCH 2 7']);
  });

  test('gives a refusal of an earlier run with the id that this run wants', async () => {
    const journal = new MemoryJournal();
    const store = new FakeStore(pets(1, 5), { treat: () => 'refuse' });
    await syncInventory(store, [{ petId: 1, quantity: 9 }], { journal });
    const { failed } = await syncInventory(store, [{ petId: 1n, quantity: 9 }], { journal });
    expect(failed).toMatchObject([{ petId: 1n, quantity: 9, error: { kind: 'bad-request', petId: 1n } }]);
  });

  test('keeps an update without an answer in doubt, and reports the quantity of its promise', async () => {
    const { store, journal } = await runOnce({ 2: 'drop' });
    store.settings = { listError: new AuthenticationError('no', { status: 401 }) };
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 1, pending: [{ petId: 2, quantity: 7 }] });
  });

  test('keeps a resumed update in doubt even if its repetition was refused temporarily', async () => {
    const { store, journal } = await runOnce({ 2: 'drop' });
    store.stock.set(2, 5);
    store.settings = { treat: () => 'lose' };
    await syncInventory(store, TWO, { journal });
    store.settings = {};
    store.stock.set(2, 7);
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2 });
    expect(store.stock.get(2)).toBe(7);
  });
});

describe('a torn or foreign line', () => {
  const GONE = '"error":{"name":"NotFoundError","kind":"not-found","message":"gone","status":404}';

  test('at the end is ignored as the rest of a killed run', async () => {
    const { store, journal } = await runOnce({ 2: 'lose' });
    journal.lines.push('{"type":"int');
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2 });
    expect(await syncInventory(store, TWO, { journal })).toMatchObject({ updated: 2 });
  });

  test('in the first record makes the journal a new one', async () => {
    const journal = new MemoryJournal();
    journal.lines.push('{"type":"jo');
    expect(await syncInventory(new FakeStore(pets(2, 5)), TWO, { journal })).toMatchObject({ updated: 2 });
    expect(await syncInventory(new FakeStore([]), TWO, { journal })).toMatchObject({ updated: 2 });
  });

  test.each([
    ['in the middle', 3, 'garbage', 'line 4 is not a record'],
    ['of a foreign file', 0, 'petId,quantity', 'line 1 is not a record'],
    ['with an id that is not whole', 3, '{"type":"done","petId":"1x"}', 'line 4 is not a record'],
    ['with an id that begins late', 3, '{"type":"done","petId":"x1"}', 'line 4 is not a record'],
    ['with an id beyond int64', 3, '{"type":"done","petId":"9223372036854775808"}', 'line 4 is not a record'],
    ['with a quantity before that is not whole', 3, '{"type":"intent","petId":2,"from":5.5,"to":7}', 'line 4 is not a record'],
    ['with a quantity after that is not whole', 3, '{"type":"intent","petId":2,"from":5,"to":1.5}', 'line 4 is not a record'],
    ['with a quantity after that was rounded', 3, '{"type":"intent","petId":2,"from":5,"to":9007199254740993}', 'line 4 is not a record'],
    ['with a failed quantity that is not whole', 3, `{"type":"failed","petId":2,"quantity":1.5,${GONE}}`, 'line 4 is not a record'],
    ['where the header should be', 0, '{"type":"done","petId":1}', 'line 1 is not a record'],
  ])('%s makes the journal unreadable, and nothing is sent or written', async (_name, index, line, message) => {
    const { store, journal } = await runOnce({ 2: 'lose' });
    journal.lines.splice(index, 0, line);
    const held = [...journal.lines];
    const resumed = syncInventory(store, TWO, { journal });
    await expect(resumed).rejects.toBeInstanceOf(JournalError);
    await expect(resumed).rejects.toThrow(message);
    expect(journal.lines).toEqual(held);
    expect(store.requests).toEqual([]);
  });

  test.each([
    ['an intent whose quantity is no integer', '{"type":"intent","petId":2,"from":5,"to":7.5}'],
    ['a record of a type that does not exist', '{"type":"note","petId":2}'],
    ['no object', '7'],
  ])('at the end that is %s was not torn by a crash, and makes the journal unreadable', async (_name, line) => {
    const { store, journal } = await runOnce({ 2: 'lose' });
    journal.lines.push(line);
    await expect(syncInventory(store, TWO, { journal })).rejects.toThrow(`line ${journal.lines.length} is not a record`);
    expect(store.requests).toEqual([]);
  });

  test('that is the only one in its file is not overwritten', async () => {
    const journal = new MemoryJournal();
    journal.lines.push('my only copy');
    await expect(syncInventory(new FakeStore([]), TWO, { journal })).rejects.toThrow('line 1 is not a record of a journal');
    expect(journal.lines).toEqual(['my only copy']);
  });
});

const FULL = new JournalError('Cannot write journal memory: full', { code: 'ENOSPC' });

test('a journal that cannot be written stops the run before its list', async () => {
  const store = new FakeStore(pets(2, 5));
  const journal = new MemoryJournal();
  journal.appendError = FULL;
  expect(await rejectionOf(syncInventory(store, TWO, { journal }))).toBe(FULL);
  expect([store.requests, journal.closed]).toEqual([[], 1]);
});

test('a journal that cannot take a promise stops the run before the request that it should have promised', async () => {
  const store = new FakeStore(pets(2, 5));
  const journal = new MemoryJournal();
  const fillUp = () => {
    journal.appendError = FULL;
  };
  expect(await rejectionOf(syncInventory(store, TWO, { journal, review: fillUp }))).toBe(FULL);
  expect([store.requests, journal.closed]).toEqual([['GET'], 1]);
});

test.each<[what: string, first: Treatment, twice: number]>([
  ['that an update was applied', 'drop', 3],
  ['that a pet failed', 'lose', 2],
])('a journal that cannot take %s rejects, and no update is sent', async (_what, first, twice) => {
  const { store, journal } = await runOnce({ 1: first, 2: 'lose' });
  store.stock.set(3, 5);
  store.twice.add(twice);
  store.settings.listed = () => {
    journal.appendError = FULL;
  };
  expect(await rejectionOf(syncInventory(store, TWO, { journal }))).toBe(FULL);
  expect(store.requests).toEqual(['GET']);
});

test('a journal that cannot take the last records rejects, since the job is not finished', async () => {
  const journal = new MemoryJournal();
  const fillUp = () => {
    journal.appendError = FULL;
  };
  const listed = { listed: fillUp };
  expect(await rejectionOf(syncInventory(new FakeStore([[1, 5]], listed), [{ petId: 1, quantity: 5 }], { journal }))).toBe(FULL);
});

test('a journal that fills up on the way lets the requests under way end, sends no other, then rejects', async () => {
  const journal = new MemoryJournal();
  const store = new FakeStore(pets(9, 5));
  const update = store.updateInventory.bind(store);
  const slow = deferred<void>();
  const fillUp = async () => {
    journal.appendError = FULL;
  };
  const before = new Map([
    [1, fillUp],
    [2, () => slow.promise],
  ]);
  store.updateInventory = (petId, ...asked) => reply(Promise.resolve(before.get(Number(petId))?.()).then(() => update(petId, ...asked)));
  const ended = rejectionOf(
    syncInventory(
      store,
      pets(9, 6).map(([petId, quantity]) => ({ petId, quantity })),
      { journal, concurrency: 2 },
    ),
  );
  await nextTurn();
  expect(await Promise.race([ended, 'not yet'])).toBe('not yet');
  slow.resolve();
  expect(await ended).toBe(FULL);
  expect(store.requests).toEqual(['GET', 'PATCH 1 6', 'PATCH 2 6']);
});

describe('a journal that cannot be closed', () => {
  const closeError = new JournalError('Cannot close journal');

  test('hides nothing that ended the run before', async () => {
    const journal = new MemoryJournal();
    const down = new ServerError('down');
    const store = new FakeStore([]);
    store.streamInventory = () => {
      throw down;
    };
    journal.closeError = closeError;
    expect(await rejectionOf(syncInventory(store, [{ petId: 1, quantity: 6 }], { journal }))).toBe(down);
    expect(journal.closed).toBe(1);
  });

  test('is reported after a run that did everything, whose job is finished', async () => {
    const journal = new MemoryJournal();
    const wanted = [{ petId: 1, quantity: 6 }];
    journal.closeError = closeError;
    expect(await rejectionOf(syncInventory(new FakeStore([[1, 5]]), wanted, { journal }))).toBe(closeError);
    journal.closeError = undefined;
    expect(await syncInventory(new FakeStore([[1, 5]]), wanted, { journal })).toMatchObject({ updated: 1, finishedAt: expect.any(Date) });
  });
});

test.each([
  [new UnexpectedStatusError('Cannot update pet 1: 418', { status: 418, outcome: 'rejected' }), true],
  [new NotFoundError('Cannot update pet 1: 404', { status: 404, outcome: 'rejected' }), true],
  [new UnexpectedStatusError('Cannot update pet 1: 408', { status: 408, outcome: 'rejected' }), false],
  [new UnexpectedStatusError('Cannot update pet 1: 308', { status: 308, code: 'moved', outcome: 'rejected' }), false],
  [new ServerError('Cannot update pet 1: 501', { status: 501, outcome: 'rejected' }), false],
])('a job whose only update got %s is finished: %s', async (error, isFinished) => {
  const store = new FakeStore([[1, 5]], { treat: () => ({ reject: error }) });
  const journal = new MemoryJournal();
  await syncInventory(store, [{ petId: 1, quantity: 6 }], { journal });
  expect(journal.story.at(-1) === 'end').toBe(isFinished);
});

test('a JournalError has a cause only if it was given one', () => {
  const cause = new Error('full');
  expect(new JournalError('Cannot write', { code: 'ENOSPC', cause })).toMatchObject({ message: 'Cannot write', code: 'ENOSPC', cause });
  expect(new JournalError('Cannot write')).not.toHaveProperty('cause');
});
