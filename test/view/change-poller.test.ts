import { expect, test } from 'vitest';
import { ChangePoller } from '../../src/view/change-poller.ts';

test('ChangePoller tells how many iterate as one comes or leaves, so that changes are noted for no one once the last has left', async () => {
  const counts: number[] = [];
  const poller = new ChangePoller<'number'>({
    form: (item) => ({ ...item, petId: Number(item.petId) }),
    dueInMs: () => 1_000,
    look: async () => {},
    onCount: (count) => counts.push(count),
  });
  const [one, other] = [poller.iterate({}), poller.iterate({})].map((iterator) => iterator[Symbol.asyncIterator]());
  await one?.return();
  await other?.return();
  expect(counts).toEqual([1, 2, 1, 0]);
});
