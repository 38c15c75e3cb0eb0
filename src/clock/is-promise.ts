/**
 * Whether a value has yet to come. Not by `instanceof`: where a program has replaced the global `Promise`, as zone.js does, the promise of an
 * async function is no instance of it.
 */
export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && 'then' in value;
}
