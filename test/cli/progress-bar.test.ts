import { expect, test } from 'vitest';
import { progressBar, progressText } from '../../src/cli/progress-bar.ts';
import type { SyncProgress } from '../../src/sync/index.ts';

const UPDATING: SyncProgress = {
  phase: 'updating',
  wanted: 9,
  duplicates: 0,
  listed: 9,
  changes: 8,
  updated: 0,
  unchanged: 1,
  missing: 0,
  failed: 0,
  requests: 1,
};

test.each([
  [{}, 0],
  [{ updated: 2 }, 6],
  [{ updated: 2, failed: 2 }, 12],
  [{ updated: 8 }, 24],
  [{ changes: 0 }, 0],
])('progressBar of %o has %i of 24 parts', (done, parts) => {
  expect(progressBar({ ...UPDATING, ...done })).toBe('█'.repeat(parts) + '░'.repeat(24 - parts));
});

test.each([
  [{ phase: 'listing', listed: 2_000 }, 'reading the list: 2,000 pets'],
  [{ updated: 2, requests: 3, etaMs: 7_000 }, '2/8, 3 requests, 7 s left'],
  [{ updated: 2, failed: 1, requests: 4 }, '3/8, 1 failed, 4 requests, 0 s left'],
] as const)('progressText of %o is %s', (progress, text) => {
  expect(progressText({ ...UPDATING, ...progress })).toBe(text);
});
