import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { syncInventory, type WantedEntry } from '../../src/sync/index.ts';
import { FakeStore, type Treatment } from './support/fake-store.ts';
import { killer } from './support/killer.ts';
import { TornJournal } from './support/torn-journal.ts';

const PETS = 12;

const petId = fc.integer({ min: 1, max: PETS + 2 });
const amount = fc.integer({ min: -20, max: 20 });
const entry: fc.Arbitrary<WantedEntry> = fc.oneof(fc.record({ petId, quantity: amount }), fc.record({ petId, adjust: amount }));
const job = fc.record({
  stock: fc.array(amount, { minLength: PETS, maxLength: PETS }),
  wanted: fc.array(entry, { maxLength: 30 }),
  concurrency: fc.integer({ min: 1, max: 5 }),
  /** Steps after which each run is killed; the last run is left alone. */
  kills: fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 }),
  /** How much of the lines under way a kill leaves. */
  torn: fc.double({ min: 0, max: 1, noNaN: true }),
  treatments: fc.infiniteStream(fc.constantFrom<Treatment>('apply', 'apply', 'apply', 'drop', 'lose')),
});

function expectedStock(stock: readonly number[], wanted: readonly WantedEntry[]): [number, number][] {
  const expected = new Map(stock.map((quantity, index) => [index + 1, quantity]));
  for (const { petId, quantity, adjust } of wanted) {
    const before = expected.get(Number(petId));
    if (before !== undefined) expected.set(Number(petId), quantity ?? before + (adjust ?? 0));
  }
  return [...expected];
}

test('syncInventory reaches the wanted state, each adjustment applied once, whenever it is killed and whatever fails', async () => {
  await fc.assert(
    fc.asyncProperty(job, async ({ stock, wanted, concurrency, kills, torn, treatments }) => {
      const store = new FakeStore(stock.map((quantity, index) => [index + 1, quantity] as const));
      const journal = new TornJournal();
      const run = async (steps: number): Promise<'killed' | number> => {
        const { step, killed } = killer(steps);
        store.settings = { step, treat: () => (steps === Infinity ? 'apply' : (treatments.next().value ?? 'apply')) };
        journal.begin(step, torn);
        const report = syncInventory(store.elsewhere, wanted, { journal: journal.opened(), concurrency });
        return Promise.race([killed, report.then(({ failed, pending }) => failed.length + pending.length)]);
      };
      for (const steps of kills) {
        await run(steps);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(await run(Infinity)).toBe(0);
      expect([...store.stock]).toEqual(expectedStock(stock, wanted));

      store.requests.length = 0;
      await run(Infinity);
      expect(store.requests).toEqual([]);
    }),
    { numRuns: 400 },
  );
});
