import { describe, expect, test } from 'vitest';
import type { Candidate, Fit, Seen } from '../../../src/quota/ledger/candidates/candidate.ts';
import { FixedWindow } from '../../../src/quota/ledger/candidates/fixed-window.ts';
import { SlidingCounter } from '../../../src/quota/ledger/candidates/sliding-counter.ts';
import { SlidingLog } from '../../../src/quota/ledger/candidates/sliding-log.ts';
import { TokenBucket } from '../../../src/quota/ledger/candidates/token-bucket.ts';

const MINUTE_MS = 60_000;

function sendTimes(candidate: Candidate, count: number, nowMs: number): void {
  Array.from({ length: count }, () => candidate.add(nowMs));
}

/** An answer leaves `remaining`, with nothing else under way. */
function observe(candidate: Candidate, remaining: number, nowMs: number, other: Partial<Seen & Fit> = {}): void {
  const taken = candidate.level(nowMs) - remaining;
  const seen = { unanswered: 0, concurrent: 0, failed: 0, leastOfBatch: undefined, areOthersActive: false, mayCarry: false, ...other };
  const fit = { candidate, lowest: taken, highest: taken, excess: 0, misfit: 0, ...other };
  candidate.observe(fit, { ...seen, remaining, sentAtMs: nowMs, nowMs });
}

describe('FixedWindow', () => {
  test('lets the limit pass, and nothing more before it turns', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    sendTimes(window, 60, 0);
    expect([window.free(59_999), window.freeAt(1, 59_999)]).toEqual([0, Number.POSITIVE_INFINITY]);
    window.turn(MINUTE_MS, 0);
    expect(window.free(MINUTE_MS)).toBe(60);
  });

  test('counts requests in flight at the turn in the new window', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    sendTimes(window, 60, 0);
    window.turn(MINUTE_MS, 3);
    expect(window.free(MINUTE_MS)).toBe(57);
  });

  test('ignores a turn that comes sooner than nine tenths of a window after the last', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    window.turn(0, 0);
    sendTimes(window, 60, 0);
    window.turn(53_999, 0);
    expect(window.free(53_999)).toBe(0);
    window.turn(54_000, 0);
    expect(window.free(54_000)).toBe(60);
  });

  test('no longer counts a request that was in flight at the turn once its answer shows that it was counted before', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    sendTimes(window, 60, 0);
    window.turn(MINUTE_MS, 3);
    window.countBefore(59_900);
    expect(window.free(MINUTE_MS)).toBe(58);
    window.add();
    window.countBefore(MINUTE_MS);
    expect(window.free(MINUTE_MS)).toBe(57);
  });

  test('turns again sooner if the last turn had only seemed to come', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    window.turn(0, 0);
    window.turn(57_000, 0);
    sendTimes(window, 60, 57_000);
    window.resume();
    window.turn(MINUTE_MS, 0);
    expect(window.free(MINUTE_MS)).toBe(60);
  });
});

describe('SlidingLog', () => {
  test('frees the place of a request a window after its answer', () => {
    const log = new SlidingLog(2, MINUTE_MS);
    log.add(0);
    log.add(30_000);
    expect([log.free(60_099), log.freeAt(1, 1_000), log.freeAt(2, 1_000)]).toEqual([0, 60_100, 90_100]);
    expect(log.free(60_100)).toBe(1);
  });

  test('has a margin for requests that leave it within a twentieth of a window', () => {
    const log = new SlidingLog(10, MINUTE_MS);
    log.add(0);
    log.add(2_000);
    expect([log.margin(50_000), log.margin(57_500), log.margin(59_500)]).toEqual([0, 1, 2]);
  });

  test('waits longer for a place if answers take longer', () => {
    const log = new SlidingLog(1, MINUTE_MS);
    log.add(0);
    log.answer(0, 900);
    expect(log.freeAt(1, 1_000)).toBe(61_000);
  });

  test('frees the other places in time if one answer took long', () => {
    const log = new SlidingLog(2, MINUTE_MS);
    log.add(0);
    log.add(5_000);
    log.answer(5_000, 5_100);
    log.answer(0, 30_000);
    expect([log.freeAt(1, 40_000), log.freeAt(2, 40_000)]).toEqual([65_200, 90_100]);
  });

  test('counts requests that may have left as gone while others send too, and keeps the count of theirs', () => {
    const log = new SlidingLog(60, MINUTE_MS);
    sendTimes(log, 10, 0);
    observe(log, 45, 0);
    expect(log.free(60_050)).toBe(45);
    observe(log, 55, 60_050, { areOthersActive: true });
    expect(log.free(60_050)).toBe(55);
  });

  test('takes back a request that was not sent', () => {
    const log = new SlidingLog(1, MINUTE_MS);
    log.add(0);
    log.remove();
    expect(log.free(0)).toBe(1);
  });
});

