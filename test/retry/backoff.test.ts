import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { backoffMs } from '../../src/retry/backoff.ts';
import { FUZZ } from '../support/fuzz.ts';

describe('backoffMs', () => {
  test('doubles from 500 ms to 30 s', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 8, 100].map((retry) => backoffMs(retry, 0))).toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
    ]);
  });

  test('adds up to a quarter and subtracts nothing', () => {
    expect([backoffMs(1, 0.5), backoffMs(1, 1), backoffMs(7, 1)]).toEqual([563, 625, 37_500]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (retry, random) => {
        const share = backoffMs(retry, random) / backoffMs(retry, 0);
        expect(share >= 1 && share <= 1.25).toBe(true);
      }),
      FUZZ,
    );
  });
});
