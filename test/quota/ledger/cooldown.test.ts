import { expect, test } from 'vitest';
import { Cooldown } from '../../../src/quota/ledger/cooldown.ts';

/** Seconds that a key stays closed after each of some refusals in a row, nothing added at random. */
function waitsAfter(refusals: number, retryAfterMs: number | undefined): number[] {
  const cooldown = new Cooldown(() => 0);
  let nowMs = 0;
  return Array.from({ length: refusals }, () => {
    cooldown.strike(nowMs);
    cooldown.close(retryAfterMs, undefined, nowMs);
    const waitMs = cooldown.untilMs - nowMs;
    nowMs = cooldown.untilMs;
    return waitMs / 1000;
  });
}

test('A key that is refused each time its Retry-After has passed is closed for longer and longer, for an hour at most', () => {
  expect(waitsAfter(5, 1000)).toEqual([1, 1, 2, 4, 8]);
  expect(waitsAfter(15, 1000).slice(-2)).toEqual([3600, 3600]);
});

test('One whose refusals do not say how long is asked again at most eleven times in a day', () => {
  expect(waitsAfter(5, undefined)).toEqual([1, 4, 16, 64, 256]);
  const waits = waitsAfter(11, undefined);
  expect(waits.at(-1)).toBe(21_600);
  expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeGreaterThan(24 * 3600);
});

test('A key is never closed for less than the service asks', () => {
  expect(Math.min(...waitsAfter(20, 7_200_000))).toBe(7200);
});
