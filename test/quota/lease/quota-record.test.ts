import { describe, expect, test } from 'vitest';
import { emptyRecord, exchangeLease, type QuotaRecord } from '../../../src/quota/lease/quota-record.ts';
import type { LeaseRequest, LeaseResponse, ObservedWindow } from '../../../src/quota-store.ts';

const NOON = 1_800_000_000_000;
const RESET = NOON + 30_000;

function askOf(ask: Partial<LeaseRequest>): LeaseRequest {
  return {
    member: 'a',
    wanted: 0,
    returned: 0,
    returnedResetAtMs: 0,
    unanswered: 0,
    lateAnswers: [],
    plan: {},
    minute: undefined,
    day: undefined,
    isProbeAnswered: false,
    closedForMs: 0,
    ...ask,
  };
}

function heard(window: Partial<ObservedWindow>): ObservedWindow {
  return { limit: 100, remaining: 99, resetAtMs: RESET, endsInMs: 30_000, ageMs: 0, ...window };
}

/** A book whose window was told by the probe of process `a`. */
function knownBook(window: Partial<ObservedWindow> = {}, plan: LeaseRequest['plan'] = {}): QuotaRecord {
  const book = emptyRecord();
  exchangeLease(book, askOf({ wanted: 1, plan }), NOON);
  exchangeLease(book, askOf({ minute: heard(window), isProbeAnswered: true, plan }), NOON);
  return book;
}

function take(book: QuotaRecord, member: string, wanted: number, nowMs = NOON): LeaseResponse {
  return exchangeLease(book, askOf({ member, wanted }), nowMs);
}

