import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { IdTable } from '../../src/stock/id-table.ts';
import { FUZZ } from '../support/fuzz.ts';

const int64 = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
);
const ids = fc.oneof(
  fc.array(int64, { maxLength: 300 }),
  fc.array(int64, { maxLength: 300 }).map((each) => each.sort((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1))),
);

/** The rows that a Map gives these ids. */
function rowsByMap(petIds: readonly (number | bigint)[]): number[] {
  const rows = new Map<bigint, number>();
  return petIds.map((petId) => {
    const row = rows.get(BigInt(petId)) ?? rows.size;
    rows.set(BigInt(petId), row);
    return row;
  });
}

function tableOf(petIds: readonly (number | bigint)[]): IdTable {
  const table = new IdTable();
  for (const petId of petIds) table.take(petId);
  return table;
}

test('IdTable numbers any int64s as a Map does, ascending or not, and gives them back exactly', () => {
  fc.assert(
    fc.property(ids, (petIds) => {
      const table = new IdTable();
      const rows = rowsByMap(petIds);
      expect(petIds.map((petId) => table.take(petId))).toEqual(rows);
      expect(petIds.map((petId) => table.rowOf(petId))).toEqual(rows);
      expect(rows.map((row) => BigInt(table.idOf(row)))).toEqual(petIds.map(BigInt));
      expect(petIds.every((petId, at) => table.isAt(rows[at] ?? -1, petId))).toBe(true);
      expect(table.size).toBe(new Set(petIds.map(BigInt)).size);
    }),
    FUZZ,
  );
});

test('IdTable gives an id as a number if that is exact, else as a bigint', () => {
  const table = tableOf([1n, 2n ** 53n - 1n, 2n ** 53n, -(2n ** 53n), -(2 ** 53) + 1]);
  const given = Array.from({ length: 5 }, (_, row) => table.idOf(row));
  expect(given).toEqual([1, 2 ** 53 - 1, 2n ** 53n, -(2n ** 53n), -(2 ** 53) + 1]);
});

test('IdTable does not find an id that was not added', () => {
  fc.assert(
    fc.property(ids, int64, (petIds, other) => {
      fc.pre(!petIds.map(BigInt).includes(BigInt(other)));
      const table = tableOf(petIds);
      expect(table.rowOf(other)).toBeUndefined();
      expect(table.isAt(0, other)).toBe(false);
    }),
    FUZZ,
  );
});

/** Ids in one order without repetition; some differ in 32 of their bits only. */
const others = fc.array(int64, { maxLength: 200 }).map((each) => {
  const near = each.flatMap((id) => [id, BigInt.asIntN(64, BigInt(id) + 2n ** 32n), BigInt.asIntN(64, BigInt(id) + 1n)]);
  return near.filter((id, at) => near.findIndex((other) => BigInt(other) === BigInt(id)) === at);
});
const ascending = others.map((each) => each.toSorted((one, other) => (BigInt(one) < BigInt(other) ? -1 : 1)));
const itemsOf = (petIds: readonly (number | bigint)[]) => petIds.map((petId) => ({ petId }));

/** Takes all ids, those that ascend by `takeAscending`. */
function takeAll(table: IdTable, petIds: readonly (number | bigint)[]): IdTable {
  const items = itemsOf(petIds);
  for (let at = 0; at < items.length; at += 1) {
    at += table.takeAscending(items, at);
    const item = items[at];
    if (item) table.take(item.petId);
  }
  return table;
}

test('takeAscending() and take() together number ids as take() alone does', () => {
  fc.assert(
    fc.property(fc.oneof(ids, others, ascending), (petIds) => {
      const [table, expected] = [takeAll(new IdTable(), petIds), tableOf(petIds)];
      const all = Array.from({ length: expected.size }, (_, row) => expected.idOf(row));
      expect(Array.from({ length: table.size }, (_, row) => table.idOf(row))).toEqual(all);
    }),
    FUZZ,
  );
});

