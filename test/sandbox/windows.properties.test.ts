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
