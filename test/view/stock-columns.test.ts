import { describe, expect, test } from 'vitest';
import { type AnyItem, StockColumns } from '../../src/view/stock-columns.ts';
import { collectGarbage } from '../support/garbage.ts';

const STATUSES = ['available', 'pending', 'sold', 'lost'];
const PETS = 150_000;

function stockOf(size: number): AnyItem[] {
  return Array.from({ length: size }, (_, row) => ({ petId: row + 1, quantity: row % 500, status: STATUSES[row % 4] ?? '' }));
}

/** The list after another one, in batches as a stream gives them. */
function listAfter(before: StockColumns, items: readonly AnyItem[]): StockColumns {
  const columns = before.successor();
  for (let from = 0; from < items.length; from += 1_300) columns.add(items.slice(from, from + 1_300));
  return columns;
}

const itemsOf = (columns: StockColumns) => Array.from({ length: columns.size }, (_, row) => columns.itemAt(row));

/** The rows in which two lists differ; `toEqual` takes seconds for so many items. */
function differences(found: readonly AnyItem[], expected: readonly AnyItem[]): unknown[] {
  const rows: unknown[] = [];
  for (let row = 0; row < Math.max(found.length, expected.length); row++) {
    const [is, should] = [found[row], expected[row]];
    if (is?.petId !== should?.petId || is?.quantity !== should?.quantity || is?.status !== should?.status) rows.push({ row, is, should });
  }
  return rows;
}

function replace(items: readonly AnyItem[], ...changed: readonly AnyItem[]): AnyItem[] {
  const byId = new Map(items.map((item) => [item.petId, item]));
  for (const item of changed) byId.set(item.petId, item);
  return [...byId.values()];
}

/** Stands for no pet. */
const GONE: AnyItem = { petId: -1, quantity: 0, status: '' };

const first = stockOf(PETS);
const rows = [1, 2, 65_536, 65_537, 131_072, PETS];

describe('the columns of a second list', () => {
  test.each<{ name: string; items: AnyItem[] }>([
    { name: 'that are the same', items: first },
    {
      name: 'of which some have another quantity',
      items: replace(first, ...rows.map((petId) => ({ ...first[petId - 1], petId, quantity: 7_000 }) as AnyItem)),
    },
    { name: 'of which one needs more bytes', items: replace(first, { petId: 65_540, quantity: 2 ** 40, status: 'sold' }) },
    {
      name: 'of which some have another status',
      items: replace(first, ...rows.map((petId) => ({ petId, quantity: (petId - 1) % 500, status: 'found' }))),
    },
    { name: 'that are fewer', items: first.slice(0, 70_000) },
    { name: 'that are more', items: stockOf(200_000) },
    { name: 'without one in the midst', items: first.toSpliced(80_000, 1) },
    { name: 'none at all', items: [] },
  ])('hold pets $name, say what changed, and do not change the columns before', ({ items }) => {
    const before = listAfter(new StockColumns(), first);
    const after = listAfter(before, items);
    expect(differences(itemsOf(after), items)).toEqual([]);
    expect(differences(itemsOf(before), first)).toEqual([]);

    const old = new Map(first.map((item) => [item.petId, item]));
    const now = new Map(items.map((item) => [item.petId, item]));
    const isOther = ({ petId, quantity, status }: AnyItem) => old.get(petId)?.quantity !== quantity || old.get(petId)?.status !== status;
    const changed = items.filter(isOther).map((item) => ({ before: old.get(item.petId), after: item }));
    const gone = first.filter(({ petId }) => !now.has(petId)).map((item) => ({ before: item, after: undefined }));
    const expected = [...changed, ...gone];
    const found = [...after.changesSince(before)];
    const sideOf = (side: 'before' | 'after', changes: typeof found) => changes.map((change) => change[side] ?? GONE);
    expect(differences(sideOf('before', found), sideOf('before', expected))).toEqual([]);
    expect(differences(sideOf('after', found), sideOf('after', expected))).toEqual([]);
  });

  test.each([64, 255, 256, 257, 300])('hold %i statuses, and give the pets of each', (count) => {
    const items = Array.from({ length: 2 * count }, (_, row) => ({ petId: row + 1, quantity: 1, status: `status ${row % count}` }));
    const columns = listAfter(listAfter(new StockColumns(), first.slice(0, 9)), items);
    expect(differences(itemsOf(columns), items)).toEqual([]);
    expect([...columns.rows(`status ${count - 1}`)]).toEqual([count - 1, 2 * count - 1]);
    const reversed = listAfter(columns, items.toReversed());
    expect(differences(itemsOf(reversed), items.toReversed())).toEqual([]);
    expect([...reversed.changesSince(columns)]).toEqual([]);
  });

  test('are not changed by an update of the columns before, nor the other way round', () => {
    const before = listAfter(new StockColumns(), first);
    const after = listAfter(before, first);
    const sold = { petId: 65_537, quantity: 0, status: 'sold' };
    const updated = before.with(sold);
    const renewed = after.with({ ...sold, petId: 3 });
    expect([before, updated, after, renewed].map((columns) => [columns.find(65_537)?.quantity, columns.find(3)?.quantity])).toEqual([
      [36, 2],
      [0, 2],
      [36, 0],
      [36, 0],
    ]);
  });

  test('hold each pet of a list that follows none, also if an update came before its first items', () => {
    const before = new StockColumns();
    const after = before.successor();
    before.with({ petId: 1, quantity: 5, status: 'sold' });
    after.add(first.slice(0, 3).toReversed());
    expect(itemsOf(after)).toEqual(first.slice(0, 3).toReversed());
  });

  test.each([0, 10, 70_000])('with %i pets keep at most as much memory again for pets that are gone', async (size) => {
    const measure = async () => {
      await collectGarbage();
      return process.memoryUsage().arrayBuffers;
    };
    const emptyBytes = await measure();
    let columns = listAfter(new StockColumns(), first);
    const bytesPerPet = ((await measure()) - emptyBytes) / PETS;
    for (let lists = 0; lists < 2; lists++) columns = listAfter(columns, first.slice(0, size));
    expect((await measure()) - emptyBytes).toBeLessThan(2 * size * bytesPerPet + 10_000);
    expect(differences(itemsOf(columns), first.slice(0, size))).toEqual([]);
  });
});
