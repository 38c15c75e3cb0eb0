import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fingerprint } from '../../src/sync/fingerprint.ts';
import { type WantedEntry, WantedStock } from '../../src/sync/wanted-stock.ts';

function stockOf(entries: Iterable<WantedEntry>): WantedStock {
  const stock = new WantedStock();
  for (const entry of entries) stock.add(entry);
  return stock;
}

describe('WantedStock', () => {
  test('keeps every pet when it grows', () => {
    const entries = Array.from({ length: 5_000 }, (_, petId) =>
      petId % 2 ? { petId, adjust: petId } : { petId: BigInt(petId), quantity: petId },
    );
    const stock = stockOf(entries);
    expect(stock.size).toBe(5_000);
    expect([...stock.pets()].map(([petId, row]) => stock.entry(petId, row))).toEqual(entries);
  });

  test('finds every pet when it has grown, whatever its id', () => {
    const petIds = Array.from({ length: 5_000 }, (_, index) => BigInt(index) * (index % 2 === 0 ? 2n ** 38n : -(2n ** 50n)));
    const stock = stockOf([...petIds, ...petIds].map((petId) => ({ petId, adjust: 1 })));
    expect(petIds.map((petId) => stock.rowOf(petId))).toEqual(petIds.map((_, row) => row));
    expect([stock.size, stock.duplicates, stock.rowOf(1)]).toEqual([5_000, 5_000, undefined]);
    expect([...stock.pets()].map(([petId]) => petId)).toEqual(petIds);
  });

  test('writes a quantity of -0 as 0', () => {
    expect(stockOf([{ petId: 1, quantity: -0 }]).amount(0)).toBe(0);
  });
});

describe('fingerprint', () => {
  const entries = fc.uniqueArray(fc.record({ petId: fc.integer(), quantity: fc.integer() }), {
    selector: ({ petId }) => petId,
    minLength: 2,
    maxLength: 20,
  });

  test('does not depend on the order of the pets, nor on how an id is written', () => {
    fc.assert(
      fc.property(entries, (given) => {
        const other = given.toReversed().map(({ petId, quantity }) => ({ petId: BigInt(petId), quantity }));
        expect(fingerprint(stockOf(other))).toBe(fingerprint(stockOf(given)));
        expect(fingerprint(stockOf(given))).toMatch(/^[\da-f]{32}$/);
      }),
    );
  });

  test('differs for another quantity, another pet, and an adjustment in place of a quantity', () => {
    const prints = [
      [{ petId: 1, quantity: 2 }],
      [{ petId: 1, quantity: 3 }],
      [{ petId: 2, quantity: 2 }],
      [{ petId: 1, adjust: 2 }],
      [{ petId: 1, quantity: -2 }],
      [{ petId: 12, quantity: 0 }],
      [
        { petId: 1, quantity: 2 },
        { petId: 2, quantity: 2 },
      ],
      [],
    ].map((given: WantedEntry[]) => fingerprint(stockOf(given)));
    expect(new Set(prints).size).toBe(8);
  });

  test('does not change from version to version, since journals contain it', () => {
    const entries: WantedEntry[] = [
      { petId: 1, quantity: 40 },
      { petId: 2n ** 60n, adjust: -1 },
    ];
    expect(fingerprint(stockOf(entries))).toBe('3906238485ce99bf15511b30840487be');
  });

  test('differs for each of a hundred thousand states of one row', () => {
    const prints = new Set(Array.from({ length: 100_000 }, (_, quantity) => fingerprint(stockOf([{ petId: 7, quantity }]))));
    expect(prints.size).toBe(100_000);
  });
});
