import { getEventListeners } from 'node:events';
import { type InventoryItem, type PetStoreApi, type RequestOptions, reply } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import type { CallEvent } from '../../src/events.ts';
import { HeldStock } from '../../src/view/held-stock.ts';
import { ListRun } from '../../src/view/list-run.ts';
import { deferred } from '../support/deferred.ts';
import { rejectionOf } from '../support/outcome.ts';
import { nextTurn } from '../support/unhandled.ts';

const pet = (petId: number): InventoryItem => ({ petId, quantity: 5, status: 'sold' });

type Batch = IteratorResult<InventoryItem[]>;

/** Lists that ignore their signal and continue as the test says; each begins at once, and is sent when the test says so. */
function openStation() {
  const lists: { options: RequestOptions; answers: ReturnType<typeof deferred<Batch>>[]; end: () => void }[] = [];
  const listeners = {
    started: new Set<(event: CallEvent) => void>(),
    request: new Set<(event: CallEvent) => void>(),
    retry: new Set<(event: CallEvent) => void>(),
  };
  const emit = (name: 'started' | 'request' | 'retry', callId: number) => {
    for (const listener of listeners[name]) listener({ callId, operation: 'streamInventory', attempt: 0 });
  };
  const client: PetStoreApi = {
    listInventory: () => reply([]),
    updateInventory: (petId) => reply(pet(Number(petId))),
    streamInventory: (options = {}) => {
      const list = { options, answers: [] as ReturnType<typeof deferred<Batch>>[], end: vi.fn() };
      const callId = lists.push(list);
      const next = () => {
        const answer = deferred<Batch>();
        if (list.answers.push(answer) === 1) emit('started', callId);
        return answer.promise;
      };
      const end = async (): Promise<Batch> => {
        list.end();
        return { done: true, value: undefined };
      };
      const batches = { next, return: end, [Symbol.asyncIterator]: () => batches };
      return { batches: () => batches, async *[Symbol.asyncIterator]() {} };
    },
    on: (name, listener) => {
      listeners[name].add(listener);
      return () => listeners[name].delete(listener);
    },
  };
  const held = new HeldStock();
  const [onLeave, onEnd] = [vi.fn(), vi.fn()];
  const run = new ListRun({ client, held, onLeave, onEnd });
  const answer = async (list: number, batch: InventoryItem[] | undefined) => {
    lists[list]?.answers.at(-1)?.resolve(batch ? { done: false, value: batch } : { done: true, value: undefined });
    await nextTurn();
  };
  const listening = () => listeners.started.size + listeners.request.size;
  const leave = (list: number) => emit('request', list + 1);
  const fail = (list: number) => emit('retry', list + 1);
  return { run, held, lists, onLeave, onEnd, answer, leave, fail, listening };
}

test('ListRun has low priority while all its readers have, and listens to its client until it is complete', async () => {
  const { run, held, lists, leave, answer, listening } = openStation();
  const joined = run.join({ signal: undefined, isLow: true });
  run.start();
  expect([lists[0]?.options.priority, run.hasLeft, listening()]).toEqual(['low', false, 1]);
  leave(0);
  expect(run.hasLeft).toBe(true);
  await answer(0, [pet(1)]);
  await answer(0, undefined);
  await joined;
  expect([held.columns?.size, listening()]).toEqual([1, 0]);
});

test('ListRun has normal priority if a normal reader joined before it began', async () => {
  const { run, lists } = openStation();
  for (const isLow of [true, false]) void run.join({ signal: undefined, isLow });
  run.start();
  expect(lists.map(({ options }) => options.priority)).toEqual(['normal']);
});

test('ListRun starts a new list with normal priority for a normal reader, and aborts the waiting low-priority list', async () => {
  const { run, held, lists, leave, onLeave, answer } = openStation();
  const joined = [run.join({ signal: undefined, isLow: true })];
  run.start();
  joined.push(run.join({ signal: undefined, isLow: false }), run.join({ signal: undefined, isLow: false }));
  expect(lists.map(({ options }) => [options.priority, options.signal?.aborted])).toEqual([
    ['low', true],
    ['normal', false],
  ]);
  leave(0);
  expect([run.hasLeft, onLeave.mock.calls.length]).toEqual([false, 0]);
  leave(1);
  await answer(0, [pet(1), pet(2)]);
  await answer(0, undefined);
  expect([held.columns, lists[0]?.answers.length]).toEqual([undefined, 1]);
  expect(lists[0]?.end).toHaveBeenCalledOnce();
  await answer(1, [pet(3)]);
  await answer(1, undefined);
  await Promise.all(joined);
  expect([held.columns?.size, held.columns?.itemAt(0)]).toEqual([1, pet(3)]);
});

test('ListRun keeps a low-priority list that was already sent when a normal reader comes', async () => {
  const { run, lists, leave } = openStation();
  void run.join({ signal: undefined, isLow: true });
  run.start();
  leave(0);
  void run.join({ signal: undefined, isLow: false });
  expect(lists.map(({ options }) => options.signal?.aborted)).toEqual([false]);
});

test('ListRun starts a new list with normal priority if the request of the low-priority list has failed', async () => {
  const { run, held, lists, leave, fail, answer } = openStation();
  const joined = [run.join({ signal: undefined, isLow: true })];
  run.start();
  leave(0);
  fail(0);
  expect([run.hasLeft, run.meets({ sinceMs: Number.POSITIVE_INFINITY, afterStamp: held.mark() })]).toEqual([false, true]);
  joined.push(run.join({ signal: undefined, isLow: false }));
  expect(lists.map(({ options }) => [options.priority, options.signal?.aborted])).toEqual([
    ['low', true],
    ['normal', false],
  ]);
  leave(1);
  await answer(1, [pet(3)]);
  await answer(1, undefined);
  await Promise.all(joined);
  expect(held.columns?.size).toBe(1);
});

test.each([
  { last: [pet(1)], ends: 1 },
  { last: undefined, ends: 0 },
])('ListRun keeps nothing of a list that its readers have left: $last', async ({ last, ends }) => {
  const { run, held, lists, leave, onEnd, answer, listening } = openStation();
  const controller = new AbortController();
  const joined = rejectionOf(run.join({ signal: controller.signal, isLow: false }));
  run.start();
  leave(0);
  await answer(0, [pet(1)]);
  controller.abort('gone');
  expect(await joined).toBe('gone');
  await answer(0, last);
  expect([held.columns, lists[0]?.answers.length, listening()]).toEqual([undefined, 2, 0]);
  expect(lists[0]?.end).toHaveBeenCalledTimes(ends);
  expect(onEnd.mock.calls).toEqual([[run, undefined]]);
});

test('ListRun reports its end once, and no request that is sent later', async () => {
  const { run, leave, onLeave, onEnd } = openStation();
  const { signal } = new AbortController();
  const joined = [rejectionOf(run.join({ signal, isLow: false })), rejectionOf(run.join({ signal: undefined, isLow: false }))];
  run.start();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  run.close('closed');
  run.close('closed again');
  leave(0);
  expect(await Promise.all(joined)).toEqual(['closed', 'closed']);
  await nextTurn();
  expect([onLeave.mock.calls, onEnd.mock.calls]).toEqual([[], [[run, { error: 'closed' }]]]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
