import { describe, expect, test } from 'vitest';
import { LearnedLimit } from '../../../src/quota/ledger/learned-limit.ts';

describe('LearnedLimit', () => {
  test('sets no limit before a refusal', () => {
    expect(new LearnedLimit(60_000).most(0)).toBe(Number.POSITIVE_INFINITY);
  });

  test('is three quarters of what passed in the last window, and grows by a tenth with each window without a refusal', () => {
    const learned = new LearnedLimit(60_000);
    learned.shrink({ sent: 40, sentSinceOpen: 40 }, { sentAtMs: 0, nowMs: 100 });
    expect([learned.most(100), learned.most(60_100)]).toEqual([30, 33]);
  });

  test('doubles within half an hour, even if its window is a day', () => {
    const learned = new LearnedLimit(86_400_000);
    learned.shrink({ sent: 40, sentSinceOpen: 40 }, { sentAtMs: 0, nowMs: 100 });
    expect([learned.most(100), learned.most(1_800_100), learned.most(3_600_100)]).toEqual([30, 60, 120]);
  });

  test('shrinks once for requests that were refused together', () => {
    const learned = new LearnedLimit(60_000);
    learned.shrink({ sent: 40, sentSinceOpen: 40 }, { sentAtMs: 0, nowMs: 100 });
    learned.shrink({ sent: 40, sentSinceOpen: 40 }, { sentAtMs: 50, nowMs: 150 });
    expect(learned.most(100)).toBe(30);
    learned.shrink({ sent: 40, sentSinceOpen: 40 }, { sentAtMs: 200, nowMs: 300 });
    expect(learned.most(300)).toBeCloseTo(22.5, 0);
  });

  test('learns nothing from a refusal of fewer than five', () => {
    const learned = new LearnedLimit(60_000);
    learned.shrink({ sent: 4, sentSinceOpen: 4 }, { sentAtMs: 0, nowMs: 100 });
    expect(learned.most(100)).toBe(Number.POSITIVE_INFINITY);
    learned.shrink({ sent: 5, sentSinceOpen: 5 }, { sentAtMs: 0, nowMs: 100 });
    expect(learned.most(100)).toBe(3.75);
  });

  test('grows from the refusal on, not before', () => {
    const learned = new LearnedLimit(60_000);
    learned.shrink({ sent: 40, sentSinceOpen: 40 }, { sentAtMs: 0, nowMs: 60_000 });
    expect(learned.most(0)).toBe(30);
  });
});
