/**
 * A signal that aborts with either of two signals, and a function that removes its listeners. With `AbortSignal.any`, each signal would
 * leave something behind in Node 22.13 until the longer-lived of the two is gone.
 */
export function eitherSignal(one: AbortSignal, other: AbortSignal | undefined): { signal: AbortSignal; stop: () => void } {
  if (!other) return { signal: one, stop: () => {} };
  const controller = new AbortController();
  const stops = [one, other].map((signal) => {
    const onAbort = () => controller.abort(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort);
    return () => signal.removeEventListener('abort', onAbort);
  });
  return {
    signal: controller.signal,
    stop: () => {
      for (const stop of stops) stop();
    },
  };
}
