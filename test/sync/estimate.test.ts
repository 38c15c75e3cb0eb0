import { describe, expect, test } from 'vitest';
import { estimateMs, fitsToday } from '../../src/sync/estimate.ts';

const at = (seconds: number): Date => new Date(seconds * 1_000);
const day = { limit: 1_000, remaining: 1_000, resetAt: at(86_400) };

describe('estimateMs', () => {
  test.each([
    ['what is left of the minute needs no wait', 59, { minute: { limit: 60, remaining: 59, resetAt: at(20) }, day }, 0],
    ['exactly what is left needs no wait, even if the reset is near', 1, { minute: { limit: 60, remaining: 1, resetAt: at(90) }, day }, 0],
    ['a minute that turns in a millisecond is not full yet', 2, { minute: { limit: 60, remaining: 1, resetAt: new Date(1) }, day }, 1],
    ['one more waits for the reset', 60, { minute: { limit: 60, remaining: 59, resetAt: at(20) }, day }, 20_000],
    [
      '900 on free take the reset and 14 minutes',
      899,
      { minute: { limit: 60, remaining: 59, resetAt: at(20) }, day },
      20_000 + 13 * 60_000,
    ],
    ['a minute that has turned is full', 60, { minute: { limit: 60, remaining: 0, resetAt: at(-1) }, day }, 0],
    ['a minute that turns now is full', 61, { minute: { limit: 60, remaining: 10, resetAt: at(0) }, day }, 60_000],
    [
      'a closed gate waits at least until it opens',
      1,
      { minute: { limit: 60, remaining: 9, resetAt: at(20) }, day, closedUntil: at(33) },
      33_000,
    ],
    [
      'a gate that is closed beyond the reset of the day waits until it opens',
      12,
      {
        minute: { limit: 5, remaining: 5, resetAt: at(60) },
        day: { limit: 100, remaining: 2, resetAt: at(3_600) },
        closedUntil: at(7_200),
      },
      7_260_000,
    ],
    ['a gate that has opened needs no wait', 1, { minute: { limit: 60, remaining: 9, resetAt: at(20) }, day, closedUntil: at(-5) }, 0],
    [
      'a day that does not suffice waits for its reset',
      12,
      { minute: { limit: 5, remaining: 5, resetAt: at(60) }, day: { limit: 100, remaining: 2, resetAt: at(3_600) } },
      3_660_000,
    ],
    ['several days', 25, { minute: { limit: 60 }, day: { limit: 10, remaining: 0, resetAt: at(3_600) } }, 3_600_000 + 2 * 86_400_000],
    ['no limit at all needs no wait', 1_000_000, { minute: {}, day: {} }, 0],
    ['without a reset a whole window is taken', 61, { minute: { limit: 60 }, day: {} }, 60_000],
  ])('%s', (_name, requests, quota, expected) => {
    expect(estimateMs(requests, quota, 0)).toBe(expected);
  });

  test('counts with the share of a client if it has one', () => {
    const share = { minute: { limit: 6, remaining: 5, resetAt: at(20) }, day: { limit: 100, remaining: 100, resetAt: at(86_400) } };
    expect(estimateMs(12, { minute: { limit: 60, remaining: 59, resetAt: at(20) }, day, share }, 0)).toBe(80_000);
  });

  test('treats a client without a quota as one on the free plan', () => {
    expect(estimateMs(61, undefined, 0)).toBe(60_000);
  });
});

test('fitsToday compares with what is left, and does not guess', () => {
  expect(fitsToday(10, { minute: {}, day: { limit: 1_000, remaining: 10, resetAt: at(60) } })).toBe(true);
  expect(fitsToday(10, { minute: {}, day: { limit: 1_000, remaining: 10 } })).toBeUndefined();
  expect(fitsToday(11, { minute: {}, day: { limit: 1_000, remaining: 10 } })).toBe(false);
  expect(fitsToday(11, { minute: {}, day: {} })).toBeUndefined();
  expect(fitsToday(11, undefined)).toBeUndefined();
  const share = { minute: {}, day: { limit: 10, remaining: 9, resetAt: at(60) } };
  expect([9, 10].map((requests) => fitsToday(requests, { minute: {}, day, share }))).toEqual([true, false]);
});
