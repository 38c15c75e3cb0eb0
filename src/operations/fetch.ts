import type { Call, OwnRequest } from '../call.ts';
import { untilAborted } from '../clock/until-aborted.ts';
import { InvalidArgumentError, type PetStoreError } from '../errors.ts';
import { showAddress } from '../options/base-url.ts';
import { RESERVED_HEADERS, type RequestOptions } from '../options/call-options.ts';
import { hasMethods } from '../options/rules.ts';
import type { RequestBody } from '../transport/http.ts';
import type { OpenAnswer } from '../transport/open-answer.ts';
import type { AttemptRequest } from '../transport/transport.ts';
import { readResponseOf, responseOf } from './fetched-response.ts';
import type { StreamOperation } from './operation.ts';
import { pathBelow } from './path-below.ts';

/** The request of a caller, and how it is to be sent. */
export interface Fetching {
  operation: StreamOperation<Response>;
  options: RequestOptions;
}

interface FetchTarget {
  baseUrl: string;
  /** How often the client sends a request again. */
  maxRetries: number;
}

type Input = string | URL | Request;

// The signal of a Request follows that of its caller only as long as the Request is held (so it is in Node), and a call holds its signal.
const HELD = new WeakMap<AbortSignal, Request>();

/** What is sent again changes nothing more (RFC 9110 section 9.2.2). */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'TRACE']);

/**
 * Makes a request to any path below the client's address, as fetch takes it. Its answer is given whatever its status.
 * @throws InvalidArgumentError for another address, a key of the caller's own, and a body that may have to be sent again but cannot be
 */
export function fetchOperation(input: Input, init: RequestInit | undefined, target: FetchTarget): Fetching | Promise<Fetching> {
  const given = isRequest(input) ? input : undefined;
  const path = checkPath(given ? given.url : String(input), target.baseUrl);
  const { method, headers } = checkHead(`${target.baseUrl}/${path}`, {
    method: init?.method ?? given?.method,
    headers: init?.headers ?? given?.headers,
  });
  if (given?.signal) HELD.set(given.signal, given);
  const signal = (init?.signal === undefined ? given?.signal : init.signal) ?? undefined;
  const rest = { ...(given && initOf(given)), ...restOf(init ?? {}) };
  const make = (body: RequestBody | undefined) =>
    makeFetching({ method, path, body, own: { headers, init: rest } }, init, { signal, target });
  const body = bodyOf(given, init?.body, signal);
  return body instanceof Promise ? body.then(make) : make(body);
}

interface Ending {
  signal: AbortSignal | undefined;
  target: FetchTarget;
}

function makeFetching(request: OwnAttempt, init: RequestInit | undefined, { signal, target }: Ending): Fetching {
  const { method, path, body, own } = request;
  const isIdempotent = IDEMPOTENT.has(method);
  const isOnce = isReadOnce(body);
  checkBody(body, method, isOnce && isIdempotent && target.maxRetries > 0);
  if (isOnce) Object.assign(own.init, DUPLEX);
  const operation = new FetchOperation(request, { target: `${method} /${path.replace(/\?.*/s, '')}`, isIdempotent });
  return { operation, options: { signal, priority: init?.priority === 'low' ? 'low' : 'normal', ...(isOnce && { maxRetries: 0 }) } };
}

/** What is passed on to fetch as it is. */
function restOf({
  method: _method,
  headers: _headers,
  body: _body,
  signal: _signal,
  priority: _priority,
  ...rest
}: RequestInit): RequestInit {
  return rest;
}

type OwnAttempt = AttemptRequest & Required<Pick<AttemptRequest, 'own'>>;

// A stream of a body needs it (fetch standard, RequestInit), and not every list of types knows it.
const DUPLEX = { duplex: 'half' } as const;

/** One request of a caller, with the latest answer that may be better next time. */
class FetchOperation implements StreamOperation<Response> {
  readonly name = 'fetch';
  readonly request: AttemptRequest;
  readonly own: OwnRequest;
  #refused: { failure: PetStoreError; response: Response } | undefined;

  constructor(request: AttemptRequest, own: OwnRequest) {
    this.request = request;
    this.own = own;
  }

  /** An answer of 400 and more is read at once, so that nothing is held while the next attempt waits; one that is too long for it is final. */
  async read(answer: OpenAnswer, call: Call, onEnd: (failed?: { error: unknown }) => void): Promise<Response> {
    if (answer.status < 400) return responseOf({ answer, call, onEnd });
    const begun = await answer.readErrorBody();
    call.signal.throwIfAborted();
    const failure = answer.failure(call, begun);
    if (begun.end === 'cut') return responseOf({ answer, call, begun: begun.bytes, onEnd: () => onEnd({ error: failure }) });
    this.#refused = { failure, response: readResponseOf(answer, begun) };
    throw failure;
  }

