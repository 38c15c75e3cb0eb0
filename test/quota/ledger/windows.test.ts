import { describe, expect, test } from 'vitest';
import { PLANS } from '../../../src/contract/plans.ts';
import { commonShare, type QuotaSettings, stricterPlan, Windows } from '../../../src/quota/ledger/windows.ts';

const HOUR_MS = 3_600_000;
const ANSWER = { status: 200, receivedAtMs: 0 };
const RESET = { resetInMs: 60_000 };

function windowsOf(plan: QuotaSettings['plan']): Windows {
  return new Windows({ plan, concurrency: 64, share: 1 });
}

/** The windows of a key whose plan is learned from a Limit of the minute. */
function learnedFrom(limit: number, reset: typeof RESET | undefined): Windows {
  const windows = windowsOf(undefined);
  windows.observeLimit(windows.minute, { ...ANSWER, limit, ...reset });
  return windows;
}

describe('Windows', () => {
  test.each([
    ['without headers that describe one', {}, 1_000, undefined],
    ['whose Reset is within two minutes', { resetInMs: 120_000 }, 120_000, 'minute'],
    ['whose Reset is later', { resetInMs: 120_001 }, 120_001, 'day'],
    ['whose Reset is in 25 hours', { resetInMs: 25 * HOUR_MS }, 25 * HOUR_MS, 'day'],
    ['whose Reset is later than any', { resetInMs: 25 * HOUR_MS + 1 }, 25 * HOUR_MS + 1, undefined],
    ['that only says what is left', { remaining: 3 }, undefined, 'minute'],
    ["that reports the day's limit of the plan", { limit: 10_000 }, undefined, 'day'],
  ] as const)('take an answer %s for the right one', (_which, headers, aheadMs, described) => {
    const windows = windowsOf({ requestsPerMinute: 60, requestsPerDay: 10_000 });
    expect(windows.describedBy({ ...ANSWER, ...headers }, aheadMs)).toBe(described && windows[described]);
  });

  test("take a Limit of the minute for the minute's, even if the share of the day is as large", () => {
    const windows = new Windows({ plan: PLANS.free, concurrency: 64, share: 0.06 });
    expect([windows.day.limit, PLANS.free.requestsPerMinute]).toEqual([60, 60]);
    expect(windows.describedBy({ ...ANSWER, limit: 60 }, 30_000)).toBe(windows.minute);
    expect(windows.describedBy({ ...ANSWER, limit: 1_000 }, 30_000)).toBe(windows.day);
  });

  test("take a Remaining without a Limit for the minute's, also once the minute's Limit is known", () => {
    const windows = windowsOf({ requestsPerMinute: 1_000 });
    windows.observeLimit(windows.minute, { ...ANSWER, limit: 1_000, ...RESET });
    expect(windows.describedBy({ ...ANSWER, remaining: 3 })).toBe(windows.minute);
  });

  test('learn the plan from a Limit, but from one above 10,000 only if it comes with a Reset', () => {
    expect(learnedFrom(PLANS.pro.requestsPerMinute, undefined).day.limit).toBe(PLANS.pro.requestsPerDay);
    expect(learnedFrom(10_001, undefined).minute.limit).toBe(PLANS.free.requestsPerMinute);
    expect(learnedFrom(10_001, RESET).minute.limit).toBe(10_001);
  });

  test.each([
    [undefined, true],
    ['unlimited', false],
    [{ requestsPerMinute: 60 }, false],
    [{ requestsPerMinute: 60, requestsPerDay: 60 * 1_440 }, false],
    [{ requestsPerMinute: 60, requestsPerDay: 60 * 1_440 - 1 }, true],
  ] as const)('with the plan %o know before any header whether the day may end unseen: %s', (plan, may) => {
    expect(windowsOf(plan).mayDayEndUnseen).toBe(may);
  });

  test('take a day for one that may end unseen if the Limit of the minute is not that of a known plan', () => {
    expect(learnedFrom(77, RESET).mayDayEndUnseen).toBe(true);
  });
});

test.each([
  [undefined, undefined, undefined],
  ['unlimited', undefined, 'unlimited'],
  ['unlimited', PLANS.free, PLANS.free],
  [PLANS.free, undefined, PLANS.free],
  [PLANS.free, { requestsPerMinute: 300 }, PLANS.free],
  [{ requestsPerMinute: 30, requestsPerDay: 2_000 }, PLANS.free, { requestsPerMinute: 30, requestsPerDay: 1_000 }],
] as const)('the stricter of %j and %j is %j, whichever comes first', (one, other, stricter) => {
  expect([stricterPlan(one, other), stricterPlan(other, one)]).toEqual([stricter, stricter]);
});

test('a share of low calls alone leaves the whole quota to a client', () => {
  expect([commonShare({ share: 0.5 }), commonShare({ share: { low: 0.5 } })]).toEqual([0.5, 1]);
});
