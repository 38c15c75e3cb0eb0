import type { LightSignal } from '../clock/light-signal.ts';
import type { PetStoreClientOptions } from '../options/client-options.ts';
import { type DirectRequest, directly, type WireAnswer } from './direct-answer.ts';

// Node's types have no BodyInit.
export type RequestBody = NonNullable<RequestInit['body']>;

/** One request as it goes onto the wire, below the service's address. */
export interface WireRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: RequestBody | undefined;
  /** Other fetch options of the caller. */
  init?: RequestInit | undefined;
  signal: LightSignal;
  /** For a fetch that can tell when it sends the request. */
  call?: DirectRequest['call'];
}

/** The address to which requests go, and the fetch that sends them. */
export interface HttpTarget {
  baseUrl: string;
  /** Undefined: `globalThis.fetch`, looked up at every request, so that a later replacement is used. */
  fetch: PetStoreClientOptions['fetch'];
}

/** Sends one request and gives the answer as soon as its headers have come. */
export type Send = (request: WireRequest) => Promise<WireAnswer>;

/** Like {@link Send}, for any target, so that all clients share one function. */
export type Http = (request: WireRequest, target: HttpTarget) => Promise<WireAnswer>;

/** The {@link Http} of this package's own requests: an address, plain headers, text or no body. */
export function http(request: WireRequest, { baseUrl, fetch = globalThis.fetch }: HttpTarget): Promise<WireAnswer> {
  const address = `${baseUrl}/${request.path}`;
  const sendDirectly = directly.get(fetch);
  const { method, headers, body, signal, call } = request;
  const isText = body === undefined || typeof body === 'string';
  return sendDirectly && isText ? sendDirectly(address, { method, headers, body, signal, call }) : fetch(address, initOf(request));
}

/** The request as fetch takes it. */
export function initOf({ method, headers, body, init, signal }: WireRequest): RequestInit {
  const own: RequestInit = { method, headers, signal: signal.toAbortSignal(), redirect: 'manual' };
  if (body !== undefined) own.body = body;
  return init ? { ...init, ...own } : own;
}
