import { expect, test } from 'vitest';
import { pauseMsAfter } from '../../src/view/pause.ts';

test('pauseMsAfter doubles from a second on', () => {
  expect([1, 2, 3, 8, 2_000].map(pauseMsAfter)).toEqual([1_000, 2_000, 4_000, 128_000, Number.POSITIVE_INFINITY]);
});
