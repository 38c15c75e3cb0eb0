// What reading a large list takes, each case in a process of its own, in interleaved rounds.
import { inProcess, median, startService } from './processes.ts';

export interface ListCase {
  name: string;
  items: number;
  /** Ids count up from here. */
  firstId: bigint;
  ways: readonly string[];
  rounds: number;
  /** How often the process has read the list before. */
  readBefore?: number;
}

export interface ListCost {
  /** CPU time as a ratio to res.json() in the same round. */
  cpu: number;
  cpuMs: number;
  peakMb: number;
  firstItemMs: number | undefined;
}

interface Outcome {
  read: number;
  cpuMs: number;
  peakMb: number;
  firstItemMs?: number;
}

const BEYOND_DOUBLES = 9_007_199_254_740_993n;
const ALL = ['res.json()', 'listInventory', 'streamInventory', 'streamInventory.batches', 'stream-json', 'lossless-json'];

export const LIST_CASES: readonly ListCase[] = [
  { name: '10,000 items', items: 10_000, firstId: 1n, ways: ALL, rounds: 7 },
  {
    name: '10,000 items, in a process that has read them 40 times',
    items: 10_000,
    firstId: 1n,
    ways: ['res.json()', 'listInventory', 'streamInventory', 'streamInventory.batches'],
    rounds: 11,
    readBefore: 40,
  },
  { name: '1,000,000 items', items: 1_000_000, firstId: 1n, ways: ALL, rounds: 11 },
  {
    name: '1,000,000 items, every id beyond 2^53',
    items: 1_000_000,
    firstId: BEYOND_DOUBLES,
    ways: ['res.json()', 'listInventory', 'streamInventory', 'lossless-json'],
    rounds: 7,
  },
  {
    name: '5,000,000 items',
    items: 5_000_000,
    firstId: 1n,
    ways: ['res.json()', 'streamInventory', 'streamInventory.batches', 'stream-json'],
    rounds: 5,
  },
  // Beyond the longest string, so that res.json() fails.
  { name: '10,500,000 items', items: 10_500_000, firstId: 1n, ways: ['streamInventory.batches'], rounds: 1 },
];

export async function measureList({ items, firstId, ways, rounds, readBefore = 0 }: ListCase): Promise<Record<string, ListCost>> {
  const service = await startService();
  const outcomes: Record<string, Outcome>[] = [];
  for (let round = 0; round < rounds; round++) {
    const measured: Record<string, Outcome> = {};
    for (const way of ways) {
      const outcome = await inProcess<Outcome>('list-case.ts', [way, service.baseUrl, `${items}`, `${firstId}`, `${readBefore}`]);
      if (outcome.read !== items) throw new Error(`${way} read ${outcome.read} of ${items} items`);
      measured[way] = outcome;
    }
    outcomes.push(measured);
  }
  service.stop();
  return Object.fromEntries(ways.map((way) => [way, cost(way, outcomes)]));
}

function cost(way: string, outcomes: readonly Record<string, Outcome>[]): ListCost {
  const of = (field: 'cpuMs' | 'peakMb' | 'firstItemMs') => median(outcomes.map((round) => round[way]?.[field] ?? Number.NaN));
  const ratios = outcomes.map((round) => (round[way]?.cpuMs ?? Number.NaN) / (round['res.json()']?.cpuMs ?? Number.NaN));
  const firstItemMs = of('firstItemMs');
  return {
    cpu: median(ratios),
    cpuMs: of('cpuMs'),
    peakMb: of('peakMb'),
    firstItemMs: Number.isNaN(firstItemMs) ? undefined : firstItemMs,
  };
}