  /** What the service answered last stands, also where the gate let no other attempt through. */
  instead(failure: unknown): Response | undefined {
    const refused = this.#refused;
    const cause = failure instanceof Error ? failure.cause : undefined;
    return refused && (failure === refused.failure || cause === refused.failure) ? refused.response : undefined;
  }
}

function isRequest(input: Input): input is Request {
  return hasMethods(input, ['arrayBuffer', 'clone']);
}

function checkPath(address: string, baseUrl: string): string {
  const path = pathBelow(address, baseUrl);
  if (path === undefined) throw badInput('input', `${showAddress(address)}: it must be a path below ${baseUrl}, or an address below it`);
  return path;
}

/** Headers that say where a message ends or goes are the connection's; that of its type is the caller's. */
const FORBIDDEN = new Set([...RESERVED_HEADERS].filter((name) => name !== 'content-type'));

interface Head {
  method: string | undefined;
  headers: HeadersInit | undefined;
}

function checkHead(address: string, { method = 'GET', headers = {} }: Head): { method: string; headers: Record<string, string> } {
  const head = makeHead(address, { method, headers });
  const forbidden = [...head.headers.keys()].find((name) => FORBIDDEN.has(name));
  if (forbidden) throw badInput('headers', `the header "${forbidden}": the client sets it itself`);
  return { method: head.method, headers: Object.fromEntries(head.headers) };
}

/** Methods are written, and headers checked, as fetch does it. */
function makeHead(address: string, head: { method: string; headers: HeadersInit }): { method: string; headers: Headers } {
  try {
    // A browser takes headers out of a Request that the caller is to be told of.
    return { method: new Request(address, { method: head.method }).method, headers: new Headers(head.headers) };
  } catch {
    // What is thrown may quote a header.
    throw badInput('init', 'this method and these headers: fetch refuses them');
  }
}

/** A Request can be read only once, so its body is read before it is sent; what the caller may change meanwhile is copied. */
function bodyOf(
  given: Request | undefined,
  body: RequestInit['body'],
  signal: AbortSignal | undefined,
): RequestBody | undefined | Promise<RequestBody | undefined> {
  if (body !== undefined || !given) return copyOf(body ?? undefined);
  if (given.bodyUsed) throw badInput('input', 'a Request whose body was read before');
  if (given.body === null || given.method === 'GET' || given.method === 'HEAD') return undefined;
  const read = readBody(given);
  return signal ? untilAborted(read, signal) : read;
}

async function readBody(given: Request): Promise<ArrayBuffer | undefined> {
  const bytes = await given.arrayBuffer().catch(() => {
    throw badInput('input', 'a Request whose body cannot be read');
  });
  return bytes.byteLength === 0 ? undefined : bytes;
}

function copyOf(body: RequestBody | undefined): RequestBody | undefined {
  if (body instanceof URLSearchParams) return new URLSearchParams(body);
  if (body instanceof ArrayBuffer) return body.slice(0);
  return ArrayBuffer.isView(body) ? new Uint8Array(body.buffer, body.byteOffset, body.byteLength).slice() : body;
}

function isReadOnce(body: RequestBody | undefined): boolean {
  return typeof body === 'object' && (hasMethods(body, ['getReader']) || Symbol.asyncIterator in body);
}

function checkBody(body: RequestBody | undefined, method: string, mayBeLost: boolean): void {
  if (body !== undefined && (method === 'GET' || method === 'HEAD')) throw badInput('body', `a body with ${method}: fetch refuses it`);
  if (!mayBeLost) return;
  throw badInput(
    'body',
    `a stream with ${method}, which may have to be sent again: give text, bytes or a Blob, or set \`maxRetries\` to 0`,
  );
}

/** What a Request says beyond its head and body; what it says by itself is left out, since not every runtime takes it. */
function initOf({ cache, credentials, integrity, keepalive, mode, referrer, referrerPolicy }: Request): RequestInit {
  return {
    ...(cache && cache !== 'default' && { cache }),
    ...(credentials && credentials !== 'same-origin' && { credentials }),
    ...(integrity && { integrity }),
    ...(keepalive && { keepalive }),
    ...(mode && mode !== 'cors' && { mode }),
    ...(referrer && referrer !== 'about:client' && { referrer }),
    ...(referrerPolicy && { referrerPolicy }),
  };
}

function badInput(argument: string, what: string): InvalidArgumentError {
  return new InvalidArgumentError(`Cannot fetch ${what}`, { argument, operation: 'fetch', outcome: 'not-sent' });
}
