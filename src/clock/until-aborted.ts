import type { EndSignal } from './light-signal.ts';

/** Settles like `work`, but rejects with the signal's reason as soon as the signal aborts; the outcome of `work` is then ignored. */
export function untilAborted<T>(work: Promise<T>, signal: EndSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const stop = () => signal.removeEventListener('abort', onAbort);
    work.then(resolve, reject).then(stop, stop);
  });
}
