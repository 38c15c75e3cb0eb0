import { monotonicMs } from './monotonic.ts';

/** The longest delay that a platform timer can hold; Node fires a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

interface TimerOptions {
  /** Whether the process lasts as long as the timer, where a runtime lets one choose. */
  keepsProcess: boolean;
}

const KEEPS_PROCESS: TimerOptions = { keepsProcess: true };

/** Calls `onEnd` once after `ms` milliseconds, however long that is. Gives a function that stops the timer. */
export function startTimer(ms: number, onEnd: () => void, options = KEEPS_PROCESS): () => void {
  if (ms > LONGEST_TIMER_MS) return startLongTimer(monotonicMs() + ms, onEnd, options);
  const timer = setTimeout(onEnd, Math.max(0, Math.ceil(ms)));
  // A browser's is a number.
  if (!options.keepsProcess) timer.unref?.();
  return () => clearTimeout(timer);
}

function startLongTimer(endsAtMs: number, onEnd: () => void, options: TimerOptions): () => void {
  const onPart = () => {
    stop = startTimer(endsAtMs - monotonicMs(), onEnd, options);
  };
  let stop = startTimer(LONGEST_TIMER_MS, onPart, options);
  return () => stop();
}

/** The same, but the process does not stay for it, where the runtime can tell timers so. */
export function startIdleTimer(ms: number, onEnd: () => void): () => void {
  const timer: unknown = setTimeout(onEnd, Math.max(0, Math.min(LONGEST_TIMER_MS, Math.ceil(ms))));
  if (hasUnref(timer)) timer.unref();
  return () => clearTimeout(Number(timer));
}

function hasUnref(timer: unknown): timer is { unref(): void } {
  return typeof timer === 'object' && timer !== null && 'unref' in timer;
}
