import { deliver, networkError, orAbort } from './network.ts';
import type { Service } from './service.ts';

/** The limit of the Fetch standard. */
const MAX_REDIRECTS = 20;

interface FetchParts {
  readonly service: Service;
  /** Returns whether an address belongs to this sandbox. */
  readonly owns: (url: URL) => boolean;
}

interface Trip {
  readonly request: Request;
  readonly signal: AbortSignal;
  readonly redirects: number;
}

/** Makes a fetch that reaches one sandbox and nothing else. Otherwise it behaves like the platform's fetch, also when aborted. */
export function createFetch(parts: FetchParts): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const signal = init?.signal ?? request.signal;
    signal.throwIfAborted();
    return orAbort(travel(parts, { request, signal, redirects: 0 }), signal);
  };
}

async function travel(parts: FetchParts, trip: Trip): Promise<Response> {
  const { request, signal, redirects } = trip;
  const url = new URL(request.url);
  if (!parts.owns(url)) throw networkError('ENOTFOUND', `getaddrinfo ENOTFOUND ${url.hostname}`);
  const response = await deliver(await parts.service.answer(request), signal);
  const location = response.headers.get('location');
  if (location === null || response.status < 300 || response.status > 399 || request.redirect === 'manual') return response;
  if (request.redirect === 'error' || redirects >= MAX_REDIRECTS) throw networkError('ERR_REDIRECT', 'unexpected redirect');
  return travel(parts, { request: redirected(request, new URL(location, url)), signal, redirects: redirects + 1 });
}

/** The request for a redirect: without a body, and without the key for another origin (Fetch standard, HTTP-redirect fetch). */
function redirected(request: Request, target: URL): Request {
  const headers = new Headers(request.headers);
  if (target.origin !== new URL(request.url).origin) headers.delete('authorization');
  const method = request.method === 'HEAD' ? 'HEAD' : 'GET';
  return new Request(target, { method, headers, signal: request.signal, redirect: request.redirect });
}
