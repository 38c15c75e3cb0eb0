import fc from 'fast-check';
import { expect, test } from 'vitest';
import { duration } from '../src/duration.ts';
import { FUZZ } from './support/fuzz.ts';

test.each([
  [0, '0 s'],
  [0.2, '1 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [1_001, '1.1 s'],
  [9_500, '9.5 s'],
  [45_001, '46 s'],
  [119_000, '119 s'],
  [119_001, '2 min'],
  [120_000, '2 min'],
  [120_001, '2 min 1 s'],
  [149_000, '2 min 29 s'],
  [7_140_000, '119 min'],
  [7_140_001, '119 min 1 s'],
  [7_199_001, '2 h'],
  [7_200_001, '2 h 1 min'],
  [7_500_000, '2 h 5 min'],
  [7_200_000, '2 h'],
  [86_400_000, '24 h'],
  [172_740_001, '2 d'],
  [172_800_001, '2 d 1 h'],
  [180_000_000, '2 d 2 h'],
  [183_540_000, '2 d 3 h'],
])('duration says %i ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('duration never says less than the time, and at most a minute more up to two days', () => {
  const units = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };
  const read = (text: string) =>
    [...text.matchAll(/([\d.]+) (ms|s|min|h|d)\b/g)].reduce(
      (sum, [, count, unit]) => sum + Number(count) * (Object.entries(units).find(([name]) => name === unit)?.[1] ?? Number.NaN),
      0,
    );
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 172_800_000 }), (ms) => {
      const excess = Math.round(read(duration(ms)) - ms);
      expect(excess).toBeGreaterThanOrEqual(0);
      expect(excess).toBeLessThan(60_000);
    }),
    FUZZ,
  );
});
