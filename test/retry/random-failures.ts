import { PetStoreClient, type PetStoreClientOptions } from '../../src/index.ts';
import { randomFrom } from '../cli/support/random-from.ts';

/** Calls of one client to a service that fails at random. */
export interface Load {
  /** The part of all requests that is answered 500. */
  failing: number;
  calls: number;
  concurrency: number;
  seed: number;
}

/** The outcome of these calls. */
export interface Figures {
  calls: number;
  requestsPerCall: number;
  failed: number;
  /** Calls that the retry budget ended. */
  limited: number;
}

let addresses = 0;

/** Makes the calls, a given number at once. The caller must advance the timers. */
export async function callAtRandom({ failing, calls, concurrency, seed }: Load): Promise<Figures> {
  const { fetch, count } = failingFetch(failing, randomFrom(seed));
  const baseUrl = `https://random-${++addresses}.test/v1`;
  const options: PetStoreClientOptions = { apiKey: 'key', baseUrl, plan: 'unlimited', fetch, concurrency };
  const client = new PetStoreClient(options);
  const failures: unknown[] = [];
  let begun = 0;
  const work = async () => {
    while (begun++ < calls) await client.listInventory().catch((error) => failures.push(error));
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  const limited = failures.filter((error) => String(error).includes('retries are limited'));
  return { calls, requestsPerCall: count() / calls, failed: failures.length, limited: limited.length };
}

/** A service that answers after 20 to 120 ms, without limits. */
function failingFetch(failing: number, random: () => number) {
  let requests = 0;
  const fetch = async () => {
    requests++;
    const status = random() < failing ? 500 : 200;
    await new Promise((resolve) => setTimeout(resolve, 20 + 100 * random()));
    const reset = Math.ceil((Date.now() + 1) / 60_000) * 60;
    const headers = { 'x-ratelimit-limit': '1000000', 'x-ratelimit-remaining': '900000', 'x-ratelimit-reset': String(reset) };
    return new Response('[]', { status, headers: { ...headers, date: new Date().toUTCString() } });
  };
  return { fetch, count: () => requests };
}
