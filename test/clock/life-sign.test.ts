import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LifeSign } from '../../src/clock/life-sign.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('LifeSign is not gone as long as its timer runs', () => {
  const sign = new LifeSign();
  vi.advanceTimersByTime(60_000);
  expect(sign.isGone).toBe(false);
  sign.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test('LifeSign runs the first task soon, by its own timer, and none after it was stopped', () => {
  const done: string[] = [];
  const [sign, stopped] = [new LifeSign(), new LifeSign()];
  sign.send(() => done.push('first'));
  sign.send(() => done.push('second'));
  stopped.send(() => done.push('too late'));
  stopped.stop();
  expect(done).toEqual([]);
  vi.advanceTimersByTime(25);
  sign.stop();
  expect(done).toEqual(['first']);
});

test('LifeSign is gone five seconds after its timer stopped unexpectedly', () => {
  const sign = new LifeSign();
  vi.clearAllTimers();
  vi.advanceTimersByTime(5_000);
  expect(sign.isGone).toBe(false);
  vi.advanceTimersByTime(1);
  expect(sign.isGone).toBe(true);
});
