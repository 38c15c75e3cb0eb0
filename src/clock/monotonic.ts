/**
 * Milliseconds on a monotonic clock. Durations are measured on it, so that setting the machine's date changes no wait. If the runtime has
 * no such clock, the machine's clock is used.
 */
export function monotonicMs(): number {
  return globalThis.performance?.now() ?? Date.now();
}
