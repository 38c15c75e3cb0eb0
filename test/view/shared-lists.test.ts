import { type InventoryItem, type PetStoreApi, reply } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import { HeldStock } from '../../src/view/held-stock.ts';
import { SharedLists } from '../../src/view/shared-lists.ts';
import { deferred } from '../support/deferred.ts';
import { rejectionOf } from '../support/outcome.ts';
import { nextTurn } from '../support/unhandled.ts';

const PET: InventoryItem = { petId: 1, quantity: 5, status: 'sold' };
const ANY = { sinceMs: Number.NEGATIVE_INFINITY, afterStamp: 0 };

/** Lists that leave when they begin, and are complete or fail when the test says so. */
function openLists() {
  const answers: ReturnType<typeof deferred<void>>[] = [];
  const client: PetStoreApi = {
    listInventory: () => reply([PET]),
    updateInventory: () => reply(PET),
    streamInventory: async function* () {
      const answer = deferred<void>();
      answers.push(answer);
      await answer.promise;
      yield PET;
    },
  };
  const held = new HeldStock();
  const onEnd = vi.fn();
  const lists = new SharedLists({ client, held, onLeave: () => {}, onEnd });
  const wait = (signal?: AbortSignal) => lists.wait({ ...ANY, afterStamp: held.mark() }, { signal, isLow: false });
  return { lists, answers, held, onEnd, wait };
}

test('SharedLists begins no list for a reader whose signal has aborted', async () => {
  const { answers, wait } = openLists();
  expect(await rejectionOf(wait(AbortSignal.abort('gone')))).toBe('gone');
  expect(answers).toEqual([]);
});

test('SharedLists is reading from when a list leaves until it has ended', async () => {
  const { lists, answers, wait } = openLists();
  expect(lists.isReading).toBe(false);
  const waiting = wait();
  expect(lists.isReading).toBe(true);
  answers[0]?.resolve();
  await waiting;
  expect(lists.isReading).toBe(false);
});

test('SharedLists begins one more list for all who come while one is under way, also after that one has failed', async () => {
  const { answers, onEnd, wait } = openLists();
  const waiting = [rejectionOf(wait()), wait(), wait()];
  expect(answers).toHaveLength(1);
  answers[0]?.reject('broken');
  expect(await waiting[0]).toBe('broken');
  expect(answers).toHaveLength(2);
  answers[1]?.resolve();
  await Promise.all(waiting);
  expect([onEnd.mock.calls, answers.length]).toEqual([[[{ error: 'broken' }], [undefined]], 2]);
});

test('SharedLists begins no list that all its readers left before its turn', async () => {
  const { answers, onEnd, wait } = openLists();
  const controller = new AbortController();
  const waiting = [wait(), rejectionOf(wait(controller.signal))];
  controller.abort('gone');
  expect(await waiting[1]).toBe('gone');
  answers[0]?.resolve();
  await waiting[0];
  await nextTurn();
  expect([answers.length, onEnd.mock.calls]).toEqual([1, [[undefined]]]);
});

test('SharedLists, once closed, rejects the readers of the list under way and of the next one, which does not begin', async () => {
  const { lists, answers, wait } = openLists();
  const waiting = [rejectionOf(wait()), rejectionOf(wait())];
  lists.close('closed');
  expect(await Promise.all(waiting)).toEqual(['closed', 'closed']);
  await nextTurn();
  expect(answers).toHaveLength(1);
});
