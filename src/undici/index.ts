/**
 * Another way onto the network, for Node: `undici`, with proxies, certificates and HTTP/2.
 * @module petstore-inventory/undici
 */

export type { UndiciFetchOptions } from './fetch-options.ts';
export { type AnyDispatcher, undiciFetch } from './undici-fetch.ts';
