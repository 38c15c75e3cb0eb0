import { describe, expect, test } from 'vitest';
import { Lease, LeasePacing, localLease } from '../../../src/quota/lease/lease.ts';
import type { LeaseResponse } from '../../../src/quota-store.ts';

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

describe('LeasePacing', () => {
  test("asks whether another process's probe was answered after 25, 50, 100, 200 and 400 ms, and starts again after another wait", () => {
    const pacing = new LeasePacing();
    const waits = () => Array.from({ length: 6 }, () => pacing.nextAtMs(REFUSED, undefined, 1_000) - 1_000);
    expect(waits()).toEqual([25, 50, 100, 200, 400, 400]);
    pacing.grant(1, 1_000);
    expect(waits()).toEqual([25, 50, 100, 200, 400, 400]);
    pacing.nextAtMs({ ...REFUSED, reason: 'quota', waitMs: 0 }, undefined, 1_000);
    const unsaid = Array.from({ length: 3 }, () => pacing.nextAtMs({ ...REFUSED, waitMs: 0 }, undefined, 1_000) - 1_000);
    expect(unsaid).toEqual([25, 50, 100]);
    pacing.nextAtMs({ ...REFUSED, reason: 'quota' }, undefined, 1_000);
    expect(waits()).toEqual([25, 50, 100, 200, 400, 400]);
  });

  test('waits as long as the store says, or until the known end of the window, or 65 seconds for quota; and 25 ms if the store says nothing', () => {
    const pacing = new LeasePacing();
    const refused = (changes: Partial<LeaseResponse>) =>
      ({ ...REFUSED, reason: 'quota', waitMs: 9_000, ...changes }) satisfies LeaseResponse;
    const minute = { limit: 60, remaining: 0, resetAtMs: 90_000, endsInMs: 2_000, ageMs: 0 };
    expect(pacing.nextAtMs(refused({}), undefined, 0)).toBe(9_000);
    expect(pacing.nextAtMs(refused({}), minute, 0)).toBe(2_000);
    expect(pacing.nextAtMs(refused({ waitMs: 3_600_000 }), undefined, 0)).toBe(65_000);
    expect(pacing.nextAtMs(refused({ reason: 'closed' }), minute, 0)).toBe(9_000);
    expect(pacing.nextAtMs(refused({ reason: 'closed', waitMs: 3_600_000 }), undefined, 0)).toBe(3_600_000);
    expect(pacing.nextAtMs(refused({ waitMs: 0 }), minute, 0)).toBe(25);
  });

  test('requests twice as much as before if the last lease was used up within a second', () => {
    const pacing = new LeasePacing();
    expect(pacing.sizeFor(3, 0)).toBe(3);
    pacing.grant(5, 1_000);
    expect([pacing.sizeFor(3, 2_000), pacing.sizeFor(30, 2_000), pacing.sizeFor(3, 2_001)]).toEqual([10, 30, 3]);
  });

  test("takes other processes' probes for lost after 155 requests for each process, but not if a probe of its own is granted then", () => {
    const pacing = new LeasePacing();
    const refused = { ...REFUSED, members: 2 };
    for (let poll = 1; poll < 2 * 155; poll++) pacing.nextAtMs(refused, undefined, 0);
    const before = pacing.isProbeLost(refused);
    pacing.nextAtMs(refused, undefined, 0);
    expect([before, pacing.isProbeLost(refused), pacing.isProbeLost({ ...refused, granted: 1 })]).toEqual([false, true, false]);
  });
});
