import { ConfigurationError } from '../errors.ts';
import { hasMethods } from '../options/rules.ts';
import { type Dispatcher, dispatch } from './dispatch.ts';
import { type Route, resolveRoute, type UndiciFetchOptions } from './fetch-options.ts';
import { readRequest } from './read-request.ts';

/**
 * A dispatcher of undici 7 or 8, such as an `Agent`, a `Pool` or a `ProxyAgent`.
 *
 * @see {@link undiciFetch}
 */
export interface AnyDispatcher {
  /** Sends a request of undici. */
  dispatch(options: never, handler: never): boolean;
}

/**
 * A `fetch` for the client that goes straight to undici, the HTTP client beneath Node's own fetch: less work for each call, and proxies,
 * certificates and HTTP/2 as the network needs them. Needs the package `undici`, version 7 or 8; without it the first call says so.
 *
 * @param given a dispatcher of yours, which you close; or options. Idle connections keep no process.
 * @throws ConfigurationError that names the option, the rule and the value, never a password or a private key
 * @example
 * const client = new PetStoreClient({ apiKey, baseUrl, fetch: undiciFetch({ connections: 16 }) });
 */
export function undiciFetch(given: AnyDispatcher | UndiciFetchOptions = {}): typeof globalThis.fetch {
  const { dispatcher, proxies } = isDispatcher(given) ? { dispatcher: given, proxies: undefined } : prepare(resolveRoute(given));
  return async (input, init) => {
    const request = readRequest(input, init);
    if (request.signal?.aborted) throw request.signal.reason;
    return dispatch(typeof dispatcher === 'function' ? await dispatcher() : dispatcher, request, proxies);
  };
}

/** The dispatcher of a route is made with its first request, once for all that come meanwhile. */
function prepare(route: Route): { dispatcher: () => Dispatcher | Promise<Dispatcher>; proxies: Route['proxies'] } {
  let made: Dispatcher | undefined;
  let making: Promise<Dispatcher> | undefined;
  const make = async () => {
    try {
      made = await makeDispatcher(route);
      return made;
    } finally {
      making = undefined;
    }
  };
  const dispatcher = () => {
    if (made) return made;
    making ??= make();
    return making;
  };
  return { dispatcher, proxies: route.proxies };
}

async function makeDispatcher({ proxies, agent, secureContext }: Route): Promise<Dispatcher> {
  const { Agent, EnvHttpProxyAgent } = await loadUndici();
  const tls = secureContext && { secureContext };
  const { connectTimeout: timeout } = agent;
  const options = { ...agent, ...(tls && { connect: timeout === undefined ? tls : { ...tls, timeout } }) };
  if (!proxies.http && !proxies.https) return adapt(new Agent(options));
  const { http, https, none } = proxies;
  const route = { httpProxy: http?.url.href ?? '', httpsProxy: https?.url.href ?? '', noProxy: none };
  return adapt(new EnvHttpProxyAgent({ ...options, ...route, ...(tls && { requestTls: tls, proxyTls: tls }) }));
}

/** The types of undici differ between its versions; what is used here does not. */
function adapt(dispatcher: AnyDispatcher): Dispatcher {
  if (isDispatcher(dispatcher)) return dispatcher;
  throw new TypeError('undici gave no dispatcher');
}

function loadUndici(): Promise<typeof import('undici')> {
  return import('undici').catch((cause: unknown) => {
    const message =
      'Cannot use undiciFetch as `fetch`: the package undici cannot be loaded; install version 7 or 8 of it (npm install undici)';
    throw new ConfigurationError(message, { option: 'fetch', cause });
  });
}

function isDispatcher(given: unknown): given is Dispatcher {
  return hasMethods(given, ['dispatch']);
}
