import { expect, test } from 'vitest';
import { duration } from '../src/duration.ts';

test.each([
  [0, '0 s'],
  [0.2, '1 ms'],
  [999, '999 ms'],
  [1_000, '1 s'],
  [1_001, '1.1 s'],
  [9_500, '9.5 s'],
  [45_001, '46 s'],
  [119_000, '119 s'],
  [120_000, '2 min'],
  [7_140_000, '119 min'],
  [7_500_000, '2 h 5 min'],
  [7_200_000, '2 h'],
  [86_400_000, '24 h'],
  [180_000_000, '2 d 2 h'],
])('duration says %i ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
