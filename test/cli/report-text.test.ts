import { RateLimitError, SyncItemError } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { explainEnd, reportJson, reportText } from '../../src/cli/report-text.ts';
import type { SyncReport } from '../../src/sync/index.ts';

const REPORT: SyncReport = { updated: 1, unchanged: 0, missing: [], failed: [], pending: [{ petId: 2, quantity: 3 }] };
const RETRY_AT = new Date('2026-11-22T00:00:00Z');

test('reportText names twenty failed pets, each on one line, and counts the rest', () => {
  const failed = Array.from({ length: 25 }, (_, petId) => ({ petId, quantity: 1, error: new SyncItemError('no\n  reason') }));
  const lines = reportText({ ...REPORT, failed })
    .trimEnd()
    .split('\n');
  expect(lines).toHaveLength(22);
  expect(lines[1]).toBe('failed: pet 0 (quantity 1): no reason');
  expect(lines.at(-1)).toBe('failed: and 5 more (--json names all)');
});

test.each([
  [
    'quota',
    RETRY_AT,
    true,
    "today's quota is used up: 1 pet updated, 1 pet left; run the same command again after 2026-11-22T00:00:00.000Z to continue",
  ],
  ['quota', undefined, true, "today's quota is used up: 1 pet updated, 1 pet left; run the same command again to continue"],
  ['quota', undefined, false, 'quota is not available: 1 pet updated, 1 pet left; run the same command again to continue'],
  ['abort', RETRY_AT, false, 'interrupted: 1 pet updated, 1 pet left; run the same command again to continue'],
] as const)('explainEnd of a stop by %s, with quota again at %s, says when to continue', (stopped, retryAt, isDayUsedUp, line) => {
  expect(explainEnd({ ...REPORT, stopped }, { journal: 'j', retryAt, isDayUsedUp })).toBe(line);
});

test('reportJson says when to run the command again', () => {
  const error = new RateLimitError('Cannot list the inventory', { retryAt: RETRY_AT });
  expect(JSON.parse(reportJson({ ...REPORT, stopped: 'quota', error }))).toMatchObject({
    stopped: 'quota',
    error: { kind: 'rate-limit', message: 'Cannot list the inventory', retryAt: '2026-11-22T00:00:00.000Z' },
  });
});

test('explainEnd says nothing about a run that ended normally', () => {
  expect(explainEnd(REPORT, { journal: 'j', retryAt: RETRY_AT, isDayUsedUp: true })).toBeUndefined();
});
