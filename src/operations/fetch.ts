import type { Call, OwnRequest } from '../call.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import { InvalidArgumentError, type PetStoreError } from '../errors.ts';
import { loadPart } from '../load-part.ts';
import { addressText, showAddress } from '../options/base-url.ts';
import { RESERVED_HEADERS, type RequestOptions } from '../options/call-options.ts';
import { hasMethods, showValue } from '../options/rules.ts';
import type { Redactor } from '../redactor.ts';
import { fieldOf } from '../thrown.ts';
import type { RequestBody } from '../transport/http.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import { type AttemptRequest, shownPath } from '../transport/transport.ts';
import type { OnEnd, StreamOperation } from './operation.ts';
import { isReadOnce, isSpent, ownBody, sendsStreams } from './own-body.ts';
import { pathBelow } from './path-below.ts';

/** A caller's request as an operation, and the options of its call. */
interface Fetching {
  operation: StreamOperation<Response>;
  options: RequestOptions;
}

interface FetchTarget {
  baseUrl: string;
  /** The client's `maxRetries`. */
  maxRetries: number;
  redactor: Pick<Redactor, 'hide'>;
}

type Input = string | URL | Request;

// In Node, the signal of a Request follows its caller's signal only until the Request is garbage-collected. This keeps the Request as long
// as its signal, which the call keeps.
const HELD = new WeakMap<AbortSignal, Request>();

/** Methods whose requests can be repeated without a further effect (RFC 9110 section 9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/**
 * Makes an operation from the arguments of `fetch`, for any path below the client's address. Its result is the answer, whatever the status.
 * @throws InvalidArgumentError for an argument that is no address below the client's, a caller's own `Authorization` or `integrity`, what
 *   fetch refuses, and a body that cannot be sent, or may have to be sent again but cannot be
 */
export function fetchOperation(input: Input, init: RequestInit | undefined, target: FetchTarget): Fetching {
  const given = isRequest(input) ? input : undefined;
  const path = checkPath(input, target);
  const {
    method: ownMethod = given?.method ?? 'GET',
    headers: ownHeaders = given?.headers ?? {},
    body: ownContent,
    signal = given?.signal,
    priority,
    redirect: _redirect,
    ...fields
  } = init ?? {};
  const rest: RequestInit = { ...(given && initOf(given)), ...fields };
  if (rest.integrity) throw badInput('integrity', LOSES_STATUS);
  const head = { ...rest, method: ownMethod, headers: ownHeaders };
  const { method, headers } = checkHead(`${target.baseUrl}/${path}`, head, init);
  if (given?.signal) HELD.set(given.signal, given);
  const body = copyOf(ownContent ?? undefined);
  const unread = body === undefined ? unreadOf(given) : undefined;
  const isOnce = isReadOnce(body);
  checkBody(body, method, target.maxRetries);
  // Required with a stream as body (fetch standard, RequestInit). Not all type definitions contain it.
  if (isOnce) Object.assign(rest, { duplex: 'half' });
  const request = { method, path, body: ownBody(body), own: { headers, init: rest } };
  return {
    operation: new FetchOperation(request, target.redactor, unread),
    options: { signal: signal ?? undefined, priority: priority === 'low' ? 'low' : 'normal', ...(isOnce && { maxRetries: 0 }) },
  };
}

/** A caller's request, and its latest failed answer. */
class FetchOperation implements StreamOperation<Response> {
  readonly name = 'fetch';
  request: AttemptRequest;
  readonly own: OwnRequest;
  readonly #unread: Request | undefined;
  #refused: { failure: PetStoreError; response: Response } | undefined;

  constructor(request: AttemptRequest, redactor: FetchTarget['redactor'], unread: Request | undefined) {
    const { method } = request;
    this.request = request;
    this.own = {
      // A function that gives the key may not have been called yet.
      get target() {
        return `${method} ${shownPath(request, redactor)}`;
      },
      isIdempotent: IDEMPOTENT.has(method),
    };
    this.#unread = unread;
  }

  prepare(call: Call): Promise<void> | undefined {
    return this.#unread && this.#complete(this.#unread, call);
  }

  async #complete(unread: Request, call: Call): Promise<void> {
    call.holdup = () => ({ why: 'the body of its Request did not come', until: undefined });
    const body = await untilAborted(readBody(unread, call.signal), call.signal);
    call.holdup = undefined;
    checkBody(body, this.request.method, 0);
    this.request = { ...this.request, body };
  }

  async read(answer: OpenAnswer, call: Call, onEnd: OnEnd): Promise<Response> {
    const { readFetched } = await loadPart('the reader of fetched answers', call, import('./fetched-response.ts'));
    const { response, failure } = await readFetched({ answer, call, onEnd });
    if (!failure) return response;
    this.#refused = { failure, response };
    throw failure;
  }

  /** The service's last answer in place of its error, also if the gate then refused another attempt. */
  instead(failure: unknown): Response | undefined {
    const refused = this.#refused;
    return refused && [failure, fieldOf(failure, 'cause')].includes(refused.failure) ? refused.response : undefined;
  }
}

