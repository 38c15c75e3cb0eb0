import { SyncItemError } from 'petstore-inventory';
import { expect, test } from 'vitest';
import { writePlan } from '../../src/cli/plan-text.ts';
import type { Quota } from '../../src/quota/ledger/quota.ts';
import type { ReviewedChange, SyncReport } from '../../src/sync/index.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const QUOTA: Quota = { minute: { limit: 60, remaining: 60 }, day: { limit: 100, remaining: 100, resetAt: new Date('2100-01-01') } };

/** The lines of a plan of these changes. */
async function planOf(changes: ReviewedChange[], { quota = QUOTA, ...rest }: Partial<SyncReport> & { quota?: Quota } = {}) {
  const terminal = new FakeTerminal();
  const pending = changes.map(({ petId, to }) => ({ petId, quantity: to }));
  const report: SyncReport = { updated: 0, unchanged: 0, missing: [], failed: [], pending, ...rest };
  await writePlan(changes, { report, quota, name: 'a file', options: {}, terminal });
  return terminal.out.split('\n').slice(2, -1);
}

test('writePlan shows adjustments with their sign', async () => {
  const changes = [
    { petId: 1, from: 5, to: 9, adjust: 4 },
    { petId: 2, from: 5, to: 3, adjust: -2 },
  ];
  expect(await planOf(changes)).toEqual([
    '- 1  5',
    '+ 1  9  (+4)',
    '- 2  5',
    '+ 2  3  (-2)',
    "2 changes, 0 unchanged, 0 missing: 3 requests, no waiting for quota; today's quota suffices",
  ]);
});

test('writePlan names what failed, and counts it', async () => {
  const failed = [{ petId: 7, quantity: 1, error: new SyncItemError('Cannot update pet 7: the service lists it twice') }];
  expect(await planOf([], { failed, missing: [9] })).toEqual([
    "? 9  missing in the service's list",
    '! 7  Cannot update pet 7: the service lists it twice',
    "0 changes, 0 unchanged, 1 missing, 1 failed: 1 request, no waiting for quota; today's quota suffices",
  ]);
});

test('writePlan writes as JSON why a pet failed', async () => {
  const terminal = new FakeTerminal();
  const error = new SyncItemError('Cannot update pet 7: the service lists it twice', { reason: 'ambiguous' });
  const report: SyncReport = { updated: 0, unchanged: 0, missing: [], failed: [{ petId: 7n, quantity: 1, error }], pending: [] };
  await writePlan([], { report, quota: QUOTA, name: 'a file', options: { json: true }, terminal });
  const { name, kind, message, code, reason } = error;
  expect(JSON.parse(terminal.out).failed).toEqual([{ petId: 7, quantity: 1, error: { name, kind, message, code, reason } }]);
});

test('writePlan says that a day does not suffice, and how long the job takes', async () => {
  const quota = { minute: { limit: 60, remaining: 1 }, day: { limit: 1_000, remaining: 1 } };
  const lines = await planOf([{ petId: 1, from: 5, to: 9 }], { quota });
  expect(lines.at(-1)).toMatch(/^1 change, .*: 2 requests, about .+; today's quota does not suffice$/);
});

test('writePlan writes each change once, however many there are', async () => {
  const changes = Array.from({ length: 2_500 }, (_, petId) => ({ petId, from: 0, to: 1 }));
  expect(await planOf(changes)).toHaveLength(5_001);
});
