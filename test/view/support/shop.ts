import { type Int64, PetStoreClient, type PetStoreClientOptions, StockView, type StockViewOptions } from 'petstore-inventory';
import { createSandbox, type Sandbox, type SandboxOptions } from 'petstore-inventory/sandbox';

/** A service with a few pets, a client of it and a view. */
export interface Shop {
  sandbox: Sandbox;
  client: PetStoreClient;
  view: StockView;
  /** The requests so far, as `GET 200`. */
  log: () => string[];
}

interface ShopOptions {
  sandbox?: SandboxOptions;
  client?: PetStoreClientOptions;
  view?: StockViewOptions;
  plan?: 'free' | 'pro' | 'business';
}

export const PETS = [
  { petId: 1, quantity: 5 },
  { petId: 2, quantity: 0, status: 'sold' },
  { petId: 3, quantity: 7, status: 'pending' },
];

export function openShop({ sandbox: sandboxOptions, client: clientOptions, view: viewOptions, plan = 'business' }: ShopOptions = {}): Shop {
  const sandbox = createSandbox({ pets: PETS, latency: 100, ...sandboxOptions });
  const { baseUrl, fetch, keys } = sandbox;
  const client = new PetStoreClient({ apiKey: keys[plan], baseUrl, fetch, plan, maxRetries: 0, ...clientOptions });
  const view = new StockView(client, { maxAgeMs: 5_000, ...viewOptions });
  return { sandbox, client, view, log: () => logOf(sandbox) };
}

/** The same for a client of another kind of ids. */
export function openView<Ids extends Int64>(sandbox: Sandbox, int64: Ids, options: StockViewOptions = {}): StockView<Ids> {
  const { baseUrl, fetch, keys } = sandbox;
  return new StockView(new PetStoreClient({ apiKey: keys.business, baseUrl, fetch, int64 }), options);
}

function logOf(sandbox: Sandbox): string[] {
  return sandbox.requests.map(({ method, status }) => `${method} ${status ?? 'lost'}`);
}
