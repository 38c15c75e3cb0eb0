import { REDIRECT_STATUSES } from './domains.ts';
import { deliver, networkError } from './network.ts';
import type { Service } from './service.ts';

/** The limit of the Fetch standard. */
const MAX_REDIRECTS = 20;

/** Describe a body, so a request that loses its body loses them, too. */
const BODY_HEADERS = ['content-encoding', 'content-language', 'content-length', 'content-location', 'content-type'];

interface FetchParts {
  readonly service: Service;
  /** Returns whether an address belongs to this sandbox. */
  readonly owns: (url: URL) => boolean;
}

interface Trip {
  readonly request: Request;
  /** The body, to send it again at a redirect. Undefined if there is none, or if it can be sent only once. */
  readonly body: Exclude<RequestInit['body'], null>;
  readonly signal: AbortSignal;
  readonly redirects: number;
}

interface Redirect {
  readonly status: number;
  readonly target: URL;
}

/** Makes a fetch that reaches one sandbox and nothing else. Otherwise it behaves like the platform's fetch, also when aborted. */
export function createFetch(parts: FetchParts): typeof globalThis.fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const signal = init?.signal ?? request.signal;
    // A form is sent again as the same bytes, since the headers name its boundary.
    const given = init?.body instanceof FormData ? await request.clone().arrayBuffer() : init?.body;
    const body = canRepeat(given) ? given : undefined;
    signal.throwIfAborted();
    return orAbort(travel(parts, { request, body, signal, redirects: 0 }), signal);
  };
}

const REPEATABLE = [Blob, URLSearchParams, ArrayBuffer];

/** Whether a body can be sent again as it was given: not a stream, nor the body of a Request, which is one. */
function canRepeat(body: unknown): body is NonNullable<RequestInit['body']> {
  return typeof body === 'string' || ArrayBuffer.isView(body) || REPEATABLE.some((kind) => body instanceof kind);
}

async function travel(parts: FetchParts, trip: Trip): Promise<Response> {
  const { request, signal, redirects } = trip;
  const url = new URL(request.url);
  if (!parts.owns(url)) throw networkError('ENOTFOUND', `getaddrinfo ENOTFOUND ${url.hostname}`);
  const response = await deliver(await parts.service(request), signal);
  const location = response.headers.get('location');
  const isRedirect = REDIRECT_STATUSES.includes(response.status);
  if (isRedirect && request.redirect === 'error') throw networkError('ERR_REDIRECT', 'unexpected redirect');
  if (!isRedirect || request.redirect === 'manual' || location === null) return located(response, { url, redirects });
  if (redirects >= MAX_REDIRECTS) throw networkError('ERR_REDIRECT', 'redirect count exceeded');
  if (!URL.canParse(location, url)) throw networkError('ERR_INVALID_URL', `Invalid URL: ${location}`);
  return travel(parts, redirected(trip, { status: response.status, target: new URL(location, url) }));
}

/** Adds the address of the answer, which the constructor of Response does not take. */
function located(response: Response, { url, redirects }: { url: URL; redirects: number }): Response {
  url.hash = '';
  const clone = (): Response => located(Response.prototype.clone.call(response), { url, redirects });
  return Object.defineProperties(response, { url: { value: url.href }, redirected: { value: redirects > 0 }, clone: { value: clone } });
}

/**
 * The next request of a redirect: without the key for another origin, and without a body if it becomes a GET (Fetch standard, HTTP-redirect
 * fetch).
 */
function redirected({ request, body, signal, redirects }: Trip, { status, target }: Redirect): Trip {
  const headers = new Headers(request.headers);
  if (target.origin !== new URL(request.url).origin) headers.delete('authorization');
  const kept = { headers, signal: request.signal, redirect: request.redirect };
  // Firefox has no `body` of a Request, and takes no stream.
  if (status !== 303 && request.body && body === undefined) throw networkError('ERR_REDIRECT', 'a stream cannot be sent again');
  if (!becomesGet(request.method, status)) {
    const again = new Request(target, { ...kept, method: request.method, body: body ?? null });
    return { request: again, body, signal, redirects: redirects + 1 };
  }
  for (const name of BODY_HEADERS) headers.delete(name);
  return { request: new Request(target, kept), body: undefined, signal, redirects: redirects + 1 };
}

function becomesGet(method: string, status: number): boolean {
  return status === 303 ? method !== 'HEAD' : method === 'POST' && (status === 301 || status === 302);
}

/** Settles as `answer` does, or rejects with the signal's reason as soon as it aborts. */
function orAbort<T>(answer: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    answer.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
