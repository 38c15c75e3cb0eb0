import os from 'node:os';
import { describe, expect, test, vi } from 'vitest';
import { startSteadyTimer, startTimeLimit, startTimer } from '../../src/clock/timer.ts';
import { holdTime } from '../support/time.ts';

/** The longest delay that a platform timer can hold. */
const LONGEST_DELAY_MS = 2 ** 31 - 1;
const HOUR_MS = 3_600_000;

holdTime();

describe('startTimer', () => {
  test('calls once, when the time has passed and not before', () => {
    const onEnd = vi.fn();
    startTimer(1_000, onEnd);
    vi.advanceTimersByTime(999);
    expect(onEnd).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    vi.advanceTimersByTime(10_000);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('rounds up, so that it never calls early', () => {
    const onEnd = vi.fn();
    startTimer(10.2, onEnd);
    vi.advanceTimersByTime(10);
    expect(onEnd).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('calls soon if the time has already passed', () => {
    const onEnd = vi.fn();
    startTimer(-5, onEnd);
    vi.advanceTimersByTime(0);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('waits 100 days, although no platform timer can', () => {
    const hundredDaysMs = 100 * 86_400_000;
    const onEnd = vi.fn();
    const setTimer = vi.spyOn(globalThis, 'setTimeout');
    startTimer(hundredDaysMs, onEnd);
    vi.advanceTimersByTime(hundredDaysMs - 1);
    expect(onEnd).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(onEnd).toHaveBeenCalledOnce();
    expect(Math.max(...setTimer.mock.calls.map(([, ms]) => ms ?? 0))).toBeLessThanOrEqual(LONGEST_DELAY_MS);
  });

  test('counts the time in which the machine was suspended, a quarter of an hour later at the latest', async () => {
    vi.spyOn(os, 'uptime').mockImplementation(() => Date.now() / 1000);
    vi.resetModules();
    const fresh = await import('../../src/clock/timer.ts');
    const onEnd = vi.fn();
    fresh.startTimer(10 * HOUR_MS, onEnd);
    vi.setSystemTime(Date.now() + 11 * HOUR_MS);
    expect(onEnd).not.toHaveBeenCalled();
    vi.advanceTimersByTime(HOUR_MS / 4 + 1);
    expect(onEnd).toHaveBeenCalledOnce();
  });

  test('leaves no timer when it is stopped, even in the middle of a long wait', () => {
    const onEnd = vi.fn();
    const stops = [startTimer(1_000, onEnd), startTimer(2 * LONGEST_DELAY_MS, onEnd)];
    vi.advanceTimersByTime(500);
    stops[0]?.();
    vi.advanceTimersByTime(LONGEST_DELAY_MS);
    stops[1]?.();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(3 * LONGEST_DELAY_MS);
    expect(onEnd).not.toHaveBeenCalled();
  });
});

test('startSteadyTimer can be stopped after any number of looks at the clock', () => {
  const onEnd = vi.fn();
  const stop = startSteadyTimer(100 * HOUR_MS, onEnd);
  vi.advanceTimersByTime(20 * HOUR_MS);
  expect(vi.getTimerCount()).toBe(1);
  stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(100 * HOUR_MS);
  expect(onEnd).not.toHaveBeenCalled();
});

test('startTimeLimit calls later if it was held up, so that an answer that came meanwhile is read first; startTimer does not', () => {
  const [onLimit, onEnd] = [vi.fn(), vi.fn()];
  startTimeLimit(1_000, onLimit);
  startTimer(1_000, onEnd);
  vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 1_500);
  vi.advanceTimersByTime(1_099);
  expect([onLimit.mock.calls.length, onEnd.mock.calls.length]).toEqual([0, 1]);
  vi.advanceTimersByTime(1);
  expect(onLimit).toHaveBeenCalledOnce();
});
