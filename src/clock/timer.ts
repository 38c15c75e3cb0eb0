import { monotonicMs } from './monotonic.ts';

/** A longer wait is split: the timers of a platform leave out the time in which the machine is suspended, and hold 24 days at most. */
export const LONGEST_TIMER_MS = 900_000;

interface TimerOptions {
  /** Whether the timer keeps the process alive, in runtimes that offer the choice. */
  keepsProcess: boolean;
}

const KEEPS_PROCESS: TimerOptions = { keepsProcess: true };

/** Calls `onEnd` once after `ms` milliseconds, however long that is. Returns a function that stops the timer. */
export function startTimer(ms: number, onEnd: () => void, options = KEEPS_PROCESS): () => void {
  if (ms > LONGEST_TIMER_MS) return startLongTimer(monotonicMs() + ms, onEnd, options);
  const timer = setTimeout(onEnd, Math.max(0, Math.ceil(ms)));
  // In a browser a timer is a number, which has no `unref`.
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

/** How often a steady timer looks at the clock. */
const LOOK_EVERY_MS = 1_000;

/**
 * Calls `onEnd` once after `ms` milliseconds, a second late at most if the machine was suspended meanwhile. It wakes the process every
 * second. Returns a function that stops the timer.
 */
export function startSteadyTimer(ms: number, onEnd: () => void): () => void {
  const endsAtMs = monotonicMs() + ms;
  const startPart = (): (() => void) => startTimer(Math.min(endsAtMs - monotonicMs(), LOOK_EVERY_MS), look);
  const look = (): void => {
    if (monotonicMs() >= endsAtMs) onEnd();
    else stop = startPart();
  };
  let stop = startPart();
  return () => stop();
}

/** A time limit that ends later than this was held up: the process was stopped or busy. */
const LATE_MS = 100;

/**
 * Calls `onEnd` once after a time limit of `ms` milliseconds. If it was held up, an answer may have come meanwhile, which Node reads only
 * after its timers, so it gets a little more time. Returns a function that stops the limit.
 */
export function startTimeLimit(ms: number, onEnd: () => void, options = KEEPS_PROCESS): () => void {
  const lateAtMs = monotonicMs() + ms + LATE_MS;
  const onLimit = () => {
    if (monotonicMs() < lateAtMs) onEnd();
    else stop = startTimer(LATE_MS, onEnd, options);
  };
  let stop = startTimer(ms, onLimit, options);
  return () => stop();
}