test.each([
  ['of 32 bits', -(2 ** 31), fc.integer({ min: -(2 ** 31) + 1, max: 2 ** 31 - 1 })],
  ['of 64 bits', 1n - 2n ** 63n, fc.bigInt({ min: 2n - 2n ** 63n, max: 2n ** 63n - 1n })],
])('takeAscending() takes fifteen ids %s at once, and none that is not larger than the one before', (_, lowest, id) => {
  const sets = fc.uniqueArray<number | bigint>(fc.oneof(id), { minLength: 15, maxLength: 15, comparator: (one, other) => one === other });
  fc.assert(
    fc.property(sets, fc.nat(14), (petIds, at) => {
      const sorted = petIds.toSorted((one, other) => (one < other ? -1 : 1));
      expect(tableOf([lowest]).takeAscending(itemsOf(sorted), 0)).toBe(15);
      expect(tableOf([lowest]).takeAscending(itemsOf(sorted.toSpliced(at, 0, sorted[at - 1] ?? lowest)), 0)).toBe(at);
    }),
    FUZZ,
  );
});

test('countSame() counts items, from any index on, up to the first that has not the id of its row', () => {
  const short = fc.uniqueArray(fc.integer({ min: -50, max: 50 }), { maxLength: 60 });
  const near = fc.constantFrom(0n, 1n, 2n ** 32n);
  fc.assert(
    fc.property(fc.oneof(others, ascending, short), fc.nat(), fc.nat(), fc.nat(3), near, (petIds, some, other, from, distance) => {
      const row = some % (petIds.length + 1);
      const at = other % Math.max(1, petIds.length - row);
      const same = petIds.slice(row).map((id, index) => (index === at ? BigInt.asIntN(64, BigInt(id) + distance) : id));
      const items = itemsOf([...Array.from({ length: from }, () => 7), ...same, 0]);
      expect(tableOf(petIds).countSame(items, from, row)).toBe(distance === 0n ? same.length : Math.min(at, same.length));
    }),
    FUZZ,
  );
});

test.each([[[]], [[5]], [[5, 2 ** 40]]])('IdTable has no id, and so not 0, in the row after those of %j', (petIds) => {
  const table = tableOf(petIds);
  expect(table.isAt(petIds.length, 0)).toBe(false);
});

test('first() gives a separate table with the first rows only', () => {
  fc.assert(
    fc.property(ids, fc.nat(300), (petIds, most) => {
      const table = tableOf(petIds);
      const rows = Math.min(most, table.size);
      const first = table.first(rows);
      table.take(2n ** 62n + 7n);
      const all = Array.from({ length: table.size }, (_, row) => table.idOf(row));
      expect(first.size).toBe(rows);
      expect(all.map((petId) => first.rowOf(petId))).toEqual(all.map((_, row) => (row < rows ? row : undefined)));
    }),
    FUZZ,
  );
});

test('IdTable keeps ids apart over more than one part of its columns, whatever their order', () => {
  const count = 140_000;
  const scattered = Array.from({ length: count }, (_, index) => ((index * 48_271) % 2_147_483_647) * 1_048_576);
  const table = tableOf(scattered);
  expect(table.size).toBe(count);
  expect(scattered.findIndex((petId, row) => table.rowOf(petId) !== row)).toBe(-1);
  const ascending = tableOf(Array.from({ length: count }, (_, index) => index * 3));
  expect([ascending.rowOf(3 * 131_072), ascending.rowOf(3 * 131_072 + 1), ascending.idOf(139_999)]).toEqual([131_072, undefined, 419_997]);
});

test.each([-5, -(2 ** 40)])('takeAscending() after the id %i stops before an item without an id', (first) => {
  const table = tableOf([first, first + 1]);
  const gap = Reflect.get([], 0);
  expect(table.takeAscending([{ petId: first + 2 }, gap, { petId: 5 }], 0)).toBe(1);
  expect([table.size, table.rowOf(0)]).toEqual([3, undefined]);
});
