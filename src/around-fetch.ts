import { sharedTable } from './shared-table.ts';
import { unharmed } from './thrown.ts';

/** Calls fetch with these headers as well; the client's own headers win. */
export type FetchWith = (headers: Record<string, string>) => Promise<Response>;

/** A function that runs around each request of a client. If it does not call `fetchWith` at once, or throws, the request is sent anyway. */
type Surrounding = (callId: number, fetchWith: FetchWith) => unknown;

const surroundingsOf = sharedTable<ReadonlySet<Surrounding>>('around-fetch');

/** Runs a tracer around each request of a client. Returns a function that removes it. */
export function surround(client: object, surrounding: Surrounding): () => void {
  // A wrapper, so that a function that is added twice can be removed once for each.
  const own: Surrounding = (callId, fetchWith) => surrounding(callId, fetchWith);
  surroundingsOf.set(client, new Set(surroundingsOf.get(client)).add(own));
  return () => {
    const left = new Set(surroundingsOf.get(client));
    left.delete(own);
    if (left.size > 0) surroundingsOf.set(client, left);
    else surroundingsOf.delete(client);
  };
}

/** Whether any function runs around the requests of a client. */
export function isSurrounded(client: object): boolean {
  return surroundingsOf.has(client);
}

/** Sends a request of a client inside the functions that run around it. */
export function fetchSurrounded(client: object, callId: number, fetchWith: FetchWith): Promise<Response> {
  let outermost = fetchWith;
  for (const surrounding of surroundingsOf.get(client) ?? []) {
    const inner = outermost;
    outermost = (outer) => fetchWithin(surrounding, callId, (headers) => inner({ ...outer, ...headers }));
  }
  return outermost({});
}

function fetchWithin(surrounding: Surrounding, callId: number, fetchWith: FetchWith): Promise<Response> {
  let fetched: Promise<Response> | undefined;
  const once: FetchWith = (headers) => {
    // A promise even if `fetch` throws: it has then been called too.
    fetched ??= new Promise((resolve) => resolve(fetchWith(headers)));
    return fetched;
  };
  unharmed(() => surrounding(callId, once));
  return once({});
}
