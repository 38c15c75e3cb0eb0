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
