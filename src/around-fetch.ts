import { unharmed } from './thrown.ts';

/** Calls fetch with these headers as well; the client's own win. */
export type FetchWith = (headers: Record<string, string>) => Promise<Response>;

/** What runs around each request of a client. It calls `fetchWith` at once; where it does not, or throws, the request is sent without it. */
export type Surrounding = (callId: number, fetchWith: FetchWith) => unknown;

type Surroundings = Pick<WeakMap<object, ReadonlySet<Surrounding>>, 'get' | 'set' | 'has' | 'delete'>;

// The doors of the package are bundled apart, and a program may have two copies of it: all of a program share one table.
const TABLE = Symbol.for('petstore-inventory.around-fetch');

function sharedTable(): Surroundings {
  const known: unknown = Reflect.get(globalThis, TABLE);
  if (known instanceof WeakMap) return known;
  const table: Surroundings = new WeakMap();
  Object.defineProperty(globalThis, TABLE, { value: table });
  return table;
}

/** Lets a tracer be around each request of a client. Gives a function that ends this. */
export function surround(client: object, surrounding: Surrounding): () => void {
  const surroundingsOf = sharedTable();
  // A wrapper of its own, so that each is ended alone.
  const own: Surrounding = (callId, fetchWith) => surrounding(callId, fetchWith);
  surroundingsOf.set(client, new Set(surroundingsOf.get(client)).add(own));
  return () => {
    const left = new Set(surroundingsOf.get(client));
    left.delete(own);
    if (left.size > 0) surroundingsOf.set(client, left);
    else surroundingsOf.delete(client);
  };
}

/** Whether anything is around the requests of a client. */
export function isSurrounded(client: object): boolean {
  return sharedTable().has(client);
}

/** Sends a request of a client, with what is around it. */
export function fetchSurrounded(client: object, callId: number, fetchWith: FetchWith): Promise<Response> {
  let outermost = fetchWith;
  for (const surrounding of sharedTable().get(client) ?? []) {
    const inner = outermost;
    outermost = (outer) => fetchWithin(surrounding, callId, (headers) => inner({ ...outer, ...headers }));
  }
  return outermost({});
}

function fetchWithin(surrounding: Surrounding, callId: number, fetchWith: FetchWith): Promise<Response> {
  let fetched: Promise<Response> | undefined;
  const once: FetchWith = (headers) => {
    // A fetch that throws has been called all the same.
    fetched ??= new Promise((resolve) => resolve(fetchWith(headers)));
    return fetched;
  };
  unharmed(() => surrounding(callId, once));
  return once({});
}
