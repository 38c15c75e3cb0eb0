import { expect, test } from 'vitest';
import { spokenWindow } from '../../src/quota/spoken-window.ts';

const FREE = { minute: 60, day: 1_000, isPlanGiven: true };

test.each([
  ['a Reset within two minutes', 60, 119_000, FREE, 'minute'],
  ['a Reset further away', 60, 121_000, FREE, 'day'],
  ["the plan's limit of the day, its Reset near", 1_000, 30_000, FREE, 'day'],
  ['a limit that both windows have', 60, 30_000, { ...FREE, day: 60 }, 'minute'],
  ['any limit with a Reset within a minute where no plan is given', 1_000, 62_000, { ...FREE, isPlanGiven: false }, 'minute'],
  ["the day's limit with a Reset a little later, no plan given", 1_000, 63_000, { ...FREE, isPlanGiven: false }, 'day'],
  ['a Reset beyond any day', 60, 25 * 3_600_000 + 1, FREE, undefined],
])('spokenWindow takes %s for the right window', (_what, limit, aheadMs, known, window) => {
  expect(spokenWindow(limit, aheadMs, known)).toBe(window);
});