describe('SlidingCounter', () => {
  test('counts the part of the window before that a sliding window still holds', () => {
    const counter = new SlidingCounter(60, MINUTE_MS);
    counter.align(MINUTE_MS, 0);
    sendTimes(counter, 60, 30_000);
    expect([counter.free(60_000), counter.free(90_000), counter.free(120_000)]).toEqual([0, 30, 60]);
  });

  test('counts requests in the new window whose answer shows that it has begun', () => {
    const counter = new SlidingCounter(2, MINUTE_MS);
    counter.align(MINUTE_MS, 0);
    counter.add(59_990);
    counter.align(2 * MINUTE_MS, 1);
    expect([counter.room(MINUTE_MS), counter.room(2 * MINUTE_MS)]).toEqual([1, 1]);
  });

  test('finds out that others sent in the window before if they become fewer, and how many they were', () => {
    const counter = new SlidingCounter(60, MINUTE_MS);
    counter.align(MINUTE_MS, 0);
    // 60 in the window before, and 9 in this one: 59 are counted after 10 seconds, and 55 after 14.
    for (const [atMs, remaining] of [[10_000, 0] as const, [14_000, 3] as const]) {
      counter.add(atMs);
      observe(counter, remaining, atMs);
    }
    expect([counter.free(14_000), counter.freeAt(4, 14_000)]).toEqual([3, 15_000]);
  });

  test('takes no failed request that the service has not counted for one of others that has left', () => {
    const counter = new SlidingCounter(60, MINUTE_MS);
    counter.align(MINUTE_MS, 0);
    for (const [atMs, failed] of [[20_000, 0] as const, [21_000, 1] as const, [22_000, 2] as const, [23_000, 3] as const]) {
      counter.add(atMs);
      observe(counter, 39, atMs, { failed });
    }
    expect([counter.free(23_000), counter.free(59_000)]).toEqual([39, 39]);
  });

  test('takes neither others of an earlier window nor those of a moment ago for others that leave', () => {
    const counter = new SlidingCounter(60, MINUTE_MS);
    counter.align(MINUTE_MS, 0);
    for (const [atMs, remaining] of [[59_000, 49] as const, [62_000, 48] as const, [63_900, 44] as const, [64_000, 47] as const]) {
      counter.add(atMs);
      observe(counter, remaining, atMs);
    }
    const atMs = 64_000;
    expect(counter.free(atMs + 20_000) - counter.free(atMs)).toBeCloseTo((11 * 20) / 60);
  });

  test('says when its room reaches a size, in this window and across its turn', () => {
    const counter = new SlidingCounter(60, MINUTE_MS);
    counter.align(MINUTE_MS, 0);
    sendTimes(counter, 60, 30_000);
    expect([counter.freeAt(1, 30_000), counter.freeAt(30, 60_000)]).toEqual([61_000, 90_000]);
  });
});

