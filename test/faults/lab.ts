import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { undiciFetch } from 'petstore-inventory/undici';
import { KEY, logOf } from '../support/client.ts';
import { head, RawServer, type Step, type Wire } from './raw-server.ts';

export const ITEMS = [
  { petId: 1, quantity: 10, status: 'available' },
  { petId: 2, quantity: 20, status: 'pending' },
];
export const ITEM = { petId: 1, quantity: 5, status: 'available' };
export const LIST_TEXT = JSON.stringify(ITEMS);
export const ITEM_TEXT = JSON.stringify(ITEM);

/** A client and the server that it talks to, over real TCP. */
export interface Lab extends AsyncDisposable {
  client: PetStoreClient;
  server: RawServer;
  /** Every event as one line. */
  log: string[];
}

/** The same cases pass with each of them, and without one. The second gives a Response where the client would read the answer directly. */
const undici = undiciFetch();
const FETCHES: Record<string, typeof globalThis.fetch> = {
  undici,
  'undici-response': (input, init) => undici(input, init),
};

/** Starts a server that takes these steps, and a client with at most two retries that knows no limits. */
export async function lab(steps: Step[], options: PetStoreClientOptions = {}): Promise<Lab> {
  const server = await RawServer.listen(...steps);
  const fetch = FETCHES[process.env.TEST_FETCH ?? ''];
  const client = new PetStoreClient({ apiKey: KEY, baseUrl: server.url, plan: 'unlimited', maxRetries: 2, fetch, ...options });
  const dispose = async () => {
    client.close();
    await server[Symbol.asyncDispose]();
  };
  return { client, server, log: logOf(client), [Symbol.asyncDispose]: dispose };
}

/** What the service answers when all is well. */
export function textFor({ request }: Wire): string {
  return request.method === 'PATCH' ? ITEM_TEXT : LIST_TEXT;
}

export const ok: Step = (wire) => wire.answer(200, textFor(wire));

/** Never answers. */
export const silence: Step = () => {};

/** An answer with an Error body. */
export function failing(status: number, headers: Record<string, string> = {}): Step {
  return ({ answer }) => answer(status, JSON.stringify({ code: `E_${status}`, message: 'made up', status }), headers);
}

/** Announces a whole body and sends half of it; then `end` says what happens. */
export function half(end: (wire: Wire) => void, status = 200): Step {
  return (wire) => {
    const text = textFor(wire);
    wire.write(head(status, { 'Content-Length': text.length }) + text.slice(0, text.length / 2));
    // What was sent must be there before the connection breaks.
    setTimeout(() => end(wire), 20);
  };
}

/** Waits until a condition holds, for at most a second. */
export async function until(isSo: () => boolean): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < 1000 && !isSo(); waitedMs += 5) await pause(5);
  return isSo();
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export async function itemsOf<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}
