// Runs in workerd: one client of the module serves every request, as a worker's does.
import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { API_KEY, type ScenarioName } from './scenarios.ts';
import { runSuite } from './suite.ts';

// Made while the worker loads, where workerd allows neither timers nor fetch; the address is known only when a request comes.
let address = '';
const firstClient = new PetStoreClient({
  baseUrl: 'http://localhost/v1',
  apiKey: API_KEY,
  plan: 'business',
  fetch: (input, init) => fetch(String(input).replace('http://localhost/v1', address), init),
});

const clients = new Map<string, PetStoreClient>();

interface Visit {
  origin: string;
  runtime: string;
}

function sharedClient({ origin, runtime }: Visit, scenario: ScenarioName, options: PetStoreClientOptions): PetStoreClient {
  const known = clients.get(scenario);
  const client =
    known ?? new PetStoreClient({ baseUrl: `${origin}/${scenario}/${runtime}/v1`, apiKey: API_KEY, plan: 'business', ...options });
  clients.set(scenario, client);
  return client;
}

/** What one request to the worker does with the shared client. */
const SHARED: Partial<Record<ScenarioName, (visit: Visit) => Promise<unknown>>> = {
  plain: ({ origin, runtime }) => {
    address = `${origin}/plain/${runtime}/v1`;
    return firstClient.listInventory();
  },
  'one-at-a-time': (visit) => sharedClient(visit, 'one-at-a-time', { concurrency: 1 }).listInventory(),
  ordered: (visit) => sharedClient(visit, 'ordered', {}).updateInventory(1, { quantity: 1 }),
  windowed: (visit) => {
    const client = sharedClient(visit, 'windowed', { plan: { requestsPerMinute: 5 } });
    return Promise.all([1, 2, 3, 4].map((petId) => client.updateInventory(petId, { quantity: 1 })));
  },
  refusing: (visit) => sharedClient(visit, 'refusing', {}).listInventory(),
  stalled: (visit) => sharedClient(visit, 'stalled', {}).listInventory(),
  abandoned: (visit) => sharedClient(visit, 'abandoned', { concurrency: 1 }).listInventory(),
  'abandoned-in-order': (visit) => sharedClient(visit, 'abandoned-in-order', {}).updateInventory(1, { quantity: 1 }),
};

/** Answers without waiting for its call, which ends with the request that made it: no code of it runs any more. */
async function leave(work: Promise<unknown> | undefined): Promise<void> {
  work?.catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 50));
}

async function answer(request: Request): Promise<unknown> {
  const { pathname, searchParams } = new URL(request.url);
  const visit = { origin: searchParams.get('origin') ?? '', runtime: searchParams.get('runtime') ?? '' };
  if (pathname === '/suite') return runSuite({ ...visit, isBrowser: false });
  if (searchParams.has('closes')) return clients.get(pathname.slice(1))?.close();
  const share = Object.entries(SHARED).find(([name]) => `/${name}` === pathname)?.[1];
  const work = share?.(visit);
  if (!searchParams.has('leaves')) await work;
  else await leave(work);
  return 'done';
}

export default {
  fetch: async (request: Request): Promise<Response> => {
    try {
      return Response.json(await answer(request));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  },
};