describe('TokenBucket', () => {
  test.each([
    ['answers show what is left', 2_000, 19],
    ['an answer takes longer than a minute', 70_000, undefined],
  ])('is no deeper in debt after a senseless limit if %s', (_if, answeredAtMs, remaining) => {
    const bucket = new TokenBucket(60, MINUTE_MS);
    bucket.resize(1e9, 60);
    bucket.add(0);
    if (remaining !== undefined) observe(bucket, remaining, 1_000);
    bucket.answer(0, answeredAtMs);
    bucket.resize(19, 60);
    expect(bucket.freeAt(1, answeredAtMs) - answeredAtMs).toBeLessThanOrEqual(1_000);
  });

  test('holds its limit, and is refilled one by one within a window', () => {
    const bucket = new TokenBucket(60, MINUTE_MS);
    sendTimes(bucket, 60, 0);
    expect([bucket.free(0), bucket.free(30_000), bucket.free(90_000)]).toEqual([0, 30, 60]);
    expect(bucket.freeAt(2, 0)).toBe(2_000);
  });

  test('is full until its first request arrives, which may be as late as the answer', () => {
    const bucket = new TokenBucket(1, MINUTE_MS);
    bucket.add(0);
    expect(bucket.freeAt(1, 0)).toBe(60_000);
    bucket.answer(0, 250);
    expect(bucket.freeAt(1, 250)).toBe(60_250);
    bucket.add(60_250);
    bucket.answer(60_250, 60_400);
    expect(bucket.freeAt(1, 60_400)).toBe(120_400);
  });

  test('takes a Remaining cut to a whole request for no request of others, and does not subtract twice what is in flight', () => {
    const bucket = new TokenBucket(6, MINUTE_MS);
    sendTimes(bucket, 5, 0);
    observe(bucket, 1, 300, { unanswered: 1 });
    expect(bucket.free(300)).toBe(1);
    observe(bucket, 0, 600, { unanswered: 1 });
    expect(bucket.free(600)).toBe(-1);
  });

  test('has the size that the headers report and the rate of the plan', () => {
    const bucket = new TokenBucket(60, MINUTE_MS);
    bucket.resize(6, 60);
    expect([bucket.free(0), bucket.growth(1_000)]).toEqual([6, 1]);
  });

  test('keeps to its share of a larger bucket, whatever that bucket holds', () => {
    const bucket = new TokenBucket(30, MINUTE_MS);
    bucket.resize(60, 30);
    sendTimes(bucket, 30, 0);
    observe(bucket, 58, 0);
    expect([bucket.level(0), bucket.free(0), bucket.freeAt(1, 0), bucket.freeAt(30, 0)]).toEqual([58, 0, 2_000, MINUTE_MS]);
  });

  test('is not emptied by a Limit that falls', () => {
    const bucket = new TokenBucket(2, MINUTE_MS);
    bucket.resize(1e15, 2);
    bucket.add(0);
    bucket.resize(2, 2);
    expect(bucket.freeAt(2, 0)).toBeLessThanOrEqual(MINUTE_MS);
  });

  test('takes a request that was not sent back into its share of a larger bucket', () => {
    const bucket = new TokenBucket(30, MINUTE_MS);
    bucket.resize(60, 30);
    sendTimes(bucket, 30, 0);
    bucket.remove(0);
    expect([bucket.level(0), bucket.free(0)]).toEqual([31, 1]);
  });

  test('is unlimited if the plan is', () => {
    const bucket = new TokenBucket(Number.POSITIVE_INFINITY, MINUTE_MS);
    sendTimes(bucket, 1_000, 0);
    expect(bucket.free(0)).toBe(Number.POSITIVE_INFINITY);
    bucket.resize(5, Number.POSITIVE_INFINITY);
    expect(bucket.freeAt(5, 0)).toBe(0);
  });
});

