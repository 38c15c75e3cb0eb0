import type { PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';

/**
 * The options by which a client reaches the service: none if PETSTORE_API_KEY is set (the client reads the variables itself), else those
 * of a sandbox in this process.
 */
export function service(): PetStoreClientOptions {
  if (process.env.PETSTORE_API_KEY) return {};
  const { keys, baseUrl, fetch } = createSandbox();
  return { apiKey: keys.business, baseUrl, fetch };
}
