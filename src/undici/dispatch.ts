import { ConfigurationError } from '../errors.ts';
import type { Proxies } from '../options/proxy.ts';
import { textOf } from '../thrown.ts';
import type { ForwardProxy } from './fetch-options.ts';
import type { DispatchedRequest } from './read-request.ts';
import { type RawHeaders, UndiciAnswer } from './read-response.ts';
import { type Controller, drop, ResponseBody } from './response-body.ts';
import { routeFailure } from './route-failure.ts';

/** The part of a dispatcher that is used here. undici's versions have different types for the options. */
export interface Dispatcher {
  dispatch(options: object, handler: ResponseHandler): boolean;
}

/**
 * undici's dispatchers send no Accept-Encoding and decode no bodies. `UndiciAnswer` decodes these encodings. Not deflate, since some servers
 * send it without the zlib format around it (RFC 9110 section 8.4.1.2).
 */
const ENCODINGS = 'gzip, br';

/** The connections that a request goes through. */
export interface Way {
  dispatcher: Dispatcher;
  proxies?: Proxies<ForwardProxy> | undefined;
  /** How many answers have ended. */
  ended: number;
  /** Called if an answer did not come, or did not end, within a time limit, and none has ended meanwhile. */
  leave?: () => void;
}

/** Sends one request. Resolves when the headers have arrived; rejects as fetch does, or with the signal's reason. */
export function dispatch(request: DispatchedRequest, way: Way): Promise<UndiciAnswer> {
  return new Promise((resolve, reject) => {
    const { url, method, body } = request;
    const headers = { 'accept-encoding': ENCODINGS, ...request.headers };
    const handler = new ResponseHandler(request, way, { resolve, reject });
    // undici's time limits are off, since the client has its own.
    const limits = { headersTimeout: 0, bodyTimeout: 0 };
    try {
      way.dispatcher.dispatch({ origin: url.origin, path: `${url.pathname}${url.search}`, method, headers, body, ...limits }, handler);
    } catch (thrown) {
      handler.fail(thrown);
    }
  });
}

interface Settling {
  resolve: (answer: UndiciAnswer) => void;
  reject: (reason: unknown) => void;
}

/** Handles one response, from its request to the end of its body. */
class ResponseHandler {
  readonly #request: DispatchedRequest;
  readonly #way: Way;
  readonly #settling: Settling;
  /** How many answers had ended when the request began. */
  readonly #ended: number;
  readonly #onAbort = () => this.#abort();
  #controller: Controller | undefined;
  #starts = 0;
  #body: ResponseBody | undefined;

  constructor(request: DispatchedRequest, way: Way, settling: Settling) {
    this.#request = request;
    this.#way = way;
    this.#ended = way.ended;
    this.#settling = settling;
    request.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    this.#starts += 1;
    // The call ended while the request waited for a connection.
    if (this.#request.signal?.aborted) this.#abort();
    else this.#request.call?.started();
  }

  onResponseStart(controller: Controller, status: number, headers: RawHeaders, statusText = ''): void {
    // Informational; the answer is still to come (RFC 9110 section 15.2).
    if (status < 200) return;
    this.#body = new ResponseBody(controller, () => this.#end());
    this.#settling.resolve(new UndiciAnswer({ status, statusText, headers }, this.#body, this.#request));
  }

  onResponseData(_controller: Controller, chunk: Buffer<ArrayBuffer>): void {
    this.#body?.push(chunk);
  }

  onResponseEnd(): void {
    this.#end();
    this.#way.ended += 1;
    this.#body?.end();
  }

  onResponseError(_controller: Controller | undefined, error: unknown): void {
    this.fail(error);
  }

  fail(thrown: unknown): void {
    this.#end();
    const { signal, url } = this.#request;
    const attempt = { url, proxies: this.#way.proxies, starts: this.#starts, hasAnswered: this.#body !== undefined };
    const reason: unknown = signal?.aborted ? signal.reason : (closedFailure(thrown, this.#starts) ?? routeFailure(thrown, attempt));
    this.#body?.fail(reason);
    this.#settling.reject(reason);
  }

  /** Ends the call first, since a dispatcher may fail to abort. */
  #abort(): void {
    const reason: unknown = this.#request.signal?.reason;
    this.#body?.fail(reason);
    this.#settling.reject(reason);
    this.#end();
    if (this.#controller) drop(this.#controller);
    // That of the client, of the caller's `AbortSignal.timeout`, or of a call.
    if (textOf(reason, 'name') === 'TimeoutError' && this.#way.ended === this.#ended) this.#way.leave?.();
  }

  #end(): void {
    this.#request.signal?.removeEventListener('abort', this.#onAbort);
  }
}

/** The error of a dispatcher that was closed, by whoever gave it, before it sent the request: another attempt would fail the same way. */
function closedFailure(cause: unknown, starts: number): ConfigurationError | undefined {
  if (starts > 0 || !/^UND_ERR_(?:CLOSED|DESTROYED)$/.test(textOf(cause, 'code') ?? '')) return undefined;
  return new ConfigurationError('Cannot send the request: the dispatcher given to undiciFetch is closed', { option: 'fetch', cause });
}
