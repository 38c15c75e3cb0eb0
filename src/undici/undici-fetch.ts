import type { SecureContext } from 'node:tls';
import { isPromise } from '../clock/is-promise.ts';
import { ConfigurationError } from '../errors.ts';
import { proxyAuthorization, proxyOf } from '../options/proxy.ts';
import { hasMethods } from '../options/rules.ts';
import { directly } from '../transport/direct-answer.ts';
import { type Dispatcher, dispatch, type Way } from './dispatch.ts';
import { type ForwardProxy, type Route, resolveRoute, type UndiciFetchOptions } from './fetch-options.ts';
import { type DispatchedRequest, type Input, readDirectRequest, readRequest } from './read-request.ts';
import { throwTunnelFailure } from './route-failure.ts';

/**
 * A dispatcher of undici 7 or 8, such as an `Agent`, a `Pool` or a `ProxyAgent`.
 *
 * @see {@link undiciFetch}
 */
export interface AnyDispatcher {
  /** Sends a request. */
  dispatch(options: never, handler: never): boolean;
}

/**
 * A `fetch` for the client that directly uses undici, the HTTP client beneath Node's own fetch. It costs less than that for each call, and
 * supports proxies, certificates and HTTP/2. Of a request's options it reads `method`, `headers`, `body` and `signal`; it follows no redirect,
 * and has neither a cache nor cookies. It needs the package `undici`, version 7 or 8; without it, the first call rejects.
 *
 * @param given options, or a dispatcher, which the caller has to close. Idle connections do not keep the process alive.
 * @throws ConfigurationError that names the option, the rule and the value, never a password or a private key
 * @example
 * const client = new PetStoreClient({ apiKey, baseUrl, fetch: undiciFetch({ connections: 16 }) });
 */
export function undiciFetch(given: AnyDispatcher | UndiciFetchOptions = {}): typeof globalThis.fetch {
  const way = isDispatcher(given) ? () => ({ dispatcher: given, ended: 0 }) : prepare(resolveRoute(given));
  const send = (request: DispatchedRequest) => {
    if (request.signal?.aborted) return Promise.reject(request.signal.reason);
    request.call?.refused('connection');
    const ready = way();
    // Dispatched synchronously if possible: a promise would delay the request.
    return isPromise(ready) ? ready.then((made) => dispatch(request, made)) : dispatch(request, ready);
  };
  const fetch = async (input: Input, init?: RequestInit) => (await send(await readRequest(input, init))).toResponse();
  directly.set(fetch, (address, request) => send(readDirectRequest(address, request)));
  return fetch;
}

interface Closable {
  /** Closes the connections, each as soon as its requests under way have ended. */
  close(): Promise<unknown>;
}

/**
 * Makes the dispatcher of a route on the first request. After a time limit in which no answer ended, the next request gets a new one: the
 * connections may be dead, as after a change of network, and HTTP/2 would put every request onto the same one.
 */
function prepare(route: Route): () => Way | Promise<Way> {
  let made: Way | undefined;
  const make = (undici: Undici): Way => {
    const dispatcher = makeDispatcher(undici, route);
    const way: Way = {
      dispatcher,
      ended: 0,
      proxies: route.proxies,
      leave() {
        if (made === way) made = undefined;
        // Requests under way go on.
        dispatcher.close().catch(() => {});
      },
    };
    return way;
  };
  return () => {
    if (made) return made;
    return loadUndici().then((undici) => {
      made ??= make(undici);
      return made;
    });
  };
}

/**
 * Makes an agent for requests without a proxy, and one for each proxy. Not undici's EnvHttpProxyAgent: its versions read `NO_PROXY` in
 * different ways.
 */
function makeDispatcher(undici: Undici, { proxies, agent, secureContext }: Route): Dispatcher & Closable {
  const { connectTimeout: timeout } = agent;
  const tls = { ...(secureContext && { secureContext }), ...(timeout !== undefined && { timeout }) };
  const direct: Dispatcher & Closable = new undici.Agent({ ...agent, connect: tls });
  const agents = new Map<ForwardProxy | undefined, Dispatcher & Closable>();
  for (const proxy of [proxies.https, proxies.http]) if (proxy) agents.set(proxy, proxyAgent(undici, proxy, { agent, tls }));
  if (agents.size === 0) return direct;
  const agentFor = (origin: string) => agents.get(proxyOf(new URL(origin), proxies)) ?? direct;
  return {
    dispatch: (options: { origin: string }, handler) => agentFor(options.origin).dispatch(options, handler),
    close: () => Promise.all([direct, ...agents.values()].map((each) => each.close())),
  };
}

/** undici's own time limit for a connection. */
const CONNECT_TIMEOUT_MS = 10_000;

interface Connections {
  agent: Route['agent'];
  tls: { secureContext?: SecureContext; timeout?: number };
}

function proxyAgent({ Pool, ProxyAgent }: Undici, { url }: ForwardProxy, { agent, tls }: Connections): Dispatcher & Closable {
  const { connectTimeout = CONNECT_TIMEOUT_MS, allowH2 } = agent;
  // It sends only CONNECT. Without an answer to one, undici would hold up all requests for five minutes, even those that come later.
  const clientFactory = (proxy: URL, given: object) => {
    const pool = new Pool(proxy, { ...given, headersTimeout: connectTimeout });
    const connect = pool.connect.bind(pool);
    // While it closes, requests that wait for a connection may still need a tunnel. It has no connections of its own to close.
    return Object.assign(pool, { close: async () => {}, connect: (options: ConnectOptions) => connect(options).catch(throwTunnelFailure) });
  };
  // undici 7 itself sends no user without a password.
  const token = proxyAuthorization(url);
  // undici 7 reads `allowH2` only here.
  const requestTls = { ...tls, ...(allowH2 !== undefined && { allowH2 }) };
  // undici 8 would offer HTTP/2 to the proxy, with which its CONNECT gets no answer.
  const proxyTls = { ...tls, allowH2: false };
  return new ProxyAgent({ ...agent, uri: url.href, ...(token && { token }), clientFactory, requestTls, proxyTls });
}

type Undici = typeof import('undici');
type ConnectOptions = import('undici').Dispatcher.ConnectOptions<null>;

function loadUndici(): Promise<Undici> {
  return import('undici').catch((cause: unknown) => {
    const message = 'Cannot use undiciFetch as `fetch`: the package undici cannot be loaded; install undici 7, or 8 from Node 22.19 on';
    throw new ConfigurationError(message, { option: 'fetch', cause });
  });
}

function isDispatcher(given: unknown): given is Dispatcher {
  return hasMethods(given, ['dispatch']);
}
