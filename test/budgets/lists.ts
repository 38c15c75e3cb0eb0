// Reads lists of a service, into a view or past it, and prints what that takes, as JSON: `lists.mjs WAY BASE_URL ITEMS`
import { PetStoreClient, StockView } from '../../src/index.ts';

const LISTS = 3;
const READS = 100_000;

const [way = '', baseUrl = '', items = '0'] = process.argv.slice(2);
const client = new PetStoreClient({ apiKey: 'key', baseUrl, plan: 'unlimited', headers: { 'x-items': items } });
const view = new StockView(client, { maxAgeMs: 3_600_000 });

async function read(): Promise<number> {
  if (way === 'view') await view.refresh();
  let streamed = 0;
  if (way === 'stream') for await (const batch of client.streamInventory().batches()) streamed += batch.length;
  return way === 'view' ? view.size : streamed;
}

/** Nanoseconds of CPU that one of many reads of what is held takes, each awaited. */
async function getNs(): Promise<number> {
  const ids = Array.from({ length: READS }, (_, index) => ((index * 7_919) % Number(items)) + 1);
  const { user, system } = process.cpuUsage();
  for (const petId of ids) await view.get(petId);
  const after = process.cpuUsage();
  return ((after.user + after.system - user - system) * 1_000) / READS;
}

let size = 0;
for (let list = 0; list < LISTS; list++) size = await read();
const peakMib = process.resourceUsage().maxRSS / 1024;
const reads: number[] = [];
for (let round = 0; round < 5 && way === 'view'; round++) reads.push(await getNs());
// The least, since other programs only ever add to it.
console.log(JSON.stringify({ size, peakMib, getNs: reads.length === 0 ? 0 : Math.min(...reads) }));