describe('Candidate', () => {
  test.each([FixedWindow, SlidingLog, SlidingCounter, TokenBucket])('%o takes back a request that was not sent', (Way) => {
    const candidate = new Way(60, MINUTE_MS);
    sendTimes(candidate, 3, 0);
    candidate.remove(0);
    expect(candidate.room(0)).toBe(58);
  });

  test('counts what is missing as requests of others, and everything in flight as spent', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    sendTimes(window, 10, 0);
    observe(window, 40, 100, { lowest: 7, highest: 10, unanswered: 3 });
    expect(window.free(100)).toBe(40);
  });

  test('lowers the requests of others to what an answer allows, and never below what may be uncounted', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    observe(window, 50, 0, { lowest: 10, highest: 10 });
    observe(window, 56, 100, { lowest: 2, highest: 4 });
    expect(window.free(100)).toBe(56);
    observe(window, 60, 200, { lowest: -9, highest: -5, failed: 2 });
    expect(window.free(200)).toBe(62);
  });

  test('says when the plan allows a request again, although the service allows more', () => {
    const log = new SlidingLog(60, MINUTE_MS);
    log.resize(300, 60);
    sendTimes(log, 60, 0);
    expect([log.room(1_000), log.room(1_000) - log.beyondPlan, log.roomAt(1 + log.beyondPlan, 1_000)]).toEqual([240, 0, 60_100]);
  });

  test('leaves to others what the service allows beyond the plan', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    window.resize(300, 60);
    observe(window, 290, 0, { lowest: 10, highest: 10 });
    expect(window.free(0)).toBe(60);
    observe(window, 20, 0, { lowest: 280, highest: 280 });
    expect(window.free(0)).toBe(20);
  });
});

