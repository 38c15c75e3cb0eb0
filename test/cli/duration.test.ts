import { expect, test } from 'vitest';
import { duration } from '../../src/cli/duration.ts';

test.each([
  [0, '0 s'],
  [19, '1 s'],
  [1_001, '2 s'],
  [7_500_000, '2 h 5 min'],
])('duration says %i ms in whole seconds, as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});
