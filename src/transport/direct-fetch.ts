/** Shared by all copies of the package. */
const DIRECT = Symbol.for('petstore-inventory.direct-fetch');

/** Marks a fetch that takes an address and plain values, so that ky makes no Request for it. */
export function markDirect(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return Object.defineProperty(fetch, DIRECT, { value: true });
}

export function isDirect(fetch: typeof globalThis.fetch | undefined): fetch is typeof globalThis.fetch {
  return fetch !== undefined && Reflect.has(fetch, DIRECT);
}
