import type { DirectRequest } from '../transport/direct-answer.ts';

/** One request in the form that undici takes. */
export interface DispatchedRequest {
  url: URL;
  method: string;
  headers: Readonly<Record<string, string>>;
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  signal: DirectRequest['signal'] | undefined;
  call?: DirectRequest['call'];
  /** The Requests that were read. In Node, the signal of one follows its source only until the Request is garbage-collected. */
  held?: readonly unknown[];
}

export type Input = Parameters<typeof globalThis.fetch>[0];

/** The latest address and its parts: most requests of a client go to the same one. Nothing changes a URL in here. */
let latest: { address: string; url: URL } | undefined;

function urlOf(address: string): URL {
  if (latest?.address !== address) latest = { address, url: new URL(address) };
  return latest.url;
}

/** Reads a request of the client. */
export function readDirectRequest(address: string, { method, headers, body, signal, call }: DirectRequest): DispatchedRequest {
  return { url: urlOf(address), method, headers, body: body ?? null, signal, call };
}

const METHODS_WITH_BODY: ReadonlySet<string> = new Set(['DELETE', 'OPTIONS', 'PATCH', 'POST', 'PUT']);
const PLAIN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', ...METHODS_WITH_BODY]);

/** Reads the arguments of fetch. An address and an `init` of plain values are read without making a Request. */
export function readRequest(input: Input, init: RequestInit = {}): DispatchedRequest | Promise<DispatchedRequest> {
  const { headers = {}, body = null, method = 'GET', signal } = init;
  if (typeof input !== 'string' || !isPlainBody(body) || !isPlainHeaders(headers)) return readAnyRequest(input, init);
  // A Request gives it one.
  if (typeof body === 'string' && !('content-type' in headers)) return readAnyRequest(input, init);
  // A Request writes the method as it is sent, or refuses it, as it does a GET with a body.
  if (!(body === null ? PLAIN_METHODS : METHODS_WITH_BODY).has(method)) return readAnyRequest(input, init);
  return { url: urlOf(input), method, headers, body, signal: signal ?? undefined };
}

/** Reads a Request, with the body that it was made of. A body whose length is known is read first, so that it is sent with Content-Length. */
async function readAnyRequest(input: Input, init: RequestInit): Promise<DispatchedRequest> {
  const request = new Request(input, init);
  const { url, method, headers, signal } = request;
  const { body: given = null } = init;
  const body = given === null || isStream(given) ? request.body : new Uint8Array(await request.arrayBuffer());
  return { url: new URL(url), method, headers: Object.fromEntries(headers), body, signal, held: [input, request] };
}

function isStream(body: BodyInit): boolean {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

function isPlainBody(body: unknown): body is string | Uint8Array | null {
  return body === null || typeof body === 'string' || body instanceof Uint8Array;
}

/** Whether each name is in lower case, so that none can repeat, and each value a text without the white space around it that fetch cuts off. */
function isPlainHeaders(headers: object | null): headers is Record<string, string> {
  const isPlain = headers !== null && Object.getPrototypeOf(headers) === Object.prototype;
  return isPlain && Object.entries(headers).every(([name, value]) => value === String(value).trim() && name === name.toLowerCase());
}
