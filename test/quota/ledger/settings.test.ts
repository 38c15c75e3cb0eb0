import { expect, test } from 'vitest';
import { commonShare, shareOf, stricterPlan } from '../../../src/quota/ledger/settings.ts';

const FREE = { requestsPerMinute: 60, requestsPerDay: 1_000 };

test.each([
  [undefined, undefined, undefined],
  ['unlimited', undefined, 'unlimited'],
  ['unlimited', FREE, FREE],
  [FREE, undefined, FREE],
  [FREE, { requestsPerMinute: 300 }, FREE],
  [{ requestsPerMinute: 30, requestsPerDay: 2_000 }, FREE, { requestsPerMinute: 30, requestsPerDay: 1_000 }],
] as const)('the stricter of %j and %j is %j, whichever comes first', (one, other, stricter) => {
  expect([stricterPlan(one, other), stricterPlan(other, one)]).toEqual([stricter, stricter]);
});

test('a share of low calls alone leaves the whole quota to a client', () => {
  expect([commonShare({ share: 0.5 }), commonShare({ share: { low: 0.5 } })]).toEqual([0.5, 1]);
});

test.each([
  [300, 0.41, 123],
  [10_000, 0.57, 5_700],
  [60, 0.5, 30],
  [7, 0.5, 3],
  [3, 0.1, 1],
])('of %i requests, a share of %d is %i', (limit, share, requests) => {
  expect(shareOf(limit, share)).toBe(requests);
});
