// Holds one list in one way: `node --expose-gc view-case.ts WAY BASE_URL ITEMS FIRST_ID`
import { PetStoreClient, StockView } from '../../dist/index.js';

declare const gc: () => void;

const [way = '', baseUrl = '', items = '0', firstId = '1'] = process.argv.slice(2);
const headers = { 'x-items': items, 'x-first-id': firstId };
const int64 = BigInt(firstId) > 2n ** 53n ? 'bigint' : 'number';
const petstore = new PetStoreClient({ apiKey: 'bench-key', baseUrl, plan: 'unlimited', int64, headers });

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function read(): Promise<number> {
  let count = 0;
  for await (const batch of petstore.streamInventory().batches()) count += batch.length;
  return count;
}

/** Nanoseconds that one of many reads of what is held takes. */
async function measureGet(view: StockView<'number' | 'bigint'>): Promise<number> {
  const reads = 200_000;
  const ids = Array.from({ length: reads }, (_, index) => {
    const offset = (index * 7_919) % Number(items);
    return int64 === 'bigint' ? BigInt(firstId) + BigInt(offset) : Number(firstId) + offset;
  });
  let ns = 0;
  for (let round = 0; round < 3; round++) {
    const startedAtMs = performance.now();
    for (const petId of ids) await view.get(petId);
    ns = ((performance.now() - startedAtMs) * 1e6) / reads;
  }
  return ns;
}

/** What stays when nothing is under way. */
async function heldMb(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1_048_576;
}

const before = await heldMb();
const begun = cpuMs();
const result: Record<string, number> = {};
if (way === 'stream') {
  for (let round = 0; round < 3; round++) {
    const startedMs = cpuMs();
    result.read = await read();
    result[`cpu${round}`] = cpuMs() - startedMs;
  }
} else {
  const view = new StockView(petstore, { maxAgeMs: 3_600_000 });
  for (let round = 0; round < 3; round++) {
    const startedMs = cpuMs();
    await view.refresh();
    result.read = view.size;
    result[`cpu${round}`] = cpuMs() - startedMs;
    result[`peak${round}`] = process.resourceUsage().maxRSS / 1024;
  }
  result.heldMb = (await heldMb()) - before;
  result.getNs = await measureGet(view);
}
result.cpuMs = cpuMs() - begun;
result.peakMb = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify(result));
process.send?.(result);
process.disconnect?.();
