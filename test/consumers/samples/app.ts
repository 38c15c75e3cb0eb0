// What a program in TypeScript may write; only its types are checked.
import {
  type InventoryItem,
  isPetStatus,
  isPetStoreError,
  PetStoreClient,
  type PetStoreClientOptions,
  type PetStoreFailure,
  type RequestOptions,
} from 'petstore-inventory';
import { createSandbox, type Sandbox } from 'petstore-inventory/sandbox';

/** Fails to compile where a type is `any`, as one that cannot be resolved silently becomes. */
type Known<T> = 0 extends 1 & T ? never : T;

declare global {
  // In Bun, too, `fetch` has more than its call signature.
  namespace fetch {
    function preconnect(url: string): void;
  }
}

const sandbox: Known<Sandbox> = createSandbox({ pets: 3 });
const options: Known<PetStoreClientOptions> = { apiKey: sandbox.keys.pro, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch };
const petstore = new PetStoreClient(options);
new PetStoreClient({ ...options, fetch: (input, init) => fetch(input, init) });
const exact = new PetStoreClient({ ...options, int64: 'bigint' });

export async function readStock(request: RequestOptions): Promise<number> {
  const items: Known<InventoryItem[]> = await petstore.listInventory(request);
  const ids: Known<bigint>[] = (await exact.listInventory()).map(({ petId }) => petId);
  let total = ids.length;
  for await (const { quantity, status } of petstore.streamInventory()) total += isPetStatus(status) ? quantity : 0;
  for await (const batch of petstore.streamInventory().batches()) total += batch.length;
  return total + items.length;
}

export async function restock(signal: AbortSignal): Promise<Known<number>> {
  const { data, attempts, rateLimit, headers } = await petstore.updateInventory(1n, { quantity: 4 }, { signal }).withResponse();
  const resetAt: Known<Date> | undefined = rateLimit?.resetAt;
  return data.quantity + attempts + (resetAt?.getTime() ?? 0) + (headers.get('date')?.length ?? 0);
}

export function explain(error: unknown): string {
  if (!isPetStoreError(error)) return 'something else';
  const failure: Known<PetStoreFailure> = error;
  switch (failure.kind) {
    case 'invalid-response':
      return failure.problems.map(({ path, message }) => `${path} ${message}`).join();
    case 'unexpected-status':
      return failure.location ?? 'nowhere';
    default:
      return `${failure.name} ${failure.code}`;
  }
}

const stop: Known<() => void> = petstore.on('settled', ({ outcome, ms }) => console.log(outcome, ms));
stop();

// @ts-expect-error a quantity is a number
petstore.updateInventory(1, { quantity: '4' });
// @ts-expect-error there is no such plan
new PetStoreClient({ plan: 'gold' });
