// Reads lists of a service, into a view or past it, and prints what that takes, as JSON: `lists.mjs WAY BASE_URL ITEMS`
import { PetStoreClient, StockView } from '../../src/index.ts';

const LISTS = 3;
const READS = 100_000;
const ROUNDS = 9;

const [way = '', baseUrl = '', items = '0'] = process.argv.slice(2);
/** A collection every so many bytes of a list shows what is alive; garbage depends on how busy the machine is. */
const COLLECT_EVERY = 4_194_304;
let aliveMib = 0;

function sampleAlive(): void {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  aliveMib = Math.max(aliveMib, (heapUsed + external) / 2 ** 20);
}

/** A `fetch` that samples what is alive while the body of an answer is read. */
async function samplingFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  let left = COLLECT_EVERY;
  const transform = (chunk: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>): void => {
    left -= chunk.length;
    if (left <= 0) sampleAlive();
    if (left <= 0) left += COLLECT_EVERY;
    controller.enqueue(chunk);
  };
  return new Response(response.body?.pipeThrough(new TransformStream({ transform })) ?? null, response);
}

const sampling = globalThis.gc ? { fetch: samplingFetch } : {};
const client = new PetStoreClient({ apiKey: 'key', baseUrl, plan: 'unlimited', headers: { 'x-items': items }, ...sampling });
const view = new StockView(client, { maxAgeMs: 3_600_000 });

async function read(): Promise<number> {
  if (way === 'view') await view.refresh();
  let streamed = 0;
  if (way === 'stream') for await (const batch of client.streamInventory().batches()) streamed += batch.length;
  return way === 'view' ? view.size : streamed;
}

/** Milliseconds of CPU that many reads take, each awaited. */
async function cpuMsOf(petIds: readonly number[], get: (petId: number) => Promise<unknown>): Promise<number> {
  const { user, system } = process.cpuUsage();
  for (const petId of petIds) await get(petId);
  const after = process.cpuUsage();
  return (after.user + after.system - user - system) / 1_000;
}

/** How many times as long as in a Map of the same items a read in the view takes. Both take turns, since other programs slow down both. */
async function readInMaps(): Promise<number> {
  const petIds = Array.from({ length: READS }, (_, index) => ((index * 7_919) % Number(items)) + 1);
  const map = new Map<number, unknown>();
  for (const item of await view.items()) map.set(item.petId, item);
  const ofMap: number[] = [];
  const ofView: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ofMap.push(await cpuMsOf(petIds, async (petId) => map.get(petId)));
    ofView.push(await cpuMsOf(petIds, (petId) => view.get(petId)));
  }
  // The least of each, since other programs only ever add to it.
  return Math.min(...ofView) / Math.min(...ofMap);
}

let size = 0;
for (let list = 0; list < LISTS; list++) size = await read();
const peakMib = process.resourceUsage().maxRSS / 1024;
console.log(JSON.stringify({ size, peakMib, aliveMib, inMaps: way === 'view' ? await readInMaps() : 0 }));
