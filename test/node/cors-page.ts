// Runs in a page whose origin is not the sandbox's.
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';

export interface Place {
  readonly baseUrl: string;
  readonly apiKey: string;
}

Object.assign(globalThis, { callSandbox });

/** Makes calls of each kind, and tells what a page learns from their answers. */
async function callSandbox(place: Place): Promise<object> {
  const petstore = new PetStoreClient({ ...place, plan: 'unlimited', maxWaitMs: 0, maxRetries: 0, dangerouslyAllowBrowser: true });
  const listed = await petstore.listInventory().withResponse();
  const traced = { method: 'PUT', headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' } };
  const order = await petstore.fetch('/orders/7', traced);
  return {
    pets: listed.data.length,
    isDated: listed.headers.has('date'),
    updated: await petstore.updateInventory(1, { quantity: 44 }),
    missing: await petstore.updateInventory(999, { quantity: 1 }).catch(failureOf),
    order: [order.status, order.headers.get('x-total')],
    refused: await petstore.listInventory().catch(failureOf),
  };
}

function failureOf(error: unknown): object {
  if (!isPetStoreError(error)) throw error;
  const { kind, status, code, retryAfterMs, rateLimit } = error;
  return { kind, status, code, retryAfterMs, limit: rateLimit?.limit };
}
