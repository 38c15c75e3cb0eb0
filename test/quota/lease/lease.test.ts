import { describe, expect, test } from 'vitest';
import { Lease, localLease, outlookOf, pauseMs } from '../../../src/quota/lease/lease.ts';
import type { LeaseResponse, ObservedWindow } from '../../../src/quota-store.ts';

const REFUSED: LeaseResponse = { granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs: 25, reason: 'probe', members: 2 };

describe('Lease', () => {
  test('has slots until its window ends, counted from the request for the lease', () => {
    const lease = new Lease({ granted: 2, resetAtMs: 90_000, expiresInMs: 30_000 }, 1_000);
    lease.use();
    expect([lease.free(30_999), lease.free(31_000), lease.expiresAtMs, lease.resetAtMs]).toEqual([1, 0, 31_000, 90_000]);
    lease.use();
    lease.use();
    expect(lease.free(1_000)).toBe(0);
    lease.giveBack();
    expect([lease.end(1_000), lease.free(1_000)]).toEqual([1, 0]);
  });

  test('without slots belongs to no window', () => {
    const none = Lease.none();
    expect([none.free(-1), none.expiresAtMs, none.resetAtMs]).toEqual([0, 0, 0]);
  });
});

test('Lease asks next for twice as much if it was used up within a second', () => {
  const [none, lease] = [Lease.none(), new Lease({ granted: 5, resetAtMs: 0, expiresInMs: 30_000 }, 1_000)];
  expect([none.nextSize(3, 0), lease.nextSize(3, 2_000), lease.nextSize(30, 2_000), lease.nextSize(3, 2_001)]).toEqual([3, 10, 30, 3]);
});

describe('localLease', () => {
  const minute = { limit: 60, remaining: 40, resetAtMs: 90_000, endsInMs: 20_000, ageMs: 0 };

  test.each([
    [{ plan: {}, minute, processes: 4 }, 10],
    [{ plan: { requestsPerMinute: 20 }, minute, processes: 4 }, 5],
    [{ plan: {}, minute, processes: undefined }, 4],
    [{ plan: { requestsPerMinute: 100 }, minute: { ...minute, remaining: 100 }, processes: undefined }, 10],
    [{ plan: {}, minute, processes: 100 }, 0],
    [{ plan: {}, minute: undefined, processes: 4 }, 15],
    [{ plan: { requestsPerMinute: 3 }, minute: undefined, processes: 4 }, 1],
    [{ plan: {}, minute, processes: 4, unanswered: 3 }, 7],
    [{ plan: {}, minute, processes: 4, unanswered: 30 }, 0],
    [{ plan: {}, minute: undefined, processes: 4, unanswered: 30 }, 1],
  ])('of %o is an even part of what is left, less what is in flight, or one request to find out if that is unknown', (start, slots) => {
    const lease = localLease({ unanswered: 0, ...start }, 1_000);
    expect(lease.free(1_000)).toBe(slots);
    expect([lease.expiresAtMs, lease.resetAtMs]).toEqual(start.minute ? [21_000, 90_000] : [61_000, 0]);
  });
});

test('pauseMs doubles from 25 to 400 ms while other processes probe, if the store names no longer pause', () => {
  const pauses = (waitMs: number) => [1, 2, 3, 4, 5, 6].map((polls) => pauseMs({ ...REFUSED, waitMs }, undefined, polls));
  expect(pauses(25)).toEqual([25, 50, 100, 200, 400, 400]);
  expect(pauses(0)).toEqual(pauses(25));
});

test('pauseMs is as long as the store says, or until the known end of the window, or 65 seconds for quota; and 25 ms if the store says nothing', () => {
  const minute = { limit: 60, remaining: 0, resetAtMs: 90_000, endsInMs: 2_000, ageMs: 0 };
  const pause = (changes: Partial<LeaseResponse>, known?: ObservedWindow) =>
    pauseMs({ ...REFUSED, reason: 'quota', waitMs: 9_000, ...changes }, known, 0);
  expect(pause({})).toBe(9_000);
  expect(pause({}, minute)).toBe(2_000);
  expect(pause({ waitMs: 3_600_000 })).toBe(65_000);
  expect(pause({ reason: 'closed' }, minute)).toBe(9_000);
  expect(pause({ reason: 'closed', waitMs: 3_600_000 })).toBe(3_600_000);
  expect(pause({ waitMs: 0 }, minute)).toBe(25);
});

test.each([
  ['probe', 25, { at: Number.POSITIVE_INFINITY, reason: 'quota' }],
  ['closed', 9_000, { at: 1_000, reason: 'rate-limit' }],
  ['quota', 65_000, { at: 1_000, reason: 'quota' }],
  ['quota', 65_001, { at: 66_001, reason: 'quota' }],
] as const)('outlookOf a refusal because of %s for %i ms is %o', (reason, waitMs, outlook) => {
  expect(outlookOf({ ...REFUSED, reason, waitMs }, 1_000)).toEqual(outlook);
});