describe('How badly an answer fits a candidate:', () => {
  const SEEN = { unanswered: 0, concurrent: 0, failed: 0, leastOfBatch: undefined, areOthersActive: false, mayCarry: false } as const;
  const misfit = (candidate: Candidate, remaining: number, other: Partial<Seen> = {}) => {
    return candidate.fitOf({ ...SEEN, remaining, sentAtMs: 100, nowMs: 100, ...other }).misfit;
  };
  const RESET = { isByClock: false, hasMoved: false, hasPassed: false, precisionMs: 1_500, sentAtMs: 0, nowMs: 100 } as const;

  test('a Remaining fits a window if it falls by what was sent, and does not if it falls by itself', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    sendTimes(window, 10, 0);
    observe(window, 45, 100);
    // 5 of others are known, and 3 requests are tolerated.
    expect([misfit(window, 45), misfit(window, 42), misfit(window, 32)]).toEqual([0, 0, 5]);
  });

  test('others of the last window are expected again, unless a weighted counter may carry them over', () => {
    const window = new FixedWindow(60, MINUTE_MS);
    observe(window, 20, 0);
    window.turn(MINUTE_MS, 0);
    expect([misfit(window, 20), misfit(window, 20, { mayCarry: true })]).toEqual([0, 18.5]);
  });

  test('a Remaining that is larger than what was sent allows does not fit, unless those in flight may be missing in it', () => {
    const counter = new SlidingCounter(60, MINUTE_MS);
    sendTimes(counter, 20, 0);
    expect([misfit(counter, 43), misfit(counter, 53), misfit(counter, 53, { failed: 4 })]).toEqual([0, 5, 3]);
    expect(misfit(counter, 53, { concurrent: 10, unanswered: 10 })).toBe(0);
  });

  test('a refusal fits a candidate that has no room, or where others may have taken it', () => {
    const window = new FixedWindow(3, MINUTE_MS);
    sendTimes(window, 4, 0);
    const misfit = (remaining?: number) => window.misfitOfRefusal({ remaining, nowMs: 0 });
    expect(misfit()).toBe(0);
    window.remove();
    expect([misfit(), misfit(0)]).toEqual([0.5, 0]);
  });

  test.for([
    ['window', new FixedWindow(60, MINUTE_MS), 1],
    ['log', new SlidingLog(60, MINUTE_MS), 0],
    ['counter', new SlidingCounter(60, MINUTE_MS), 0],
    ['bucket', new TokenBucket(60, MINUTE_MS), 0],
  ] as const)('a Retry-After that ends ten seconds after the Reset: %s', ([, candidate, expected]) => {
    const seen = { retryAfterMs: 20_000, endsAtMs: 30_000, remaining: 0, sentAtMs: 19_900, nowMs: 20_000 };
    expect(candidate.misfitOfRetryAfter(seen)).toBe(expected);
  });

  test('a Retry-After fits a log that opens up to 2.5 s later, or up to 3.5 s and the time of the answer earlier', () => {
    const log = new SlidingLog(1, MINUTE_MS);
    sendTimes(log, 2, 0);
    expect(log.freeAt(0, 20_000)).toBe(60_100);
    const seen = { endsAtMs: 60_000, remaining: undefined, sentAtMs: 19_900, nowMs: 20_000 };
    const misfits = [37_599, 37_600, 43_700, 43_701].map((retryAfterMs) => log.misfitOfRetryAfter({ ...seen, retryAfterMs }));
    expect(misfits).toEqual([1, 0, 0, 1]);
  });

  test('a Retry-After that ends a whole window after the Reset is that of a penalty, and fits a window', () => {
    const seen = { endsAtMs: 30_000, remaining: 0, sentAtMs: 19_900, nowMs: 20_000 };
    const window = new FixedWindow(60, MINUTE_MS);
    const misfits = [69_999, 70_000, 880_000].map((retryAfterMs) => window.misfitOfRetryAfter({ ...seen, retryAfterMs }));
    expect(misfits).toEqual([1, 0, 0]);
  });

  test('a Reset fits a weighted counter only at a turn of the clock, and fits a log there only by chance', () => {
    const [log, counter] = [new SlidingLog(60, MINUTE_MS), new SlidingCounter(60, MINUTE_MS)];
    const reset = { ...RESET, endsAtMs: MINUTE_MS };
    expect([log.misfitOfReset(reset), counter.misfitOfReset(reset)]).toEqual([0, 2]);
    const byClock = { ...reset, isByClock: true };
    expect([log.misfitOfReset(byClock), counter.misfitOfReset(byClock)]).toEqual([0.02, 0]);
  });

  test('the Reset of a log is when its oldest request leaves, or sooner if others sent one before', () => {
    const log = new SlidingLog(60, MINUTE_MS);
    log.add(0);
    const misfitAt = (endsAtMs: number) => log.misfitOfReset({ ...RESET, endsAtMs });
    expect([misfitAt(60_000), misfitAt(63_101), misfitAt(30_000)]).toEqual([0, 1.5, 0]);
    observe(log, 60, 0);
    expect(misfitAt(30_000)).toBe(1);
    observe(log, 50, 0);
    expect(misfitAt(30_000)).toBe(0);
  });

  test('a Reset that moves before it has passed is that of no window, counter or log', () => {
    const reset = { ...RESET, isByClock: true, hasMoved: true, endsAtMs: MINUTE_MS };
    const candidates = [FixedWindow, SlidingLog, SlidingCounter, TokenBucket].map((Model) => new Model(60, MINUTE_MS));
    expect(candidates.map((candidate) => candidate.misfitOfReset(reset))).toEqual([1, 1.02, 1, 0]);
    expect(candidates.map((candidate) => candidate.misfitOfReset({ ...reset, hasPassed: true }))).toEqual([1, 0.02, 1, 0]);
  });

  test('the Reset of a bucket is when it is full, its next token, or the end of some window', () => {
    const misfitIn = (remaining: number, aheadMs: number) => new TokenBucket(60, MINUTE_MS).misfitOfFilling(remaining, aheadMs);
    expect([misfitIn(50, 10_000), misfitIn(50, 0), misfitIn(50, 60_000), misfitIn(50, 30_000)]).toEqual([0, 0.1, 0.1, 0.5]);
  });

  test('a bucket learns its rate from such a Reset if it is that of its Limit', () => {
    const bucket = new TokenBucket(60, MINUTE_MS);
    bucket.resize(120, 60);
    bucket.resize(60, 120);
    expect([bucket.growth(1_000), bucket.misfitOfFilling(30, 30_000), bucket.growth(1_000)]).toEqual([2, 0, 1]);
  });
});
