/**
 * Milliseconds on a clock that nobody sets: durations are measured on it, so that a wait takes as long as it was told, whatever happens
 * to the machine's date. Where the runtime has none, on the machine's clock.
 */
export function monotonicMs(): number {
  return globalThis.performance?.now() ?? Date.now();
}