/** A Response has these methods too, but no `method`. */
function isRequest(input: Input): input is Request {
  return hasMethods(input, ['arrayBuffer', 'clone']) && fieldOf(input, 'method') !== undefined;
}

function checkPath(input: Input, { baseUrl, redactor }: FetchTarget): string {
  const address = isRequest(input) ? input.url : addressText(input);
  const path = address === undefined ? undefined : pathBelow(address, baseUrl);
  if (path !== undefined) return path;
  const shown = address === undefined ? showValue(input) : showAddress(address, redactor);
  throw badInput('input', `${shown}: it must be a path below ${baseUrl}, or an address below it`);
}

/** fetch compares every answer with it, also a refusal, and gives a network error in place of one that differs (fetch standard, main fetch). */
const LOSES_STATUS = 'with `integrity`: a 429 would not match it, and fetch would not give its status; check the digest yourself';

/** Normalises the method, and checks it, the headers and the other fields as fetch does. */
function checkHead(
  address: string,
  { headers, ...rest }: RequestInit,
  given: RequestInit = {},
): { method: string; headers: Record<string, string> } {
  let head: { method: string; headers: Headers };
  try {
    // Without the headers: a browser would silently drop some of them, which are reported to the caller instead.
    head = { method: new Request(address, rest).method, headers: new Headers(headers) };
  } catch {
    // The thrown error is not used, since it may quote a header or the credentials of a referrer.
    throw badInput('init', `with ${Object.keys(given).join(', ')} as given: fetch refuses it`);
  }
  // Other than for the client's own requests, `content-type` is allowed.
  const forbidden = [...head.headers.keys()].find((name) => name !== 'content-type' && RESERVED_HEADERS.has(name));
  if (forbidden) throw badInput('headers', `with the header "${forbidden}": the client sets it itself`);
  return { method: head.method, headers: Object.fromEntries(head.headers) };
}

/** The Request, if it has a body, which is still to be read. A body can only be read once. */
function unreadOf(given: Request | undefined): Request | undefined {
  if (!given) return undefined;
  if (given.bodyUsed) throw badInput('input', 'a Request whose body was read before');
  const isBodiless = given.body === null || given.method === 'GET' || given.method === 'HEAD';
  return isBodiless ? undefined : given;
}

/** Firefox has no `body`. */
async function readBody(given: Request, signal: Call['signal']): Promise<ArrayBuffer | undefined> {
  const source = given.body?.getReader ? new Response(ownBody(given.body, signal)) : given;
  const bytes = await source.arrayBuffer().catch(() => {
    throw badInput('input', 'a Request whose body cannot be read');
  });
  return bytes.byteLength === 0 ? undefined : bytes;
}

/** A body that the caller could change later is copied. */
function copyOf(body: RequestBody | undefined): RequestBody | undefined {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  if (body instanceof FormData) return copyOfForm(body);
  if (body instanceof ArrayBuffer) return body.slice(0);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() : body;
}

function copyOfForm(form: FormData): FormData {
  const copy = new FormData();
  for (const [name, value] of form) copy.append(name, value);
  return copy;
}

function checkBody(body: RequestBody | undefined, method: string, maxRetries: number): void {
  if (body !== undefined && (method === 'GET' || method === 'HEAD'))
    throw badInput('body', `with ${method} and a body: fetch refuses both together`);
  if (isSpent(body)) throw badInput('body', 'with this stream as its body: it is locked, or was read before');
  if (!isReadOnce(body)) return;
  if (IDEMPOTENT.has(method) && maxRetries > 0) {
    const rule = 'give text, bytes or a Blob, or set `maxRetries` to 0';
    throw badInput('body', `with ${method} and a stream, which may have to be sent again: ${rule}`);
  }
  if (!sendsStreams()) throw badInput('body', 'with a stream, which this browser cannot send: give text, bytes or a Blob');
}

/** The other fields of a Request. Default values are left out, since not every runtime accepts them. */
function initOf({ cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy }: Request): RequestInit {
  return {
    ...(cache && cache !== 'default' && { cache }),
    ...(credentials && credentials !== 'same-origin' && { credentials }),
    ...(integrity && { integrity }),
    ...(keepalive && { keepalive }),
    ...(mode && mode !== 'cors' && { mode }),
    // An empty one names no page.
    ...(referrer !== undefined && referrer !== 'about:client' && { referrer }),
    ...(referrerPolicy && { referrerPolicy }),
  };
}

function badInput(argument: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Cannot fetch ${what}`, { argument, operation: 'fetch', outcome: 'not-sent' });
}
