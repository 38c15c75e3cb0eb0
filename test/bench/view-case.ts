// Reads lists into a view, or past it, with what it takes: `node --expose-gc view-case.ts WAY BASE_URL ITEMS FIRST_ID`
import { PetStoreClient, StockView } from '../../dist/index.js';

declare const gc: () => void;

const LISTS = 6;
const READS = 200_000;

const [way = '', baseUrl = '', items = '0', firstId = '1'] = process.argv.slice(2);
const headers = { 'x-items': items, 'x-first-id': firstId };
const int64 = BigInt(firstId) > 2n ** 53n ? 'bigint' : 'number';
const petstore = new PetStoreClient({ apiKey: 'bench-key', baseUrl, plan: 'unlimited', int64, headers });
const view = new StockView(petstore, { maxAgeMs: 3_600_000 });

const WAYS: Record<string, () => Promise<number>> = {
  stream: async () => {
    let read = 0;
    for await (const batch of petstore.streamInventory().batches()) read += batch.length;
    return read;
  },
  view: async () => {
    await view.refresh();
    return view.size;
  },
};

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** What stays when nothing is under way, in MB. */
async function heldMb(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_048_576;
}

/** Nanoseconds of CPU that one of many reads of what is held takes, each awaited. */
async function getNs(): Promise<number> {
  const ids = Array.from({ length: READS }, (_, index) => {
    const petId = BigInt(firstId) + BigInt((index * 7_919) % Number(items));
    return int64 === 'bigint' ? petId : Number(petId);
  });
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const startedMs = cpuMs();
    for (const petId of ids) await view.get(petId);
    least = Math.min(least, ((cpuMs() - startedMs) * 1e6) / READS);
  }
  return least;
}

/** CPU milliseconds of each list that was read in one of the ways. */
async function readLists(way: string, lists: number): Promise<number[]> {
  const cpu: number[] = [];
  for (let list = 0; list < lists; list++) {
    const startedMs = cpuMs();
    read = await WAYS[way]?.();
    cpu.push(cpuMs() - startedMs);
  }
  return cpu;
}

let read: number | undefined;
const before = await heldMb();
const own = await readLists(way, LISTS);
const peakMb = process.resourceUsage().maxRSS / 1024;
const held = (await heldMb()) - before;
// Both ways in turns, warm, so that what the machine does meanwhile meets both alike.
const turns: Record<string, number[]> = { stream: [], view: [] };
if (way === 'view')
  for (let list = 0; list < LISTS; list++) for (const each of Object.keys(turns)) turns[each]?.push(...(await readLists(each, 1)));
process.send?.({ read, first: own[0], turns, peakMb, heldMb: held, getNs: way === 'view' ? await getNs() : undefined });
process.disconnect?.();
