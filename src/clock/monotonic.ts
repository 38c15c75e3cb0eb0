/**
 * Milliseconds on a monotonic clock: durations are measured on it, so that setting the machine's date changes no wait. Where the runtime
 * has none, on the machine's clock.
 */
export function monotonicMs(): number {
  return globalThis.performance?.now() ?? Date.now();
}
