import type { PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';

/**
 * What a client needs to reach the service: nothing where PETSTORE_API_KEY says that you have a key (the client reads the variables
 * itself), else a sandbox in this process.
 */
export function service(): PetStoreClientOptions {
  if (process.env.PETSTORE_API_KEY) return {};
  const { keys, baseUrl, fetch } = createSandbox();
  return { apiKey: keys.business, baseUrl, fetch };
}
