import { type InventoryItem, type PetStoreApi, planSync, reply, ServerError, syncInventory } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import { rejectionOf } from './support/outcome.ts';
import { nextTurn, watchUnhandled } from './support/unhandled.ts';

const unhandled = watchUnhandled();

describe('reply', () => {
  test('gives the data, and with withResponse() the reply of one good attempt', async () => {
    const listing = reply([1]);
    expect(await listing).toEqual([1]);
    expect(await listing.withResponse()).toEqual({ data: [1], status: 200, headers: new Headers(), attempts: 1, waitedMs: 0 });
  });

  test('resolves when the promise of its data does', async () => {
    const later = reply(nextTurn().then(() => 'late'));
    expect([await later, (await later.withResponse()).data]).toEqual(['late', 'late']);
  });

  test('rejects as the promise of its data does, and leaves nothing unhandled once it is awaited', async () => {
    const failure = new ServerError('down', { status: 500 });
    expect(await rejectionOf(reply(Promise.reject(failure)))).toBe(failure);
    expect(await rejectionOf(reply(Promise.reject(failure)).withResponse())).toBe(failure);
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });
});

test('planSync and syncInventory work with a fake of five lines', async () => {
  const items: InventoryItem[] = [{ petId: 1, quantity: 5, status: 'available' }];
  const updated: [petId: number | bigint, quantity: number][] = [];
  const fake: PetStoreApi = {
    listInventory: () => reply(items),
    streamInventory: async function* () {
      yield* items;
    },
    updateInventory: (petId, { quantity }) => reply({ petId: updated.push([petId, quantity]), quantity, status: 'available' }),
  };
  expect(await planSync(fake, [{ petId: 1, adjust: 2 }])).toMatchObject({ changes: [{ petId: 1, from: 5, to: 7 }], requests: 2 });
  expect(await syncInventory(fake, [{ petId: 1, adjust: 2 }])).toMatchObject({ updated: 1, failed: [] });
  expect(updated).toEqual([[1, 7]]);
});
