import { expect, test } from 'vitest';
import type { PetId } from '../../src/contract/models.ts';
import { HeldStock } from '../../src/view/held-stock.ts';
import type { AnyChange } from '../../src/view/stock-columns.ts';

const item = (petId: PetId, quantity: number, status = 'sold') => ({ petId, quantity, status });

function holding(...items: ReturnType<typeof item>[]): { held: HeldStock; changes: AnyChange[] } {
  const held = new HeldStock();
  const changes: AnyChange[] = [];
  const departure = held.depart();
  const columns = held.begin();
  columns.add(items);
  held.replace(columns, departure);
  held.onChange = (told) => changes.push(...told);
  return { held, changes };
}

test('HeldStock reports an update that changes the quantity or the status, and no other', () => {
  const { held, changes } = holding(item(1, 5));
  for (const update of [item(1, 5), item(1, 6), item(1, 6), item(1, 6, 'lost'), item(2, 0)]) held.confirmed(update);
  expect(changes).toEqual([
    { before: item(1, 5), after: item(1, 6) },
    { before: item(1, 6), after: item(1, 6, 'lost') },
    { before: undefined, after: item(2, 0) },
  ]);
});

test('HeldStock doubts a pet under either form of its id, and no other pet', () => {
  const { held } = holding();
  held.inDoubt(5n);
  held.inDoubt(2n ** 60n);
  expect([5, 5n, 2n ** 60n, undefined, 6, 2n ** 60n + 1n].map((petId) => held.isDoubted(petId))).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

test('HeldStock doubts a pet until a list that was sent later is complete', () => {
  const { held } = holding(item(1, 5));
  const early = held.depart();
  held.inDoubt(1);
  held.replace(held.begin(), early);
  expect(held.isDoubted(1)).toBe(true);
  const late = held.depart();
  held.replace(held.begin(), late);
  expect([held.isDoubted(1), held.isDoubted(undefined)]).toEqual([false, false]);
});

test('HeldStock holds any number of pets in doubt', () => {
  const held = new HeldStock();
  for (let petId = 1; petId <= 200_000; petId++) held.inDoubt(petId);
  expect(held.doubtedAt(undefined)).toBe(200_000);
});
