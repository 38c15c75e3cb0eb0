import { monotonicMs } from './monotonic.ts';

/** The longest delay that a platform timer can hold; Node fires a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Calls `onEnd` once after `ms` milliseconds, however long that is. Gives a function that stops the timer. */
export function startTimer(ms: number, onEnd: () => void): () => void {
  if (ms > LONGEST_TIMER_MS) return startLongTimer(monotonicMs() + ms, onEnd);
  const timer = setTimeout(onEnd, Math.max(0, Math.ceil(ms)));
  return () => clearTimeout(timer);
}

function startLongTimer(endsAtMs: number, onEnd: () => void): () => void {
  let stop = startTimer(LONGEST_TIMER_MS, () => {
    stop = startTimer(endsAtMs - monotonicMs(), onEnd);
  });
  return () => stop();
}
