// Prints how many bytes a call allocates, with the client and with a bare fetch, as JSON. Started with a heap that need not be swept.
import { PetStoreClient } from '../../src/index.ts';

declare const gc: () => void;

const CALLS = 200;
const ADDRESS = 'http://localhost/v1';

const item = JSON.stringify({ petId: 1, quantity: 5, status: 'available' });
const list = JSON.stringify(Array.from({ length: 100 }, (_, index) => ({ petId: index + 1, quantity: index, status: 'sold' })));

/** Answers without a network, and creates the same objects from its arguments as every fetch does. */
function answerWith(body: string): typeof fetch {
  const headers = {
    'content-type': 'application/json',
    date: new Date().toUTCString(),
    'x-ratelimit-limit': '1000',
    'x-ratelimit-remaining': '900',
    'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 30),
  };
  return async (input, init) => {
    new Request(input, init);
    return new Response(body, { headers });
  };
}

async function measure(call: () => Promise<unknown>): Promise<number> {
  for (let warmUp = 0; warmUp < CALLS; warmUp++) await call();
  gc();
  const before = process.memoryUsage().heapUsed;
  for (let done = 0; done < CALLS; done++) await call();
  return Math.round((process.memoryUsage().heapUsed - before) / CALLS);
}

function bareCall(body: string, init: RequestInit): () => Promise<unknown> {
  const fetch = answerWith(body);
  return async () => {
    const { signal } = new AbortController();
    return (await fetch(`${ADDRESS}/inventory`, { ...init, signal, headers: { authorization: 'Bearer key' } })).json();
  };
}

function clientOf(body: string): PetStoreClient {
  return new PetStoreClient({ apiKey: 'key', baseUrl: ADDRESS, plan: 'unlimited', fetch: answerWith(body) });
}

const [forUpdates, forLists] = [clientOf(item), clientOf(list)];
console.log(
  JSON.stringify({
    update: {
      bare: await measure(bareCall(item, { method: 'PATCH', body: '{"quantity":5}' })),
      client: await measure(() => forUpdates.updateInventory(1, { quantity: 5 })),
    },
    list: { bare: await measure(bareCall(list, {})), client: await measure(() => forLists.listInventory()) },
  }),
);
