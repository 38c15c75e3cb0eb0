import { fetchSurrounded, isSurrounded } from '../around-fetch.ts';
import type { Call } from '../call.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { isRequestBound } from '../clock/request-bound.ts';
import { startTimeLimit } from '../clock/timer.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import { API_VERSION, isServiceFailure, isSuccess } from '../contract/http.ts';
import type { Answer } from '../contract/limits.ts';
import { duration } from '../duration.ts';
import { ConfigurationError, isPetStoreError } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import type { PetStoreClientOptions } from '../options/client-options.ts';
import { isBrowser } from '../options/environment.ts';
import type { Redactor } from '../redactor.ts';
import { VERSION } from '../version.ts';
import type { AttemptObserver } from './attempt-observer.ts';
import type { Asked } from './connection-failure.ts';
import type { Credentials } from './credentials.ts';
import { Deprecations } from './deprecations.ts';
import type { HeaderFields, WireAnswer } from './direct-answer.ts';
import { Exchange, ofCall, type Received } from './exchange.ts';
import type { Http, RequestBody, WireRequest } from './http.ts';
import { OpenAnswer } from './open-answer.ts';
import { publicRateLimit } from './public-rate-limit.ts';

/** Names the client in runtimes that allow it; browsers send their own header. */
const USER_AGENT = `petstore-inventory/${VERSION} (api ${API_VERSION})`;
const HEADERS_IN_BROWSER = { accept: 'application/json' };
const HEADERS = { ...HEADERS_IN_BROWSER, 'user-agent': USER_AGENT };

/** The request of an operation. */
export interface AttemptRequest {
  method: string;
  /** Below the service's address, with its query. */
  path: string;
  body?: RequestBody | undefined;
  /** For a request that the caller made: its headers and other fetch options. Its answer is given whatever the status. */
  own?: { headers: Record<string, string>; init: RequestInit };
}

interface TransportOptions {
  /** The client that sends the requests, by which tracers around them are found. */
  client: object;
  http: Http;
  fetch: PetStoreClientOptions['fetch'];
  baseUrl: string;
  credentials: Credentials;
  redactor: Redactor;
}

/** The keys of one call, if `apiKey` is a function. */
interface CallKeys {
  /** The key of the latest request. */
  sent: string;
  /** The key of the next request, once the function was called after a 401: that of the latest request if it gave no other. */
  renewed: string | undefined;
}

/** One map for all clients: most have a string as their key. */
const keysOf = new WeakMap<Call, CallKeys>();

