import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { type Answering, type SeenRequest, scriptedFetch } from './scripted-fetch.ts';

let addresses = 0;

/** An address that no other test knows, so that no gate is shared. */
export function freshAddress(): string {
  addresses += 1;
  return `https://inventory-${addresses}.test/v1`;
}

export const KEY = 'psk_test_S3cret+Key/0=';

/** A client on an address of its own, whose requests are answered as the script says. */
export function scriptedClient(
  answers: Answering[],
  options: PetStoreClientOptions = {},
): { client: PetStoreClient; seen: SeenRequest[]; log: string[] } {
  const { fetch, seen } = scriptedFetch(...answers);
  const client = new PetStoreClient({ apiKey: KEY, baseUrl: freshAddress(), fetch, ...options });
  return { client, seen, log: logOf(client) };
}

/** Every event of a client as one line, in the order in which they come. */
export function logOf(client: PetStoreClient): string[] {
  const log: string[] = [];
  client.on('request', ({ method, path, attempt }) => log.push(`request ${attempt} ${method} ${path}`));
  client.on('response', ({ status }) => log.push(`response ${status}`));
  client.on('retry', ({ delayMs, error }) => log.push(`retry in ${delayMs} ${error.name}`));
  client.on('wait', ({ reason, ms }) => log.push(`wait ${reason} ${ms}`));
  client.on('gate', ({ state }) => log.push(`gate ${state}`));
  client.on('settled', ({ outcome, ms }) => log.push(`settled ${outcome} ${ms}`));
  client.on('unknownStatus', ({ status }) => log.push(`unknownStatus ${status}`));
  return log;
}
