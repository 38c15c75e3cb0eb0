import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createWindow, POLICIES } from '../../src/sandbox/windows.ts';

const LENGTH_MS = 60_000;
const size = fc.record({ limit: fc.integer({ min: 1, max: 12 }), burst: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }) });
const gapsMs = fc.array(fc.oneof(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 0, max: 130_000 })), { maxLength: 60 });

test.each(POLICIES)('a %s window opens at the instant that it tells, and not a millisecond before', (policy) => {
  const property = fc.property(size, gapsMs, (given, gaps) => {
    const window = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
    let nowMs = 1_795_255_245_250;
    for (const gapMs of gaps) {
      nowMs += gapMs;
      const opensAtMs = Math.ceil(window.opensAtMs(nowMs));
      const justBeforeMs = Math.max(nowMs, opensAtMs - 1);
      expect(window.remaining(justBeforeMs) > 0).toBe(opensAtMs <= justBeforeMs);
      nowMs = Math.max(nowMs, opensAtMs);
      expect(window.remaining(nowMs)).toBeGreaterThan(0);
      window.take(nowMs);
    }
  });
  fc.assert(property, { numRuns: 300, seed: 20_261_122 });
});

test.each(POLICIES)('a full %s window opens later, however its clock is moved', (policy) => {
  const movesMs = fc.array(fc.integer({ min: -130_000, max: 130_000 }), { maxLength: 60 });
  const property = fc.property(size, movesMs, (given, moves) => {
    const window = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
    let nowMs = 1_795_255_245_250;
    for (const moveMs of moves) {
      nowMs += moveMs;
      for (let taken = 0; taken < 4; taken++) window.take(nowMs);
      expect(window.opensAtMs(nowMs) > nowMs).toBe(window.remaining(nowMs) <= 0);
    }
  });
  fc.assert(property, { numRuns: 300, seed: 20_261_122 });
});

test.each(POLICIES)(
  'a %s window gives the same Reset whether its Remaining was asked for before or not, and none that has passed',
  (policy) => {
    const property = fc.property(size, gapsMs, (given, gaps) => {
      const window = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
      const asked = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
      let nowMs = 1_795_255_245_250;
      for (const gapMs of gaps) {
        nowMs += gapMs;
        asked.remaining(nowMs);
        expect(window.resetAtMs(nowMs)).toBe(asked.resetAtMs(nowMs));
        expect(window.resetAtMs(nowMs)).toBeGreaterThanOrEqual(nowMs);
        for (const each of [window, asked]) each.take(nowMs);
      }
    });
    fc.assert(property, { numRuns: 300, seed: 20_261_122 });
  },
);

// A bucket that was full meanwhile has no room for what is given back.
test.each(['fixed-clock', 'sliding-log', 'sliding-counter'] as const)(
  'a %s window that gives back late, even after its end, stands as if nothing had been counted',
  (policy) => {
    const property = fc.property(size, gapsMs, (given, gaps) => {
      const window = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
      const plain = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
      let nowMs = 1_795_255_245_250;
      for (const gapMs of gaps) {
        const takenAtMs = nowMs;
        for (const each of [window, window, plain]) each.take(takenAtMs);
        nowMs += gapMs;
        window.giveBack(takenAtMs, nowMs);
        expect(window.remaining(nowMs)).toBe(plain.remaining(nowMs));
      }
    });
    fc.assert(property, { numRuns: 300, seed: 20_261_122 });
  },
);

test.each(POLICIES)('a %s window allows no more than its limit after a request that is given back late', (policy) => {
  const property = fc.property(size, gapsMs, (given, gaps) => {
    const window = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
    const most = policy === 'token-bucket' ? (given.burst ?? given.limit) : given.limit;
    let nowMs = 1_795_255_245_250;
    for (const gapMs of gaps) {
      const takenAtMs = nowMs;
      window.take(takenAtMs);
      nowMs += gapMs;
      window.giveBack(takenAtMs, nowMs);
      expect(window.remaining(nowMs)).toBeLessThanOrEqual(most);
    }
  });
  fc.assert(property, { numRuns: 300, seed: 20_261_122 });
});

// A fixed-first window has begun with a request, whatever that cost in the end.
test.each(POLICIES.filter((policy) => policy !== 'fixed-first'))(
  'a %s window that gives back at once stands as if nothing had been counted',
  (policy) => {
    const property = fc.property(size, gapsMs, (given, gaps) => {
      const window = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
      const plain = createWindow(policy, { ...given, lengthMs: LENGTH_MS });
      let nowMs = 1_795_255_245_250;
      for (const [index, gapMs] of gaps.entries()) {
        nowMs += gapMs;
        window.take(nowMs);
        const settle = index % 2 === 0 ? () => window.giveBack(nowMs, nowMs) : () => plain.take(nowMs);
        settle();
        expect(window.remaining(nowMs)).toBe(plain.remaining(nowMs));
      }
    });
    fc.assert(property, { numRuns: 300, seed: 20_261_122 });
  },
);

test.each(POLICIES.filter((policy) => policy !== 'token-bucket'))(
  'a %s window begins anew if the clock is set back to before it',
  (policy) => {
    const window = createWindow(policy, { limit: 1, lengthMs: LENGTH_MS });
    const nowMs = 1_795_255_245_250;
    window.take(nowMs);
    expect(window.remaining(nowMs)).toBe(0);
    expect([window.remaining(nowMs - LENGTH_MS), window.opensAtMs(nowMs - LENGTH_MS)]).toEqual([1, nowMs - LENGTH_MS]);
  },
);
