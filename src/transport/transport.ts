import type { Call } from '../call.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { isRequestBound } from '../clock/request-bound.ts';
import { startTimer } from '../clock/timer.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import { API_VERSION } from '../contract/http.ts';
import type { Answer } from '../contract/limits.ts';
import { ConfigurationError, type PetStoreError } from '../errors.ts';
import { isBrowser } from '../options/environment.ts';
import type { Redactor } from '../redactor.ts';
import { VERSION } from '../version.ts';
import type { AttemptObserver } from './attempt-observer.ts';
import { readUpTo } from './body.ts';
import type { Credentials } from './credentials.ts';
import { Exchange, type Received } from './exchange.ts';
import type { Http, WireRequest } from './http.ts';
import { OpenAnswer } from './open-answer.ts';
import { publicRateLimit } from './public-rate-limit.ts';
import { isRefusal, statusFailure } from './status-failure.ts';

const MAX_ERROR_BYTES = 65_536;
const DROPPED_AT_CUT = 4096;
/** Names the client where a runtime allows it; browsers send their own. */
const USER_AGENT = `petstore-inventory/${VERSION} (api ${API_VERSION})`;
const HEADERS_IN_BROWSER = { accept: 'application/json' };
const HEADERS = { ...HEADERS_IN_BROWSER, 'user-agent': USER_AGENT };

/** What an operation asks for. */
export interface AttemptRequest {
  method: 'GET' | 'PATCH';
  /** Below the service's address. */
  path: string;
  body?: string;
}

export interface TransportOptions {
  http: Http;
  fetch: typeof globalThis.fetch | undefined;
  baseUrl: string;
  credentials: Credentials;
  redactor: Redactor;
}

/** Makes one attempt: one request with the key, its answer's headers read once, every failure a PetStoreError. */
export class Transport {
  readonly #options: TransportOptions;
  // The key that names the quota in a store, while calls wait for it.
  #keyOfStore: Promise<string> | undefined;
  // Browsers name themselves.
  readonly #ownHeaders: Readonly<Record<string, string>> = isBrowser() ? HEADERS_IN_BROWSER : HEADERS;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Gives the key of the next request, at once where it is a string. A function may take as long as an attempt.
   * @throws ConfigurationError where it gives none, or the reason of an abort; the permit is cancelled
   */
  readKey(call: Call, observer: AttemptObserver): string | Promise<string> {
    const { credentials } = this.#options;
    return typeof credentials === 'string' ? credentials : this.#readFor(call, credentials(), observer);
  }

  /**
   * Gives the key that names the quota in a store. Calls that come together ask for it once; each waits within its own limits.
   * @throws what `readKey` does
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
      // Also one that never comes: the next call asks anew.
      if (this.#keyOfStore === key) this.#keyOfStore = undefined;
    }
  }

  async #readFor(call: Call, key: Promise<string>, observer: AttemptObserver): Promise<string> {
    try {
      return await this.#waitForKey(key, call);
    } catch (error) {
      observer.cancel();
      throw error;
    }
  }

  async #waitForKey(key: Promise<string>, call: Call): Promise<string> {
    const limitMs = call.options.attemptTimeoutMs;
    const limit = new AbortController();
    const stopTimer = startTimer(limitMs, () => limit.abort(keyTimedOut(limitMs)));
    try {
      return await untilAborted(untilAborted(key, call.signal), limit.signal);
    } catch (error) {
      throw error instanceof ConfigurationError ? ofCall(error, call) : error;
    } finally {
      stopTimer();
    }
  }

  /** Sends the request and gives its 2xx answer. Rejects with a PetStoreError, or with the reason of an abort. */
  async open(call: Call, request: AttemptRequest, { key, observer }: Admission): Promise<OpenAnswer> {
    if (!call.signal.aborted) this.#tellRequest(call, request);
    // A listener may have ended the call, and nobody would hear of an abort that came before the exchange listens.
    if (call.signal.aborted) {
      observer.cancel();
      throw call.signal.reason;
    }
    const exchange = new Exchange(call, this.#options);
    let received: Received | undefined;
    try {
      received = await exchange.send((wired) => this.#options.http(wired, this.#options), this.#begin(call, request, key));
      const { answer } = received;
      const reopensAtMs = observer.observe(answer, () =>
        this.#tellResponse(call, answer, Math.round(monotonicMs() - exchange.startedAtMs)),
      );
      if (isSuccess(answer)) return new OpenAnswer({ ...received, exchange, observer, redactor: this.#options.redactor });
      throw await this.#failed(call, exchange, { ...received, reopensAtMs, path: request.path });
    } catch (failure) {
      if (!received) observer.lose(call.signal.aborted ? undefined : exchange.networkFailure(failure));
      exchange.close();
      observer.release();
      throw failure;
    }
  }

  #tellRequest(call: Call, { method, path }: AttemptRequest): void {
    call.emit('request', (event) => ({ ...event, attempt: event.attempt + 1, method, path: `/${path}` }));
  }

  #begin(call: Call, { method, path, body }: AttemptRequest, key: string): Omit<WireRequest, 'signal'> {
    call.sent();
    return { method, path, body, headers: this.#headers(call, key, body) };
  }

  #tellResponse(call: Call, answer: Answer, ms: number): void {
    call.emit('response', (event) => {
      const rateLimit = publicRateLimit(answer);
      return { ...event, status: answer.status, ms, ...(rateLimit ? { rateLimit } : {}) };
    });
  }

  #headers(call: Call, key: string, body: string | undefined): Record<string, string> {
    const headers: Record<string, string> = { ...this.#ownHeaders, ...call.options.headers, authorization: `Bearer ${key}` };
    if (body !== undefined) headers['content-type'] = 'application/json';
    return headers;
  }

  async #failed(call: Call, exchange: Exchange, { response, answer, reopensAtMs, path }: Failed): Promise<PetStoreError> {
    // The status line settles it, also where the body never ends.
    if (isRefusal(answer.status)) call.refused('service');
    const bodyText = await readErrorBody(exchange);
    call.signal.throwIfAborted();
    const { baseUrl, redactor } = this.#options;
    const location = response.headers.get('location');
    return statusFailure({ answer, bodyText, location, address: `${baseUrl}/${path}`, reopensAtMs }, call, redactor);
  }
}

/** What an attempt needs before it may be made: the key, and the observer of how it goes. */
export interface Admission {
  key: string;
  observer: AttemptObserver;
}

interface Failed extends Received {
  reopensAtMs: number | undefined;
  path: string;
}

function isSuccess({ status }: Answer): boolean {
  return status >= 200 && status < 300;
}

function keyTimedOut(limitMs: number): ConfigurationError {
  const message = `Cannot send the request: the \`apiKey\` function gave no key within the \`attemptTimeoutMs\` of ${limitMs} ms`;
  return new ConfigurationError(message, { option: 'apiKey' });
}

/** The same error, telling which call it ended. */
function ofCall({ message, option, cause }: ConfigurationError, call: Call): ConfigurationError {
  return new ConfigurationError(message, { ...call.details(), option, cause });
}

/** The status line stands, whatever becomes of the body: what cannot be read is left out. */
async function readErrorBody(exchange: Exchange): Promise<string> {
  try {
    const { bytes, isComplete } = await readUpTo(exchange, MAX_ERROR_BYTES);
    // The end of a body that was cut may be the beginning of an echoed key, in any spelling.
    return new TextDecoder().decode(bytes.subarray(0, isComplete ? MAX_ERROR_BYTES : MAX_ERROR_BYTES - DROPPED_AT_CUT));
  } catch {
    return '';
  }
}
