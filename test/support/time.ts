import { afterEach, beforeEach, vi } from 'vitest';

export const NOW_MS = Date.parse('2026-11-21T10:00:00Z');

/** Stops time at NOW_MS in every test of a file, and removes jitter. */
export function holdTime(): void {
  beforeEach(() => {
    const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] as const;
    vi.useFakeTimers({ now: NOW_MS, toFake: [...toFake] });
    vi.spyOn(Math, 'random').mockReturnValue(0);
  });
  afterEach(() => {
    // In this order: a test may have put a spy in place of a timer that does not run.
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

const HOURS_MS = 20 * 3_600_000;

/** What work gives within twenty hours of held time, or `'still waiting'`. */
export async function settled<Value>(work: Promise<Value>): Promise<Value | 'still waiting'> {
  await vi.advanceTimersByTimeAsync(HOURS_MS);
  return Promise.race([work, 'still waiting' as const]);
}
