// Prints how many bytes a client keeps, before its first call and after one call, as JSON. Needs --expose-gc; takes the number of clients.
import { PetStoreClient } from '../../src/index.ts';

declare const gc: () => void;

const CLIENTS = Number(process.argv[2] ?? 2000);

const list = JSON.stringify(Array.from({ length: 12 }, (_, index) => ({ petId: index + 1, quantity: index, status: 'sold' })));

/** Answers without a network, as the specification says. */
async function answer(): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    date: new Date().toUTCString(),
    'x-ratelimit-limit': '1000',
    'x-ratelimit-remaining': '999',
    'x-ratelimit-reset': String(Math.ceil(Date.now() / 1000) + 30),
  };
  return new Response(list, { headers });
}

/** Bytes in use once nothing is under way. */
async function heapUsed(): Promise<number> {
  // Twice: what a finalizer lets go of is collected the second time.
  for (let round = 0; round < 2; round++) {
    await new Promise((resolve) => setTimeout(resolve));
    gc();
  }
  return process.memoryUsage().heapUsed;
}

/** Clients of different keys, each with a gate of its own, which are not counted. */
async function measure(name: string): Promise<{ made: number; called: number }> {
  const keys = Array.from({ length: CLIENTS }, (_, index) => `${name}-${index}`);
  const clients: PetStoreClient[] = [];
  clients.length = CLIENTS;
  const before = await heapUsed();
  for (const [index, apiKey] of keys.entries()) {
    clients[index] = new PetStoreClient({ apiKey, baseUrl: 'http://localhost/v1', plan: 'business', fetch: answer });
  }
  const made = await heapUsed();
  for (const client of clients) await client.listInventory();
  const called = await heapUsed();
  return { made: Math.round((made - before) / clients.length), called: Math.round((called - before) / clients.length) };
}

// The first clients compile the code and shape the classes.
await measure('first');
const rounds = [await measure('counted'), await measure('again'), await measure('third')];
// The engine itself may keep more at times, and never less.
console.log(JSON.stringify({ made: Math.min(...rounds.map(({ made }) => made)), called: Math.min(...rounds.map(({ called }) => called)) }));
