import { describe, expect, test } from 'vitest';
import { SlidingLog } from '../../../src/quota/ledger/candidates/sliding-log.ts';
import { LearnedLimit } from '../../../src/quota/ledger/learned-limit.ts';

/** A request is refused, with `sent` requests in the log. */
function refuse(learned: LearnedLimit, sent: number, atMs: number, nowMs: number): void {
  const log = new SlidingLog(Number.POSITIVE_INFINITY, 60_000);
  for (let added = 0; added < sent; added++) log.add(nowMs);
  learned.refuse(log, { atMs, wasQuotaKnown: true }, nowMs);
}

describe('LearnedLimit', () => {
  test('sets no limit before a refusal', () => {
    expect(new LearnedLimit(60_000).most(0)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is three quarters of what passed in the last window, and grows by a tenth with each window without a refusal', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 40, 0, 100);
    expect([learned.most(100), learned.most(60_100)]).toEqual([30, 33]);
  });

  test('grows slowly from nine tenths of the refused number on, since the next refusal is near', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 40, 0, 0);
    expect([1.8, 2, 6.4, 6.6].map((minutes) => learned.most(minutes * 60_000))).toEqual([35, 36, 39, 40]);
    expect(learned.most(1_800_000)).toBeGreaterThan(60);
  });

  test('doubles within half an hour, even if its window is a day', () => {
    const learned = new LearnedLimit(86_400_000);
    refuse(learned, 40, 0, 100);
    expect([learned.most(100), learned.most(1_800_100), learned.most(3_600_100)]).toEqual([30, 60, 120]);
  });

  test('shrinks once for requests that were refused together', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 40, 0, 100);
    refuse(learned, 40, 50, 150);
    expect(learned.most(100)).toBe(30);
    refuse(learned, 40, 200, 300);
    expect(learned.most(300)).toBe(22);
  });

  test('learns from a refusal of fewer than five when the next one comes after as few', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 3, 0, 100);
    refuse(learned, 3, 50, 150);
    refuse(learned, 4, 60_000, 60_100);
    expect(learned.most(60_100)).toBe(Number.POSITIVE_INFINITY);
    refuse(learned, 4, 120_000, 120_100);
    expect(learned.most(120_100)).toBe(3);
  });

  test('says when it has grown to a number of requests', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 40, 0, 100);
    const atMs = learned.reachesAt(33);
    expect(atMs).toBeLessThanOrEqual(60_102);
    expect([learned.most(atMs - 2) < 33, learned.most(atMs) >= 33]).toEqual([true, true]);
  });

  test('learns nothing from a refusal that took so long that nothing was sent within a window before it', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 0, 0, 70_000);
    refuse(learned, 0, 80_000, 150_000);
    expect(learned.most(150_000)).toBe(Number.POSITIVE_INFINITY);
  });

  test('grows from the refusal on, not before', () => {
    const learned = new LearnedLimit(60_000);
    refuse(learned, 40, 0, 60_000);
    expect(learned.most(0)).toBe(30);
  });
});
