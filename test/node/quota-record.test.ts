import { describe, expect, test } from 'vitest';
import { emptyRecord, exchangeLease, type QuotaRecord } from '../../src/node/quota-record.ts';
import type { LeaseRequest, LeaseResponse, ObservedWindow } from '../../src/quota-store.ts';
import { leaseRequestOf } from '../support/lease-request.ts';

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
  test('lets one process send a probe if nothing is known, and the others look again soon', () => {
    const record = emptyRecord();
    expect(take(record, 'a', 10)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(take(record, 'b', 10)).toMatchObject({ granted: 0, waitMs: 25, reason: 'probe' });
  });

  test('lets another process send a probe if the first has no answer for a second', () => {
    const record = emptyRecord();
    take(record, 'a', 10);
    expect(take(record, 'b', 10, NOON + 1000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('counts probes without an answer towards the limit of the window before, if no plan is given', () => {
    const record = knownRecord({ limit: 3, remaining: 0 });
    const granted = [0, 1, 2, 3].map((seconds) => take(record, 'a', 1, RESET + seconds * 1000).granted);
    expect(granted).toEqual([1, 1, 1, 0]);
    expect(take(record, 'b', 1, RESET + 4000)).toMatchObject({ granted: 0, reason: 'quota' });
    expect(take(record, 'b', 1, RESET + 65_000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('grants at most a twentieth of the limit, until the window ends', () => {
    expect(take(knownRecord(), 'b', 50)).toMatchObject({ granted: 5, expiresInMs: 30_000, resetAtMs: RESET });
  });

  test('takes returned slots from the counts of those that were granted last', () => {
    const record = knownRecord();
    const granted = [take(record, 'a', 50), take(record, 'a', 1, NOON + 20_000)].map((answer) => answer.granted);
    exchangeLease(record, leaseRequestOf({ member: 'a', returned: 3, returnedResetAtMs: RESET }), NOON + 20_000);
    expect(granted).toEqual([5, 1]);
    // The probe is one of the first slot's.
    expect([Object.values(record.minuteSlots), record.sinceTurn]).toEqual([[4, 0], 4]);
  });

  test('rewrites no counts if nothing is returned', () => {
    const record = knownRecord();
    for (const counts of [record.minuteSlots, record.daySlots]) Object.freeze(counts);
    expect(take(record, 'a', 0)).toMatchObject({ granted: 0, waitMs: 0 });
  });

  test('grants one slot at a time if a twentieth of the limit is less than one', () => {
    expect(take(knownRecord({ limit: 10, remaining: 9 }), 'b', 5)).toMatchObject({ granted: 1 });
  });

  test('grants no more than the reported Remaining, and then says how long to wait', () => {
    const record = knownRecord({ remaining: 3 });
    const granted = [take(record, 'a', 50), take(record, 'a', 50), take(record, 'a', 50)].map((answer) => answer.granted);
    expect(granted).toEqual([1, 1, 1]);
    expect(take(record, 'a', 50)).toMatchObject({ granted: 0, waitMs: 30_000, reason: 'quota' });
  });

  test('limits by the plan of a process only this one, also if it found out what is left', () => {
    const plan = { requestsPerMinute: 6 };
    const record = knownRecord({}, plan);
    expect(exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 50, plan: { requestsPerMinute: 100 } }), NOON)).toMatchObject({
      granted: 5,
    });
    expect(exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 50 }), NOON)).toMatchObject({ granted: 5 });
    expect(exchangeLease(record, leaseRequestOf({ member: 'a', wanted: 50, plan }), NOON)).toMatchObject({ granted: 0, reason: 'quota' });
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

  test("does not reset the plan's count at the end of a minute that no headers described", () => {
    const record = emptyRecord();
    const exchange = (more: Partial<LeaseRequest>, nowMs: number) =>
      exchangeLease(record, leaseRequestOf({ wanted: 1, plan: { requestsPerMinute: 3 }, ...more }), nowMs).granted;
    expect([exchange({}, NOON), exchange({ isProbeAnswered: true }, NOON)]).toEqual([1, 1]);
    expect([59_000, 60_000, 65_000].map((ms) => exchange({}, NOON + ms))).toEqual([1, 0, 1]);
  });

  test("resets the plan's count also if a window begins with an answer that was on its way at the turn", () => {
    const plan = { requestsPerMinute: 4 };
    const record = knownRecord({}, plan);
    const exchange = (more: Partial<LeaseRequest>, nowMs: number) =>
      exchangeLease(record, leaseRequestOf({ wanted: 1, plan, ...more }), nowMs).granted;
    expect([1, 2, 3, 4].map((seconds) => exchange({}, NOON + seconds * 1000))).toEqual([1, 1, 1, 0]);
    const minute = observed({ resetAtMs: RESET + 60_000, endsInMs: 60_000 });
    expect(exchange({ minute }, RESET)).toBe(1);
  });

  describe('on a weighted counter', () => {
    /** A record whose next window was observed by a probe at its beginning, with 90 requests granted in the one before. */
    function turnedRecord(window: Partial<ObservedWindow>): QuotaRecord {
      const record = knownRecord();
      record.sinceTurn = 90;
      take(record, 'a', 1, RESET);
      const minute = observed({ resetAtMs: RESET + 60_000, endsInMs: 60_000, ...window });
      exchangeLease(record, leaseRequestOf({ minute, isProbeAnswered: true }), RESET);
      return record;
    }

    /** What is left at instants of that window, in milliseconds since its beginning. */
    function leftAt(record: QuotaRecord, instantsMs: readonly number[]): unknown[] {
      return instantsMs.map((ms) => {
        exchangeLease(record, leaseRequestOf({ member: 'b' }), RESET + ms);
        return record.minute?.left;
      });
    }

    test('gives back what was granted in the window before at an even pace', () => {
      expect(leftAt(turnedRecord({ remaining: 9, isWeighted: true }), [0, 10_000, 10_100, 30_000, 59_999])).toEqual([9, 24, 24, 54, 98]);
      expect(leftAt(turnedRecord({ remaining: 9 }), [0, 30_000])).toEqual([9, 9]);
    });

    test('gives back nothing that others had sent, nor what was granted since the turn', () => {
      expect(leftAt(turnedRecord({ limit: 300, remaining: 9, isWeighted: true }), [30_000])).toEqual([9 + 45]);
      expect(leftAt(turnedRecord({ remaining: 99, isWeighted: true }), [30_000])).toEqual([99]);
    });

    test('keeps what came back if a process reports a Remaining from before', () => {
      const record = turnedRecord({ remaining: 9, isWeighted: true });
      const minute = observed({ remaining: 9, resetAtMs: RESET + 60_000, endsInMs: 50_000, ageMs: 10_000 });
      exchangeLease(record, leaseRequestOf({ member: 'b', minute }), RESET + 10_000);
      expect(leftAt(record, [10_000])).toEqual([24]);
    });

    test('lets the processes wait until a slot for each of them has come back', () => {
      const record = turnedRecord({ remaining: 0, isWeighted: true });
      const waits = ['a', 'b', 'c'].map((member) => take(record, member, 1, RESET).waitMs);
      expect(waits).toEqual([660, 1305, 1936]);
    });

    test('goes on in the next window, whoever begins it, and not after a closure', () => {
      const record = turnedRecord({ remaining: 90, isWeighted: true });
      record.sinceTurn = 90;
      const next = observed({ remaining: 9, resetAtMs: RESET + 120_000, endsInMs: 60_000 });
      exchangeLease(record, leaseRequestOf({ member: 'b', minute: next }), RESET + 60_000);
      expect(leftAt(record, [90_000])).toEqual([9 + 45]);
      exchangeLease(record, leaseRequestOf({ member: 'b', closedForMs: 1_000 }), RESET + 90_000);
      take(record, 'a', 1, RESET + 91_000);
      const after = { ...next, remaining: 50, endsInMs: 29_000 };
      exchangeLease(record, leaseRequestOf({ minute: after, isProbeAnswered: true }), RESET + 91_000);
      expect(leftAt(record, [100_000])).toEqual([50]);
    });
  });

  test("does not reset the plan's count if windows turn more than once a minute", () => {
    const plan = { requestsPerMinute: 2 };
    const record = knownRecord({ limit: 5, remaining: 4, endsInMs: 60_000 }, plan);
    const takeAt = (nowMs: number, more: Partial<LeaseRequest> = {}) =>
      exchangeLease(record, leaseRequestOf({ wanted: 1, plan, ...more }), nowMs);
    takeAt(NOON + 60_000);
    const next = observed({ limit: 5, resetAtMs: RESET + 20_000, endsInMs: 20_000 });
    expect(takeAt(NOON + 60_001, { minute: next, isProbeAnswered: true })).toMatchObject({ granted: 1 });
    expect(takeAt(NOON + 60_002)).toMatchObject({ granted: 0, reason: 'quota', waitMs: 4_998 });
  });

  test('does not begin an ended window again for a process that expects it to last longer', () => {
    const record = knownRecord();
    expect(take(record, 'a', 1, RESET)).toMatchObject({ granted: 1, reason: 'probe' });
    const late = leaseRequestOf({ member: 'b', wanted: 3, minute: observed({ remaining: 40, endsInMs: 700 }) });
    expect(exchangeLease(record, late, RESET + 5)).toMatchObject({ granted: 0, reason: 'probe' });
    const answered = leaseRequestOf({ minute: observed({ resetAtMs: RESET + 60_000, endsInMs: 59_900 }), isProbeAnswered: true });
    exchangeLease(record, answered, RESET + 100);
    expect(record.minute).toMatchObject({ left: 99, resetAtMs: RESET + 60_000 });
  });

  test('recognizes a window again if the answer to the probe shows that it continues', () => {
    const record = knownRecord();
    take(record, 'a', 1, RESET);
    exchangeLease(record, leaseRequestOf({ minute: observed({ remaining: 3, endsInMs: 400 }), isProbeAnswered: true }), RESET + 5);
    expect(record.minute).toMatchObject({ left: 3, resetAtMs: RESET, endsAtMs: RESET + 405 });
  });

  test("lets another probe go if the window was over when the probe's answer came", () => {
    const record = emptyRecord();
    take(record, 'a', 1, RESET - 5);
    const answered = leaseRequestOf({ wanted: 4, minute: observed({ endsInMs: 0 }), isProbeAnswered: true });
    expect(exchangeLease(record, answered, RESET)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(take(record, 'b', 4, RESET + 1)).toMatchObject({ granted: 0, reason: 'probe' });
  });

  test('uses a Remaining that another process observed only if it is smaller', () => {
    const record = knownRecord({ remaining: 50 });
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ remaining: 80 }) }), NOON);
    expect(record.minute?.left).toBe(50);
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ remaining: 20 }) }), NOON);
    expect(record.minute?.left).toBe(20);
  });

  test('takes back slots only into their own window', () => {
    const record = knownRecord({ remaining: 50 });
    const { granted } = take(record, 'b', 5);
    exchangeLease(record, leaseRequestOf({ member: 'b', returned: granted, returnedResetAtMs: RESET - 60_000 }), NOON);
    expect(record.minute?.left).toBe(50 - granted);
    exchangeLease(record, leaseRequestOf({ member: 'b', returned: granted, returnedResetAtMs: RESET }), NOON);
    expect(record.minute?.left).toBe(50);
  });

  test('takes requests that do not count for the day from the day alone', () => {
    const plan = { requestsPerMinute: 100, requestsPerDay: 4 };
    const record = knownRecord({ remaining: 50 }, plan);
    const { granted } = exchangeLease(record, leaseRequestOf({ wanted: 3, plan }), NOON);
    const minute = () => structuredClone([record.minute, record.sinceTurn, record.minuteSlots]);
    const before = minute();
    exchangeLease(record, leaseRequestOf({ uncounted: granted, plan }), NOON);
    expect(minute()).toEqual(before);
    const again = Array.from({ length: 5 }, () => exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON).granted);
    expect(again).toEqual([1, 1, 1, 0, 0]);
  });

  test("takes returned slots out of the plan's count, even if they were granted in an earlier part of the minute", () => {
    const plan = { requestsPerMinute: 3 };
    const record = emptyRecord();
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON - 120_000);
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON);
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan, minute: observed({ limit: 3, remaining: 2 }), isProbeAnswered: true }), NOON);
    exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 1, plan }), NOON);
    exchangeLease(record, leaseRequestOf({ member: 'b', returned: 1, returnedResetAtMs: RESET, plan }), NOON + 20_000);
    expect(exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON + 20_000)).toMatchObject({ granted: 1 });
  });

  test('divides a window that no probe began evenly, whatever processes got in the one before', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    for (let slot = 0; slot < 6; slot++) take(record, 'a', 1);
    take(record, 'b', 1);
    const late = observed({ limit: 20, remaining: 10, resetAtMs: RESET + 60_000, endsInMs: 60_000 });
    exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 1, minute: late }), RESET);
    const granted = Array.from({ length: 10 }, () => take(record, 'a', 1, RESET).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(5);
  });

  test('counts a late answer towards the new window if its Remaining is smaller than that of the probe', () => {
    const record = knownRecord({ remaining: 50 });
    const lateAnswers = [
      { resetAtMs: RESET, remaining: 49 },
      { resetAtMs: RESET, remaining: 50 },
      { resetAtMs: RESET, remaining: 51 },
      { resetAtMs: RESET - 60_000, remaining: 0 },
    ];
    exchangeLease(record, leaseRequestOf({ member: 'b', wanted: 1, unanswered: 2, lateAnswers }), NOON);
    expect(record.minute?.left).toBe(50 - 2 - 1 - 1);
  });

  test('keeps the even part of an active process', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    take(record, 'b', 1);
    const granted = Array.from({ length: 20 }, () => take(record, 'a', 1).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(10);
  });

  test('lets a process that has its part look again soon', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    take(record, 'b', 1);
    for (let slot = 1; slot <= 10; slot++) take(record, 'a', 1);
    expect(take(record, 'a', 1)).toMatchObject({ granted: 0, waitMs: 150, reason: 'quota' });
  });

  test('grants nothing until the end of a day whose Remaining is 0', () => {
    const record = knownRecord();
    const day = observed({ limit: 1_000, remaining: 0, resetAtMs: NOON + 3_600_000, endsInMs: 3_600_000 });
    const asked = exchangeLease(record, leaseRequestOf({ wanted: 1, day }), NOON);
    expect(asked).toMatchObject({ granted: 0, waitMs: 3_600_000, reason: 'quota' });
    expect(take(record, 'a', 1, NOON + 3_599_999).granted).toBe(0);
    expect(take(record, 'a', 1, NOON + 3_600_000).granted).toBe(1);
  });

  test('keeps to the day that was reported, though a late answer reports the one before', () => {
    const record = knownRecord();
    const day = observed({ limit: 1_000, remaining: 900, resetAtMs: NOON + 86_400_000, endsInMs: 86_400_000 });
    const dayBefore = observed({ limit: 1_000, remaining: 0, resetAtMs: NOON, endsInMs: 2_000 });
    exchangeLease(record, leaseRequestOf({ day }), NOON);
    expect(exchangeLease(record, leaseRequestOf({ wanted: 1, day: dayBefore }), NOON)).toMatchObject({ granted: 1 });
  });

  test('counts what it grants towards the day that was reported', () => {
    const record = knownRecord();
    const day = observed({ limit: 1_000, remaining: 3, resetAtMs: NOON + 3_600_000, endsInMs: 3_600_000 });
    const first = exchangeLease(record, leaseRequestOf({ wanted: 1, day }), NOON);
    const later = [take(record, 'a', 1), take(record, 'a', 1), take(record, 'a', 1)];
    expect([first, ...later].map(({ granted }) => granted)).toEqual([1, 1, 1, 0]);
  });

  test('limits a day that was reported by the plan of a process only for this one', () => {
    const small = { requestsPerMinute: 100, requestsPerDay: 2 };
    const record = knownRecord({}, small);
    const day = observed({ limit: 1_000, remaining: 900, resetAtMs: NOON + 3_600_000, endsInMs: 3_600_000 });
    const requestAs = (member: string, plan: LeaseRequest['plan']) =>
      exchangeLease(record, leaseRequestOf({ member, wanted: 1, plan, day }), NOON).granted;
    expect([requestAs('a', small), requestAs('a', small)]).toEqual([1, 0]);
    expect(requestAs('b', { requestsPerMinute: 100, requestsPerDay: 1_000 })).toBe(1);
  });

  test('judges a process that does not know the plan by the day before it was cut to the share of another one', () => {
    const small = { requestsPerMinute: 100, requestsPerDay: 2 };
    const record = knownRecord({}, small);
    const requestAs = (member: string, more: Partial<LeaseRequest>) =>
      exchangeLease(record, leaseRequestOf({ member, wanted: 1, ...more }), NOON).granted;
    expect([requestAs('a', { plan: small, limitPerDay: 4 }), requestAs('a', { plan: small, limitPerDay: 4 })]).toEqual([1, 0]);
    expect([requestAs('b', {}), requestAs('b', {}), requestAs('b', {})]).toEqual([1, 1, 0]);
  });

  test('gives the part of a process that has gone silent to the others', () => {
    const record = knownRecord({ limit: 20, remaining: 20 });
    take(record, 'b', 1);
    const granted = Array.from({ length: 30 }, () => take(record, 'a', 1, NOON + 1001).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(19);
  });

  describe('in the window after the one in which two processes requested', () => {
    const next = observed({ limit: 20, remaining: 19, resetAtMs: RESET + 60_000, endsInMs: 60_000 });

    /** A record whose next window was observed by the probe of process `a`. */
    function turnedRecord(): QuotaRecord {
      const record = knownRecord({ limit: 20, remaining: 2 });
      for (let slot = 0; slot < 3; slot++) take(record, 'b', 1);
      take(record, 'a', 1, RESET);
      exchangeLease(record, leaseRequestOf({ minute: next, isProbeAnswered: true }), RESET + 100);
      return record;
    }

    /** How many slots a process gets one by one, until the record refuses it. */
    function takeAll(record: QuotaRecord, member: string, nowMs: number): number {
      const granted = Array.from({ length: 30 }, () => take(record, member, 1, nowMs).granted);
      return granted.reduce((sum, slots) => sum + slots);
    }

    test('keeps the part of the one that learns of it late', () => {
      const record = turnedRecord();
      expect(takeAll(record, 'a', RESET + 100)).toBe(9);
      expect(takeAll(record, 'a', RESET + 1050)).toBe(0);
      expect(takeAll(record, 'b', RESET + 1100)).toBe(10);
    });

    test('gives it to the other if that one does not come, and keeps nothing in the window after', () => {
      const record = turnedRecord();
      expect(takeAll(record, 'a', RESET + 1101)).toBe(19);
      take(record, 'a', 1, RESET + 60_100);
      const after = { ...next, resetAtMs: RESET + 120_000 };
      exchangeLease(record, leaseRequestOf({ minute: after, isProbeAnswered: true }), RESET + 60_200);
      expect(takeAll(record, 'a', RESET + 60_200)).toBe(19);
    });

    test('counts once what may be under way of the one that comes late', () => {
      const record = turnedRecord();
      const late = leaseRequestOf({ member: 'b', wanted: 1, unanswered: 3 });
      const left = [RESET + 200, RESET + 300].map((nowMs) => {
        exchangeLease(record, late, nowMs);
        return record.minute?.left;
      });
      expect(left).toEqual([19 - 3 - 1, 19 - 3 - 2]);
    });
  });

  test('refuses all processes while the key is closed, and then lets one send a probe', () => {
    const record = knownRecord();
    exchangeLease(record, leaseRequestOf({ closedForMs: 7000 }), NOON);
    expect(take(record, 'b', 1, NOON + 1000)).toMatchObject({ granted: 0, waitMs: 6000, reason: 'closed' });
    expect(take(record, 'b', 1, NOON + 7000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('ignores after a closure what was observed before it', () => {
    const record = knownRecord();
    exchangeLease(record, leaseRequestOf({ closedForMs: 1000 }), NOON);
    exchangeLease(record, leaseRequestOf({ member: 'b', minute: observed({ ageMs: 1500 }) }), NOON + 1000);
    expect(take(record, 'b', 1, NOON + 1000)).toMatchObject({ reason: 'probe' });
  });

  test('never grants more than the day allows, over all windows', () => {
    const plan = { requestsPerMinute: 100, requestsPerDay: 4 };
    const record = knownRecord({}, plan);
    const granted = Array.from({ length: 6 }, () => exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON).granted);
    expect(granted).toEqual([1, 1, 1, 0, 0, 0]);
    expect(take(record, 'b', 1, NOON + 23 * 3_600_000).granted).toBe(0);
    expect(take(record, 'b', 1, NOON + 24 * 3_600_000 + 600_000).granted).toBe(1);
  });

  test('drops the daily limit of an old plan when options or headers give another one', () => {
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

  test('believes the answer to a probe if the clock of the service was set back', () => {
    const record = knownRecord({ resetAtMs: RESET + 3_600_000 });
    take(record, 'b', 1, NOON + 30_000);
    const minute = observed({ resetAtMs: RESET + 60_000, remaining: 7, endsInMs: 60_000 });
    exchangeLease(record, leaseRequestOf({ member: 'b', minute, isProbeAnswered: true }), NOON + 30_000);
    expect(record.minute).toMatchObject({ left: 7, resetAtMs: RESET + 60_000 });
  });

  test('limits a minute by the plan if the headers say nothing', () => {
    const plan = { requestsPerMinute: 3 };
    const record = emptyRecord();
    exchangeLease(record, leaseRequestOf({ wanted: 1, plan }), NOON);
    exchangeLease(record, leaseRequestOf({ isProbeAnswered: true, plan }), NOON);
    const granted = Array.from({ length: 4 }, () => exchangeLease(record, leaseRequestOf({ wanted: 5, plan }), NOON).granted);
    expect(granted).toEqual([1, 1, 0, 0]);
  });

  test("uses the first headers that describe the minute if the probe's answer did not", () => {
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

  test('drops what was written if the clock was then set back by more than a minute', () => {
    const record = knownRecord({ remaining: 0 }, { requestsPerMinute: 1, requestsPerDay: 1 });
    exchangeLease(record, leaseRequestOf({ closedForMs: 7_000_000 }), NOON + 60_000);
    expect(take(record, 'b', 1, NOON)).toMatchObject({ granted: 0, reason: 'closed' });
    exchangeLease(record, leaseRequestOf({ closedForMs: 7_000_000 }), NOON + 60_000);
    expect(take(record, 'b', 1, NOON - 1)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('grants nothing for the window if the store was restarted empty', () => {
    const record = emptyRecord();
    expect(exchangeLease(record, leaseRequestOf({ wanted: 5, minute: observed({}) }), NOON)).toMatchObject({
      granted: 0,
      reason: 'lost',
      waitMs: 30_000,
    });
    expect(take(record, 'b', 1, NOON + 30_000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('tells every process that the store was restarted empty, also those that know the window', () => {
    const record = emptyRecord();
    const responses = ['a', 'b', 'c', 'a'].map((member, index) => {
      const minute = observed({ remaining: 90 - index });
      return exchangeLease(record, leaseRequestOf({ member, wanted: 5, minute }), NOON);
    });
    expect(responses.map(({ reason }) => reason)).toEqual(['lost', 'lost', 'lost', 'lost']);
    expect(take(record, 'd', 1)).toMatchObject({ granted: 0, reason: 'lost' });
  });

  test.each([
    ['the same process sent two', ['a', 'a', 'b']],
    ['each process sent one', ['a', 'b', 'c']],
  ])('is not taken for restarted empty if an answer comes after later probes, where %s', (_, probes) => {
    const record = emptyRecord();
    for (const [index, member] of probes.entries()) take(record, member, 1, NOON + index * 1000);
    const request = leaseRequestOf({ wanted: 5, minute: observed({ limit: 30, remaining: 28 }), unanswered: 1 });
    // The requests that are under way are a later probe, and the one of this process that has no answer yet.
    expect(exchangeLease(record, request, NOON + 2500)).toMatchObject({ granted: 1, reason: 'quota' });
    expect(record.minute).toMatchObject({ limit: 30, left: 25 });
    expect(Object.keys(record.members)).toEqual([...new Set(probes)]);
  });

  test('remembers probes without an answer for a minute, and those of the last minute until the next window ends', () => {
    const record = emptyRecord();
    for (const second of Array(100).keys()) take(record, `process ${second}`, 1, NOON + second * 1000);
    expect(Object.keys(record.members)).toHaveLength(61);
    const answered = leaseRequestOf({ member: 'process 99', isProbeAnswered: true });
    exchangeLease(record, answered, NOON + 99_500);
    expect(Object.keys(record.members)).toHaveLength(61);
    take(record, 'process 99', 1, NOON + 159_500);
    exchangeLease(record, answered, NOON + 159_600);
    expect(Object.keys(record.members)).toEqual(['process 99']);
  });

  test('remembers for two minutes those of an outage that follows a window', () => {
    const record = knownRecord();
    for (const second of Array(600).keys()) take(record, `process ${second}`, 1, RESET + second * 1000);
    expect(Object.keys(record.members)).toHaveLength(121);
    const answered = leaseRequestOf({ member: 'process 599', isProbeAnswered: true });
    exchangeLease(record, answered, RESET + 599_500);
    expect(take(record, 'process 599', 1, RESET + 599_500).members).toBe(121);
  });
});
