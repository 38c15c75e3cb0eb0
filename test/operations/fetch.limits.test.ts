import ky from 'ky';
import createApi from 'openapi-fetch';
import { PetStoreClient } from 'petstore-inventory';
import { createSandbox, type Sandbox } from 'petstore-inventory/sandbox';
import { expect, test, vi } from 'vitest';
import { holdTime, NOW_MS } from '../support/time.ts';

holdTime();

const MINUTE_MS = 60_000;
const MINUTES = 5;
/** How many calls of each kind wait at any time, so that each always has work. */
const AT_ONCE = 20;

interface Paths {
  '/pets/{petId}': {
    get: { parameters: { path: { petId: number } }; responses: { 200: { content: { 'application/json': { id: number } } } } };
  };
}

/** Makes call after call until the time is over. */
async function work(call: () => Promise<unknown>): Promise<void> {
  while (Date.now() < NOW_MS + MINUTES * MINUTE_MS) await call().catch(() => {});
}

/** How many requests each minute admitted. */
function perMinute({ requests }: Sandbox): number[] {
  const minutes = requests.map(({ atMs }) => Math.floor((atMs - NOW_MS) / MINUTE_MS));
  return Array.from({ length: MINUTES }, (_, minute) => minutes.filter((one) => one === minute).length);
}

test("openapi-fetch, ky and the client's own operations share a Free key: no 429, every window is used, and each gets a part", async () => {
  const sandbox = createSandbox({ pets: AT_ONCE, latency: 30, routes: () => Response.json({ id: 42 }) });
  const petstore = new PetStoreClient({ apiKey: sandbox.keys.free, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, plan: 'free' });
  const api = createApi<Paths>({ baseUrl: petstore.baseUrl, fetch: petstore.fetch });
  const http = ky.create({ prefix: petstore.baseUrl, fetch: petstore.fetch, retry: 0, timeout: false });
  const callers = [
    () => api.GET('/pets/{petId}', { params: { path: { petId: 1 } } }),
    () => http.get('pets/2').json(),
    // A pet each, since updates of one pet wait for each other.
    (worker: number) => petstore.updateInventory(worker + 1, { quantity: 1 }),
  ];
  const all = callers.flatMap((call) => Array.from({ length: AT_ONCE }, (_, worker) => work(() => call(worker))));
  await vi.advanceTimersByTimeAsync(MINUTES * MINUTE_MS);
  petstore.close();
  await vi.runAllTimersAsync();
  await Promise.all(all);

  const counts = ['/pets/1', '/pets/2', '/inventory'].map((path) => sandbox.requests.filter((one) => one.path.startsWith(path)).length);
  expect(sandbox.report().rateLimited).toBe(0);
  expect(Math.min(...perMinute(sandbox))).toBeGreaterThanOrEqual(0.99 * 60);
  expect(Math.min(...counts) / Math.max(...counts)).toBeGreaterThanOrEqual(0.9);
});
