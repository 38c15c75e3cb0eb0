import { expect, test } from 'vitest';
import { Cooldown } from '../../../src/quota/ledger/cooldown.ts';

/** Seconds that a key stays closed after each of some refusals in a row, nothing added at random. */
function waitsAfter(refusals: number, retryAfterMs: number | undefined, isOfDay = false): number[] {
  const cooldown = new Cooldown(() => 0);
  let nowMs = 0;
  return Array.from({ length: refusals }, () => {
    cooldown.strike(nowMs);
    cooldown.close(retryAfterMs, nowMs, isOfDay);
    const waitMs = cooldown.untilMs - nowMs;
    nowMs = cooldown.untilMs;
    return waitMs / 1000;
  });
}

test('A key that is refused each time its Retry-After has passed is closed for longer and longer, for ten minutes at most in the first hour', () => {
  expect(waitsAfter(5, 1000)).toEqual([1, 1, 2, 4, 8]);
  expect(waitsAfter(15, 1000).slice(-2)).toEqual([600, 600]);
});

test('A key that is refused for hours is tried again after a sixth of that time, and after an hour at the latest', () => {
  const waits = waitsAfter(50, 1000);
  const refusedFor = (times: number) => waits.slice(0, times).reduce((sum, wait) => sum + wait, 0);
  for (const [index, wait] of waits.entries()) {
    expect(wait).toBeLessThanOrEqual(Math.min(3600, Math.max(600, refusedFor(index) / 6)) + 0.001);
  }
  expect(waits.filter((_, index) => refusedFor(index) < 24 * 3600)).toHaveLength(45);
  expect(waits.at(-1)).toBe(3600);
});

test('A key whose refusals do not say how long to wait is tried again at most eleven times in a day', () => {
  expect(waitsAfter(5, undefined)).toEqual([1, 4, 16, 64, 256]);
  const waits = waitsAfter(11, undefined);
  expect(waits.at(-1)).toBe(21_600);
  expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(24 * 3600);
});

test('A key whose day refuses again after a Retry-After of a second is tried again at most eleven times in a day, too', () => {
  expect(waitsAfter(5, 1_000, true)).toEqual([1, 4, 16, 64, 256]);
  expect(waitsAfter(11, 0, true).reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(24 * 3600);
  expect(waitsAfter(3, 7_200_000, true)).toEqual([7200, 7200, 7200]);
});

test('A key is never closed for less than the service asks', () => {
  expect(Math.min(...waitsAfter(20, 7_200_000))).toBe(7200);
});

test('A refusal of a request that was sent before the key closed does not count as another one', () => {
  const cooldown = new Cooldown(() => 0);
  cooldown.strike(0);
  cooldown.close(10_000, 100);
  cooldown.strike(50);
  expect(cooldown.isFirst).toBe(true);
  cooldown.strike(10_100);
  expect(cooldown.isFirst).toBe(false);
});

test('A good answer to a request that was sent after the key opened forgives the refusals before', () => {
  const cooldown = new Cooldown(() => 0);
  const refuse = (nowMs: number) => {
    cooldown.strike(nowMs);
    cooldown.close(1_000, nowMs);
  };
  refuse(0);
  refuse(1_000);
  cooldown.forgive(1_999);
  expect(cooldown.isFirst).toBe(false);
  cooldown.forgive(2_000);
  expect(cooldown.isFirst).toBe(true);
  refuse(2_000);
  expect(cooldown.isFirst).toBe(true);
  refuse(3_000);
  expect(cooldown.isFirst).toBe(false);
});

test('The random addition to a wait is at most a twentieth of it, and at most 250 ms', () => {
  const untilMs = (retryAfterMs: number) => {
    const cooldown = new Cooldown(() => 1);
    cooldown.close(retryAfterMs, 0);
    return cooldown.untilMs;
  };
  expect([untilMs(2_000), untilMs(60_000)]).toEqual([2_100, 60_250]);
});