describe('exchangeLease', () => {
  test('lets one process ask where nothing is known, and the others look again soon', () => {
    const book = emptyRecord();
    expect(take(book, 'a', 10)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(take(book, 'b', 10)).toMatchObject({ granted: 0, waitMs: 25, reason: 'probe' });
  });

  test('lets the next one ask when the probe has no answer for a second', () => {
    const book = emptyRecord();
    take(book, 'a', 10);
    expect(take(book, 'b', 10, NOON + 1000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('grants at most a twentieth of the limit, until the window ends', () => {
    expect(take(knownBook(), 'b', 50)).toMatchObject({ granted: 5, expiresInMs: 30_000, resetAtMs: RESET });
  });

  test('grants no more than what was told, and then says until when', () => {
    const book = knownBook({ remaining: 3 });
    const granted = [take(book, 'a', 50), take(book, 'a', 50), take(book, 'a', 50)].map((answer) => answer.granted);
    expect(granted).toEqual([1, 1, 1]);
    expect(take(book, 'a', 50)).toMatchObject({ granted: 0, waitMs: 30_000, reason: 'quota' });
  });

  test('takes what others heard only where it is less', () => {
    const book = knownBook({ remaining: 50 });
    exchangeLease(book, askOf({ member: 'b', minute: heard({ remaining: 80 }) }), NOON);
    expect(book.minute?.left).toBe(50);
    exchangeLease(book, askOf({ member: 'b', minute: heard({ remaining: 20 }) }), NOON);
    expect(book.minute?.left).toBe(20);
  });

  test('takes slots back into their own window only', () => {
    const book = knownBook({ remaining: 50 });
    const { granted } = take(book, 'b', 5);
    exchangeLease(book, askOf({ member: 'b', returned: granted, returnedResetAtMs: RESET - 60_000 }), NOON);
    expect(book.minute?.left).toBe(50 - granted);
    exchangeLease(book, askOf({ member: 'b', returned: granted, returnedResetAtMs: RESET }), NOON);
    expect(book.minute?.left).toBe(50);
  });

  test('counts a request that outlived its window where it was told less than the probe', () => {
    const book = knownBook({ remaining: 50 });
    const lateAnswers = [
      { resetAtMs: RESET, remaining: 49 },
      { resetAtMs: RESET, remaining: 51 },
      { resetAtMs: RESET - 60_000, remaining: 0 },
    ];
    exchangeLease(book, askOf({ member: 'b', wanted: 1, unanswered: 2, lateAnswers }), NOON);
    expect(book.minute?.left).toBe(50 - 2 - 1 - 1);
  });

  test('keeps the even part of a process that is there', () => {
    const book = knownBook({ limit: 20, remaining: 20 });
    take(book, 'b', 1);
    const granted = Array.from({ length: 20 }, () => take(book, 'a', 1).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(10);
  });

  test('gives the part of a process that went silent to the others', () => {
    const book = knownBook({ limit: 20, remaining: 20 });
    take(book, 'b', 1);
    const granted = Array.from({ length: 30 }, () => take(book, 'a', 1, NOON + 1001).granted);
    expect(granted.reduce((sum, slots) => sum + slots)).toBe(19);
  });

  test('holds everybody while the key is closed, and then lets one ask', () => {
    const book = knownBook();
    exchangeLease(book, askOf({ closedForMs: 7000 }), NOON);
    expect(take(book, 'b', 1, NOON + 1000)).toMatchObject({ granted: 0, waitMs: 6000, reason: 'closed' });
    expect(take(book, 'b', 1, NOON + 7000)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('does not believe after a closing what was heard before it', () => {
    const book = knownBook();
    exchangeLease(book, askOf({ closedForMs: 1000 }), NOON);
    exchangeLease(book, askOf({ member: 'b', minute: heard({ ageMs: 1500 }) }), NOON + 1000);
    expect(take(book, 'b', 1, NOON + 1000)).toMatchObject({ reason: 'probe' });
  });

  test('never grants more than the day allows, over windows', () => {
    const plan = { requestsPerMinute: 100, requestsPerDay: 4 };
    const book = knownBook({}, plan);
    const granted = Array.from({ length: 6 }, () => exchangeLease(book, askOf({ wanted: 1, plan }), NOON).granted);
    expect(granted).toEqual([1, 1, 1, 0, 0, 0]);
    expect(take(book, 'b', 1, NOON + 23 * 3_600_000).granted).toBe(0);
    expect(take(book, 'b', 1, NOON + 26 * 3_600_000).granted).toBe(1);
  });

  test('forgets the day of an old plan when options or headers tell another one', () => {
    const plan = { requestsPerMinute: 100, requestsPerDay: 1 };
    const granted = (more: Partial<LeaseRequest>) => {
      const book = emptyRecord();
      exchangeLease(book, askOf({ wanted: 1, plan }), NOON);
      exchangeLease(book, askOf(more), NOON + 60_000);
      return exchangeLease(book, askOf({ ...more, wanted: 1, minute: undefined }), NOON + 120_000).granted;
    };
    expect(granted({})).toBe(0);
    expect(granted({ plan: { requestsPerMinute: 100, requestsPerDay: 1e12 } })).toBe(1);
    expect(granted({ minute: heard({ limit: 5_000 }), isProbeAnswered: true })).toBe(1);
  });

  test('believes the answer to a probe when the clock of the service was set back', () => {
    const book = knownBook({ resetAtMs: RESET + 3_600_000 });
    take(book, 'b', 1, NOON + 30_000);
    const minute = heard({ resetAtMs: RESET + 60_000, remaining: 7, endsInMs: 60_000 });
    exchangeLease(book, askOf({ member: 'b', minute, isProbeAnswered: true }), NOON + 30_000);
    expect(book.minute).toMatchObject({ left: 7, resetAtMs: RESET + 60_000 });
  });

  test('keeps to the plan of a minute where the headers tell nothing', () => {
    const plan = { requestsPerMinute: 3 };
    const book = emptyRecord();
    exchangeLease(book, askOf({ wanted: 1, plan }), NOON);
    exchangeLease(book, askOf({ isProbeAnswered: true, plan }), NOON);
    const granted = Array.from({ length: 4 }, () => exchangeLease(book, askOf({ wanted: 5, plan }), NOON).granted);
    expect(granted).toEqual([1, 1, 0, 0]);
  });

  test('forgets what was written by a clock that was set back by more than a minute', () => {
    const book = knownBook({ remaining: 0 }, { requestsPerMinute: 1, requestsPerDay: 1 });
    exchangeLease(book, askOf({ closedForMs: 7_000_000 }), NOON + 60_000);
    expect(take(book, 'b', 1, NOON)).toMatchObject({ granted: 0, reason: 'closed' });
    exchangeLease(book, askOf({ closedForMs: 7_000_000 }), NOON + 60_000);
    expect(take(book, 'b', 1, NOON - 1)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('leaves the window to the processes where it came back empty', () => {
    const book = emptyRecord();
    expect(exchangeLease(book, askOf({ wanted: 5, minute: heard({}) }), NOON)).toMatchObject({
      granted: 0,
      reason: 'lost',
      waitMs: 30_000,
    });
    expect(take(book, 'b', 1, NOON + 30_000)).toMatchObject({ granted: 1, reason: 'probe' });
  });
});
