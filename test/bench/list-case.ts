// Reads one list in one way, as the first of the process or after as many others: `node list-case.ts WAY BASE_URL ITEMS FIRST_ID READ_BEFORE`
import { Readable } from 'node:stream';
import { parse as parseLossless } from 'lossless-json';
import chain from 'stream-chain';
import { parser } from 'stream-json';
import { streamArray } from 'stream-json/streamers/stream-array.js';
import { PetStoreClient } from '../../dist/index.js';

const [way = '', baseUrl = '', items = '0', firstId = '1', readBefore = '0'] = process.argv.slice(2);
const headers = { 'x-items': items, 'x-first-id': firstId };
const int64 = BigInt(firstId) > 2n ** 53n ? 'bigint' : 'number';
const petstore = () => new PetStoreClient({ apiKey: 'bench-key', baseUrl, plan: 'unlimited', int64, headers, maxResponseBytes: 2 ** 40 });
const get = () => fetch(`${baseUrl}/inventory`, { headers });

let firstItemMs: number | undefined;
let headersAtMs = 0;

async function count(source: AsyncIterable<unknown>): Promise<number> {
  let read = 0;
  for await (const _item of source) {
    firstItemMs ??= performance.now() - headersAtMs;
    read++;
  }
  return read;
}

async function countBatches(source: AsyncIterable<unknown[]>): Promise<number> {
  let read = 0;
  for await (const batch of source) {
    firstItemMs ??= performance.now() - headersAtMs;
    read += batch.length;
  }
  return read;
}

function client(): PetStoreClient<'number' | 'bigint'> {
  const made = petstore();
  made.on('response', () => {
    headersAtMs = performance.now();
  });
  return made;
}

const WAYS: Record<string, () => Promise<number>> = {
  'res.json()': async () => ((await (await get()).json()) as unknown[]).length,
  listInventory: async () => (await client().listInventory()).length,
  streamInventory: () => count(client().streamInventory()),
  'streamInventory.batches': () => countBatches(client().streamInventory().batches()),
  'stream-json': async () => {
    const { body } = await get();
    headersAtMs = performance.now();
    return count(chain([Readable.fromWeb(body as never), parser(), streamArray()]));
  },
  'lossless-json': async () => (parseLossless(await (await get()).text()) as unknown[]).length,
};

for (let read = 0; read < Number(readBefore); read++) await WAYS[way]?.();
firstItemMs = undefined;
const before = process.cpuUsage();
const read = await WAYS[way]?.();
const { user, system } = process.cpuUsage(before);
process.send?.({ read, cpuMs: (user + system) / 1000, peakMb: process.resourceUsage().maxRSS / 1024, firstItemMs });
process.disconnect?.();
