import { describe, expect, test } from 'vitest';
import { emptyRecord, exchangeLease, type QuotaRecord } from '../../../src/quota/lease/quota-record.ts';
import type { LeaseRequest, LeaseResponse, ObservedWindow } from '../../../src/quota-store.ts';
import { leaseRequestOf } from '../../support/lease-request.ts';

const NOON = 1_800_000_000_000;
const RESET = NOON + 30_000;

function observed(window: Partial<ObservedWindow>): ObservedWindow {
  return { limit: 100, remaining: 99, resetAtMs: RESET, endsInMs: 30_000, ageMs: 0, ...window };
}

/** A record whose window was observed by the probe of process `a`. */
function knownRecord(window: Partial<ObservedWindow> = {}, plan: LeaseRequest['plan'] = {}): QuotaRecord {
  const record = emptyRecord();
  exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON);
  exchangeLease(record, leaseRequestOf({ minute: observed(window), isProbeAnswered: true, plan }), NOON);
  return record;
}

function take(record: QuotaRecord, member: string, wanted: number, nowMs = NOON): LeaseResponse {
  return exchangeLease(record, leaseRequestOf({ member, wanted }), nowMs);
}

describe('exchangeLease', () => {
  test('lets one process ask where nothing is known, and the others look again soon', () => {
    const record = emptyRecord();
    expect(take(record, 'a', 10)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(take(record, 'b', 10)).toMatchObject({ granted: 0, waitMs: 25, reason: 'probe' });
  });

  test('lets the next one ask when the probe has no answer for a second', () => {
    const record = emptyRecord();
    take(record, 'a', 10);
    expect(take(record, 'b', 10, NOON + 1000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('counts probes without an answer towards the limit of the window before, where no plan is given', () => {
    const record = knownRecord({ limit: 3, remaining: 0 });
    const granted = [0, 1, 2, 3].map((seconds) => take(record, 'a', 1, RESET + seconds * 1000).granted);
    expect(granted).toEqual([1, 1, 1, 0]);
    expect(take(record, 'b', 1, RESET + 4000)).toMatchObject({ granted: 0, reason: 'quota' });
    expect(take(record, 'b', 1, RESET + 65_000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('grants at most a twentieth of the limit, until the window ends', () => {
    expect(take(knownRecord(), 'b', 50)).toMatchObject({ granted: 5, expiresInMs: 30_000, resetAtMs: RESET });
  });

  test('grants no more than what was told, and then says until when', () => {
    const record = knownRecord({ remaining: 3 });
    const granted = [take(record, 'a', 50), take(record, 'a', 50), take(record, 'a', 50)].map((answer) => answer.granted);
    expect(granted).toEqual([1, 1, 1]);
    expect(take(record, 'a', 50)).toMatchObject({ granted: 0, waitMs: 30_000, reason: 'quota' });
  });

  test('lets a process that comes later wait for the Reset that others observed, not for a rolling minute of the plan', () => {
    const plan = { requestsPerMinute: 5 };
    const record = knownRecord({ limit: 5, remaining: 4 }, plan);
    const takeAt = (nowMs: number, member: string) => exchangeLease(record, leaseRequestOf({ member, wanted: 1, plan }), nowMs);
    const granted = [1, 2, 3, 4, 5].map((ms) => takeAt(NOON + ms, 'a').granted);
    expect(granted).toEqual([1, 1, 1, 1, 0]);
    expect(takeAt(NOON + 6_000, 'later')).toMatchObject({ granted: 0, waitMs: 24_000, reason: 'quota' });
    expect(takeAt(RESET, 'later')).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('lets the plan count on where windows turn more than once a minute', () => {
    const plan = { requestsPerMinute: 2 };
    const record = knownRecord({ limit: 5, remaining: 4, endsInMs: 60_000 }, plan);
    const takeAt = (nowMs: number, more: Partial<LeaseRequest> = {}) =>
      exchangeLease(record, leaseRequestOf({ wanted: 1, plan, ...more }), nowMs);
    takeAt(NOON + 60_000);
    const next = observed({ limit: 5, resetAtMs: RESET + 20_000, endsInMs: 20_000 });
    expect(takeAt(NOON + 60_001, { minute: next, isProbeAnswered: true })).toMatchObject({ granted: 1 });
    expect(takeAt(NOON + 60_002)).toMatchObject({ granted: 0, reason: 'quota', waitMs: 4_998 });
  });

  test('does not begin a window again that has ended, for a process that takes it to last longer', () => {
    const record = knownRecord();
    expect(take(record, 'a', 1, RESET)).toMatchObject({ granted: 1, reason: 'probe' });
    const late = leaseRequestOf({ member: 'b', wanted: 3, minute: observed({ remaining: 40, endsInMs: 700 }) });
    expect(exchangeLease(record, late, RESET + 5)).toMatchObject({ granted: 0, reason: 'probe' });
    const answered = leaseRequestOf({ minute: observed({ resetAtMs: RESET + 60_000, endsInMs: 59_900 }), isProbeAnswered: true });
    exchangeLease(record, answered, RESET + 100);
    expect(record.minute).toMatchObject({ left: 99, resetAtMs: RESET + 60_000 });
  });

  test('knows a window again where the answer to the probe tells that it goes on', () => {
    const record = knownRecord();
    take(record, 'a', 1, RESET);
    exchangeLease(record, leaseRequestOf({ minute: observed({ remaining: 3, endsInMs: 400 }), isProbeAnswered: true }), RESET + 5);
    expect(record.minute).toMatchObject({ left: 3, resetAtMs: RESET, endsAtMs: RESET + 405 });
  });

  test('asks again where the window of a probe was over by its answer', () => {
    const record = emptyRecord();
    take(record, 'a', 1, RESET - 5);
    const answered = leaseRequestOf({ wanted: 4, minute: observed({ endsInMs: 0 }), isProbeAnswered: true });
    expect(exchangeLease(record, answered, RESET)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(take(record, 'b', 4, RESET + 1)).toMatchObject({ granted: 0, reason: 'probe' });
  });

  test('takes what others heard only where it is less', () => {
    const record = knownRecord({ remaining: 50 });
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ remaining: 80 }) }), NOON);
    expect(record.minute?.left).toBe(50);
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ remaining: 20 }) }), NOON);
    expect(record.minute?.left).toBe(20);
  });

  test('takes slots back into their own window only', () => {
    const record = knownRecord({ remaining: 50 });
    const { granted } = take(record, 'b', 5);
    exchangeLease(record, leaseRequestOf({ member: 'b', returned: granted, returnedResetAtMs: RESET - 60_000 }), NOON);
    expect(record.minute?.left).toBe(50 - granted);
    exchangeLease(record, leaseRequestOf({ member: 'b', returned: granted, returnedResetAtMs: RESET }), NOON);
    expect(record.minute?.left).toBe(50);
  });

  test('takes slots back out of the count of the plan, also where they were granted in an earlier part of the minute', () => {
    const plan = { requestsPerMinute: 3 };
    const record = emptyRecord();
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON - 120_000);
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON);
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan, minute: observed({ limit: 3, remaining: 2 }), isProbeAnswered: true }), NOON);
    exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 1, plan }), NOON);
    exchangeLease(record, leaseRequestOf({ member: 'b', returned: 1, returnedResetAtMs: RESET, plan }), NOON + 20_000);
    expect(exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON + 20_000)).toMatchObject({ granted: 1 });
  });

  test('divides a window anew that no probe began, whatever processes had in the one before', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    for (let slot = 0; slot < 6; slot++) take(record, 'a', 1);
    take(record, 'b', 1);
    const late = observed({ limit: 20, remaining: 10, resetAtMs: RESET + 60_000, endsInMs: 60_000 });
    exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 1, minute: late }), RESET);
    const granted = Array.from({ length: 10 }, () => take(record, 'a', 1, RESET).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(5);
  });

  test('counts a request that outlived its window where it was told less than the probe', () => {
    const record = knownRecord({ remaining: 50 });
    const lateAnswers = [
      { resetAtMs: RESET, remaining: 49 },
      { resetAtMs: RESET, remaining: 51 },
      { resetAtMs: RESET - 60_000, remaining: 0 },
    ];
    exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 1, unanswered: 2, lateAnswers }), NOON);
    expect(record.minute?.left).toBe(50 - 2 - 1 - 1);
  });

  test('keeps the even part of a process that is there', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    take(record, 'b', 1);
    const granted = Array.from({ length: 20 }, () => take(record, 'a', 1).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(10);
  });

  test('gives the part of a process that went silent to the others', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    take(record, 'b', 1);
    const granted = Array.from({ length: 30 }, () => take(record, 'a', 1, NOON + 1001).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(19);
  });

  test('holds everybody while the key is closed, and then lets one ask', () => {
    const record = knownRecord();
    exchangeLease(record, leaseRequestOf({ closedForMs: 7000 }), NOON);
    expect(take(record, 'b', 1, NOON + 1000)).toMatchObject({ granted: 0, waitMs: 6000, reason: 'closed' });
    expect(take(record, 'b', 1, NOON + 7000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('does not believe after a closing what was heard before it', () => {
    const record = knownRecord();
    exchangeLease(record, leaseRequestOf({ closedForMs: 1000 }), NOON);
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ ageMs: 1500 }) }), NOON + 1000);
    expect(take(record, 'b', 1, NOON + 1000)).toMatchObject({ reason: 'probe' });
  });

  test('never grants more than the day allows, over windows', () => {
    const plan = { requestsPerMinute: 100, requestsPerDay: 4 };
    const record = knownRecord({}, plan);
    const granted = Array.from({ length: 6 }, () => exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON).granted);
    expect(granted).toEqual([1, 1, 1, 0, 0, 0]);
    expect(take(record, 'b', 1, NOON + 23 * 3_600_000).granted).toBe(0);
    expect(take(record, 'b', 1, NOON + 26 * 3_600_000).granted).toBe(1);
  });

  test('forgets the day of an old plan when options or headers tell another one', () => {
    const plan = { requestsPerMinute: 100, requestsPerDay: 1 };
    const granted = (more: Partial<LeaseRequest>) => {
      const record = emptyRecord();
      exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON);
      exchangeLease(record, leaseRequestOf(more), NOON + 60_000);
      return exchangeLease(record, leaseRequestOf({ ...more, wanted: 1, minute: undefined }), NOON + 120_000).granted;
    };
    expect(granted({})).toBe(0);
    expect(granted({ plan: { requestsPerMinute: 100, requestsPerDay: 1e12 } })).toBe(1);
    expect(granted({ minute: observed({ limit: 5_000 }), isProbeAnswered: true })).toBe(1);
  });

  test('believes the answer to a probe when the clock of the service was set back', () => {
    const record = knownRecord({ resetAtMs: RESET + 3_600_000 });
    take(record, 'b', 1, NOON + 30_000);
    const minute = observed({ resetAtMs: RESET + 60_000, remaining: 7, endsInMs: 60_000 });
    exchangeLease(record, leaseRequestOf({ member: 'b', minute, isProbeAnswered: true }), NOON + 30_000);
    expect(record.minute).toMatchObject({ left: 7, resetAtMs: RESET + 60_000 });
  });

  test('keeps to the plan of a minute where the headers tell nothing', () => {
    const plan = { requestsPerMinute: 3 };
    const record = emptyRecord();
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON);
    exchangeLease(record, leaseRequestOf({ isProbeAnswered: true, plan }), NOON);
    const granted = Array.from({ length: 4 }, () => exchangeLease(record, leaseRequestOf({ wanted: 5, plan }), NOON).granted);
    expect(granted).toEqual([1, 1, 0, 0]);
  });

  test('keeps to the headers from the first that describe the minute, where the answer to the probe did not', () => {
    const record = emptyRecord();
    take(record, 'a', 1);
    exchangeLease(record, leaseRequestOf({ isProbeAnswered: true }), NOON);
    take(record, 'b', 4);
    const stale = observed({ limit: 20, remaining: 19, ageMs: 20, resetAtMs: NOON });
    exchangeLease(record, leaseRequestOf({ member: 'c', minute: stale }), NOON + 10);
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ limit: 20, remaining: 18 }) }), NOON + 20);
    expect(record.minute).toMatchObject({ limit: 20, left: 16, resetAtMs: RESET, endsAtMs: NOON + 30_020 });
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ limit: 20, remaining: 3 }) }), NOON + 30);
    expect(record.minute).toMatchObject({ left: 3 });
  });

  test('forgets what was written by a clock that was set back by more than a minute', () => {
    const record = knownRecord({ remaining: 0 }, { requestsPerMinute: 1, requestsPerDay: 1 });
    exchangeLease(record, leaseRequestOf({ closedForMs: 7_000_000 }), NOON + 60_000);
    expect(take(record, 'b', 1, NOON)).toMatchObject({ granted: 0, reason: 'closed' });
    exchangeLease(record, leaseRequestOf({ closedForMs: 7_000_000 }), NOON + 60_000);
    expect(take(record, 'b', 1, NOON - 1)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('leaves the window to the processes where it came back empty', () => {
    const record = emptyRecord();
    expect(exchangeLease(record, leaseRequestOf({ wanted: 5, minute: observed({}) }), NOON)).toMatchObject({
      granted: 0,
      reason: 'lost',
      waitMs: 30_000,
    });
    expect(take(record, 'b', 1, NOON + 30_000)).toMatchObject({ granted: 1, reason: 'probe' });
  });
});
