/**
 * A `fetch` for Node by the package `undici`, with proxies, certificates and HTTP/2.
 * @module petstore-inventory/undici
 */

export type { UndiciFetchOptions } from './fetch-options.ts';
export { type AnyDispatcher, undiciFetch } from './undici-fetch.ts';
