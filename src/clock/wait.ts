import type { EndSignal } from './light-signal.ts';
import { startTimer } from './timer.ts';

/** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as the signal aborts. Leaves neither timer nor listener. */
export function wait(ms: number, signal: EndSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => {
      stop();
      reject(signal.reason);
    };
    const stop = startTimer(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