/** Makes one attempt: sends one request with the key, reads the headers of its answer once, and makes every failure a PetStoreError. */
export class Transport {
  readonly #options: TransportOptions;
  // The key by which a store finds the quota, while calls wait for it.
  #keyOfStore: Promise<string> | undefined;
  // Created with the first answer while `deprecation` has a listener.
  #deprecations: Deprecations | undefined;
  // Browsers name themselves.
  readonly #ownHeaders: Readonly<Record<string, string>> = isBrowser() ? HEADERS_IN_BROWSER : HEADERS;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Gives the key of the next request, at once if it is a string. A function may take as long as an attempt.
   * @throws ConfigurationError if the function gives none, or the reason of an abort; the permit is then cancelled
   */
  readKey(call: Call, observer: AttemptObserver): string | Promise<string> {
    const { credentials } = this.#options;
    if (typeof credentials === 'string') return credentials;
    const keys = keysOf.get(call);
    if (keys?.renewed !== undefined && keys.renewed !== keys.sent) return keys.renewed;
    return this.#waitForKey(credentials(), call).catch((error) => {
      observer.cancel();
      throw error;
    });
  }

  /**
   * A function that calls the `apiKey` function once more after a 401, since the key may have been replaced. It returns whether that gave
   * another key, which the next attempt then uses; a function that fails gives none. Each call does this at most once. Undefined if the key
   * is a string.
   */
  keyRenewal(call: Call): (() => Promise<boolean>) | undefined {
    const { credentials } = this.#options;
    if (typeof credentials === 'string') return undefined;
    return async () => {
      const keys = keysOf.get(call);
      if (!keys || keys.renewed !== undefined) return false;
      keys.renewed = await this.#waitForKey(credentials(), call).catch(() => keys.sent);
      return keys.renewed !== keys.sent;
    };
  }

  /**
   * Gives the key by which a store finds the quota. Calls that come together call the function once; each waits within its own limits.
   * @throws what `readKey` throws
   */
  async readKeyOfStore(call: Call): Promise<string> {
    // A promise of another request would never settle.
    const known = isRequestBound() ? undefined : this.#keyOfStore;
    const { credentials } = this.#options;
    const key = known ?? (typeof credentials === 'string' ? Promise.resolve(credentials) : credentials());
    this.#keyOfStore = key;
    try {
      return await this.#waitForKey(key, call);
    } finally {
      // Even if the key never comes: the next call then calls the function again.
      if (this.#keyOfStore === key) this.#keyOfStore = undefined;
    }
  }

  async #waitForKey(key: Promise<string>, call: Call): Promise<string> {
    const limitMs = call.options.attemptTimeoutMs;
    const limit = new AbortController();
    const stopTimer = startTimeLimit(limitMs, () => limit.abort(keyTimedOut(limitMs)));
    call.holdup = () => ({ why: 'the `apiKey` function gave no key', until: undefined });
    try {
      return await untilAborted(untilAborted(key, call.signal), limit.signal);
    } catch (error) {
      throw isPetStoreError(error) && error.kind === 'configuration' ? ofCall(error, call) : error;
    } finally {
      call.holdup = undefined;
      stopTimer();
    }
  }

  /** Loads what a request needs that a caller composed: before its permit, since the gate may close meanwhile. Undefined if it is there. */
  prepare(call: Call, { own }: AttemptRequest): Promise<void> | undefined {
    if (!own || kyHttp) return undefined;
    return loadPart('ky', call, import('./ky-http.ts')).then((part) => {
      kyHttp = part.kyHttp;
    });
  }

  /** Sends the request and gives its 2xx answer. Rejects with a PetStoreError, or with the reason of an abort. */
  async open(call: Call, request: AttemptRequest, { key, observer }: Admission): Promise<OpenAnswer> {
    if (!call.signal.aborted) this.#tellRequest(call, request);
    // A listener may have aborted the call; the exchange does not listen yet and would miss that abort.
    if (call.signal.aborted) {
      observer.cancel();
      throw call.signal.reason;
    }
    const exchange = new Exchange(call, askedFor(request, this.#options));
    let received: Received | undefined;
    try {
      received = await exchange.send((wired) => this.#send(call, wired), this.#begin(call, request, key));
      const { answer, headers } = received;
      const reopensAtMs = observer.observe(answer, () => {
        this.#tellResponse(call, answer, exchange.startedAtMs);
        this.#tellDeprecation(call, request, headers);
      });
      const address = `${this.#options.baseUrl}${shownPath(request, this.#options.redactor)}`;
      const open = new OpenAnswer({ ...received, exchange, observer, redactor: this.#options.redactor, reopensAtMs, address });
      if (isSuccess(answer.status)) return open;
      // The status decides it, even if the body never ends.
      if (!isServiceFailure(answer.status)) call.refused('service');
      if (request.own) return open;
      throw (await open.readFailure(call)).failure;
    } catch (failure) {
      if (!received) observer.lose(call.signal.aborted ? undefined : exchange.networkFailure(failure));
      exchange.close();
      observer.release();
      throw failure;
    }
  }

  #send(call: Call, wired: WireRequest): Promise<WireAnswer> {
    const { client, baseUrl, fetch } = this.#options;
    const send = (wired.init && kyHttp) || this.#options.http;
    if (!isSurrounded(client)) return send(wired, this.#options);
    const surrounded: typeof globalThis.fetch = (input, init) =>
      fetchSurrounded(client, call.id, (headers) =>
        (fetch ?? globalThis.fetch)(input, { ...init, headers: { ...headers, ...wired.headers } }),
      );
    return send(wired, { baseUrl, fetch: surrounded });
  }

  #tellRequest(call: Call, request: AttemptRequest): void {
    const { method } = request;
    call.emit('request', (event) => ({
      ...event,
      attempt: event.attempt + 1,
      method,
      path: shownPath(request, this.#options.redactor),
    }));
  }

  #begin(call: Call, request: AttemptRequest, key: string): Omit<WireRequest, 'signal'> {
    call.sent();
    if (typeof this.#options.credentials !== 'string') keysOf.set(call, { sent: key, renewed: keysOf.get(call)?.renewed && key });
    const { method, path, body, own } = request;
    return { method, path, body, init: own?.init, headers: this.#headers(call, key, request), call };
  }

  #tellResponse(call: Call, answer: Answer, startedAtMs: number): void {
    call.emit('response', (event) => {
      const ms = Math.round(monotonicMs() - startedAtMs);
      const rateLimit = publicRateLimit(answer);
      const date = answer.dateMs === undefined ? {} : { date: new Date(answer.dateMs) };
      return { ...event, status: answer.status, ms, ...date, ...(rateLimit ? { rateLimit } : {}) };
    });
  }

  #tellDeprecation(call: Call, request: AttemptRequest, headers: HeaderFields): void {
    if (!call.hasListener('deprecation')) return;
    const { baseUrl, redactor } = this.#options;
    this.#deprecations ??= new Deprecations();
    this.#deprecations.announce(call, { method: request.method, path: shownPath(request, redactor), baseUrl, headers }, redactor);
  }

  #headers(call: Call, key: string, { body, own }: AttemptRequest): Record<string, string> {
    const authorization = `Bearer ${key}`;
    // The caller's own Accept header decides, as with fetch.
    if (own) return { ...this.#ownHeaders, accept: '*/*', ...call.options.headers, ...own.headers, authorization };
    const headers: Record<string, string> = { ...this.#ownHeaders, ...call.options.headers, authorization };
    if (body !== undefined) headers['content-type'] = 'application/json';
    return headers;
  }
}

/** What an attempt needs before it may be made: the key, and the observer of its outcome. */
export interface Admission {
  key: string;
  observer: AttemptObserver;
}

/**
 * The path of a request as events and messages show it, below the service's address and without its query, which may hold private data.
 * The caller of `fetch` may have put the key into it, of which a part may look like a query.
 */
export function shownPath({ own, path }: Pick<AttemptRequest, 'own' | 'path'>, redactor: Pick<Redactor, 'hide'>): string {
  return (own ? redactor.hide(`/${path}`) : `/${path}`).replace(/\?.*/s, '');
}

/** What sends a request that a caller composed, through ky: loaded with the first such request. */
let kyHttp: Http | undefined;

/** Removes the query, which may hold private data, from the address that an error of a request quotes, as those of Deno and ky do. */
function askedFor({ path }: AttemptRequest, asked: Asked): Asked {
  const query = /\?.*/s.exec(path)?.[0];
  if (!query) return asked;
  const { baseUrl, redactor } = asked;
  const hide = (text: string) => redactor.hide(text);
  return { baseUrl, redactor: { hide, clean: (text, most) => redactor.clean(text.replaceAll(query, ''), most) } };
}

function keyTimedOut(limitMs: number): ConfigurationError {
  const message = `Cannot send the request: the \`apiKey\` function gave no key within the \`attemptTimeoutMs\` of ${duration(limitMs)}`;
  return new ConfigurationError(message, { option: 'apiKey' });
}
