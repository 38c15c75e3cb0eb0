import { expect, test } from 'vitest';
import { searchStock } from '../../src/sandbox/page/search.ts';
import { MemoryStock } from '../../src/sandbox/stock.ts';

function stockOf(...petIds: bigint[]): MemoryStock {
  const stock = new MemoryStock();
  stock.fill(petIds.map((petId) => ({ petId, quantity: 1, status: petId === 7n ? 'sold' : 'available' })));
  return stock;
}

async function found(words: string): Promise<string[]> {
  const { items } = await searchStock(stockOf(0n, 7n, 70n), { words, from: 0, signal: new AbortController().signal });
  return items.map(({ petId }) => petId);
}

test.each([
  ['', ['0', '7', '70']],
  ['sold', ['7']],
  ['7', ['7', '70']],
  ['70', ['70']],
  ['0', ['0', '70']],
  ['x', []],
])('the page of a sandbox finds %j in ids and statuses, the pet of that id first', async (words, petIds) => {
  expect(await found(words)).toEqual(petIds);
});
