// Types of Node know no BodyInit.
export type RequestBody = NonNullable<RequestInit['body']>;

/** One request as it goes onto the wire, below the service's address. */
export interface WireRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: RequestBody | undefined;
  /** What else the caller gave for fetch. */
  init?: RequestInit | undefined;
  signal: AbortSignal;
}

/** Where requests go, and by what. */
export interface HttpTarget {
  baseUrl: string;
  /** Undefined: `globalThis.fetch`, looked up at every request, so that what replaces it later is used. */
  fetch: typeof globalThis.fetch | undefined;
}

/** Sends one request and gives the answer as soon as its headers are in. */
export type Send = (request: WireRequest) => Promise<Response>;

/** The same for any target, so that no client needs a function of its own. */
export type Http = (request: WireRequest, target: HttpTarget) => Promise<Response>;

/** The {@link Http} of what this package asks: an address, plain headers, text or no body. */
export function http(request: WireRequest, { baseUrl, fetch = globalThis.fetch }: HttpTarget): Promise<Response> {
  return fetch(`${baseUrl}/${request.path}`, initOf(request));
}

/** The same as fetch takes it. */
export function initOf({ method, headers, body, init, signal }: WireRequest): RequestInit {
  return { ...init, method, headers, signal, redirect: 'manual', ...(body === undefined ? {} : { body }) };
}
