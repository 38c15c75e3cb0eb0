/** A signal that aborts with either of two signals, and a function that removes its listeners. */
export function eitherSignal(one: AbortSignal, other: AbortSignal | undefined): { signal: AbortSignal; stop: () => void } {
  if (!other) return { signal: one, stop: () => {} };
  const controller = new AbortController();
  const listeners = [one, other].map((signal) => ({ signal, onAbort: () => controller.abort(signal.reason) }));
  for (const { signal, onAbort } of listeners) {
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
  }
  return {
    signal: controller.signal,
    stop: () => {
      for (const { signal, onAbort } of listeners) signal.removeEventListener('abort', onAbort);
    },
  };
}
