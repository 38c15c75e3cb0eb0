import { expect, test } from 'vitest';
import { duration } from '../../src/cli/duration.ts';

test.each([
  [0, '0 s'],
  [1_001, '2 s'],
  [119_000, '119 s'],
  [120_000, '2 min'],
  [7_140_000, '119 min'],
  [7_500_000, '2 h 5 min'],
  [7_200_000, '2 h'],
  [180_000_000, '2 d 2 h'],
])('duration says %i ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
