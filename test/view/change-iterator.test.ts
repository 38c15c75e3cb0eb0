import { getEventListeners } from 'node:events';
import * as fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { ChangeIterator } from '../../src/view/change-iterator.ts';
import { FUZZ } from '../support/fuzz.ts';
import { collectGarbage } from '../support/garbage.ts';
import { rejectionOf } from '../support/outcome.ts';

const quantity = fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined });
/** A pet gets a quantity, or goes; or the consumer takes a change. */
const step = fc.oneof(fc.record({ petId: fc.nat(3), quantity }), fc.constant('take' as const));

function itemOf(petId: number, held: number | undefined): { petId: number; quantity: number; status: string } | undefined {
  return held === undefined ? undefined : { petId, quantity: held, status: 'sold' };
}

function openIterator({ signal, onBegin = () => {} }: { signal?: AbortSignal; onBegin?: () => void } = {}): ChangeIterator<'number'> {
  return new ChangeIterator<'number'>({
    form: (item) => ({ ...item, petId: Number(item.petId) }),
    signal,
    maxAgeMs: undefined,
    onBegin,
    onWait: () => {},
    onEnd: () => {},
  });
}

test('a consumer that applies all changes has the held stock, and `before` is its previous value', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const iterator = openIterator();
      const [held, taken] = [new Map<number, number | undefined>(), new Map<number, number | undefined>()];
      const take = async () => {
        const { value } = await iterator.next();
        if (!value) throw new Error('it has ended');
        expect(value.before?.quantity).toBe(taken.get(value.petId));
        expect(value.after?.quantity).not.toBe(value.before?.quantity);
        taken.set(value.petId, value.after?.quantity);
      };
      const differing = () => [...held.keys()].filter((petId) => held.get(petId) !== taken.get(petId));
      for (const each of steps) {
        if (each === 'take') {
          if (differing().length > 0) await take();
          continue;
        }
        iterator.push({ before: itemOf(each.petId, held.get(each.petId)), after: itemOf(each.petId, each.quantity) });
        held.set(each.petId, each.quantity);
      }
      for (let left = differing().length; left > 0; left--) await take();
      expect(differing()).toEqual([]);
      await iterator.return();
    }),
    FUZZ,
  );
});

test('a thousand changes are taken in one walk, since each new walk of a Map passes all entries that were deleted', async () => {
  const iterator = openIterator();
  for (let petId = 0; petId < 1_000; petId++) iterator.push({ before: undefined, after: itemOf(petId, 1) });
  onTestFinished(() => void vi.restoreAllMocks());
  const walks = (['keys', 'values', 'entries', 'forEach', Symbol.iterator] as const).map((name) => vi.spyOn(Map.prototype, name));
  for (let petId = 0; petId < 1_000; petId++) await iterator.next();
  const count = walks.reduce((sum, { mock }) => sum + mock.calls.length, 0);
  expect(count).toBe(1);
});

test('changes that cancel each other out leave nothing in memory while the consumer is busy', async () => {
  const iterator = openIterator();
  for (let petId = 0; petId < 100; petId++) iterator.push({ before: undefined, after: itemOf(petId, 1) });
  await iterator.next();
  await collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let petId = 100; petId < 300_000; petId++) {
    iterator.push({ before: undefined, after: itemOf(petId, 1) });
    iterator.push({ before: itemOf(petId, 1), after: undefined });
  }
  await collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3_000_000);
  expect(await iterator.next()).toMatchObject({ value: { petId: 1 } });
});

test('waiting calls of next() get changes in the order of the calls, and the end if there are no more', async () => {
  const iterator = openIterator();
  const asked = Array.from({ length: 4 }, () => iterator.next());
  iterator.push({ before: undefined, after: itemOf(1, 5) });
  iterator.push({ before: undefined, after: itemOf(2, 6) });
  iterator.flush();
  const end = { done: true, value: undefined };
  expect(await iterator.return()).toEqual(end);
  expect(await Promise.all(asked)).toMatchObject([{ value: { petId: 1 } }, { value: { petId: 2 } }, end, end]);
});

test('an iteration begins once, when it is first asked for a change or opened, and never after its end', async () => {
  const onBegin = vi.fn();
  const iterator = openIterator({ onBegin });
  expect(onBegin).not.toHaveBeenCalled();
  const asked = [iterator[Symbol.asyncIterator]().next(), iterator.next()];
  await iterator.return();
  expect(await Promise.all(asked)).toMatchObject([{ done: true }, { done: true }]);
  expect(onBegin).toHaveBeenCalledOnce();
  const ended = openIterator({ onBegin });
  await ended.return();
  expect(await ended.next()).toEqual({ done: true, value: undefined });
  expect(onBegin).toHaveBeenCalledOnce();
});

test('an iteration listens to its signal from its beginning to its end', async () => {
  const { signal } = new AbortController();
  const iterator = openIterator({ signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  iterator[Symbol.asyncIterator]();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  await iterator.return();
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a failed iteration rejects the first waiting call of next(), or else the next one, and ends all others', async () => {
  const [waiting, busy] = [openIterator(), openIterator()];
  const asked = [rejectionOf(waiting.next()), waiting.next(), waiting.next()];
  for (const iterator of [waiting, busy]) iterator.fail('over');
  for (const iterator of [waiting, busy]) iterator.fail('over again');
  const end = { done: true, value: undefined };
  expect(await Promise.all(asked)).toEqual(['over', end, end]);
  expect([await waiting.next(), await rejectionOf(busy.next()), await busy.next()]).toEqual([end, 'over', end]);
});
