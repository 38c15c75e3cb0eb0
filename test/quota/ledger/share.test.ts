import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Share, shareOf } from '../../../src/quota/ledger/share.ts';

const MINUTE_MS = 60_000;

function windowsOf(minute: { limit: number; turnedAtMs?: number }, perDay = Number.POSITIVE_INFINITY) {
  return {
    minute: { lengthMs: MINUTE_MS, turnedAtMs: undefined, ...minute },
    day: { lengthMs: 86_400_000, turnedAtMs: undefined, limit: perDay },
  };
}

/** Sends as many requests as may be sent at an instant, and returns how many. */
function sendAll(share: Share, windows: ReturnType<typeof windowsOf>, nowMs: number): number {
  const free = Math.max(0, share.free(windows, nowMs));
  for (let sent = 0; sent < free; sent++) share.add(nowMs);
  return free;
}

describe('Share', () => {
  test('allows its part of the limit in any minute', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 5, maxLength: 40 });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 500 }), fc.double({ min: 0.01, max: 0.99, noNaN: true }), (stepsMs, limit, part) => {
        const share = new Share(part);
        let nowMs = 0;
        const sent = stepsMs.map((ms) => {
          nowMs += ms;
          return { nowMs, count: sendAll(share, windowsOf({ limit }), nowMs) };
        });
        const most = sent.map(({ nowMs: endMs }) =>
          sent.reduce((sum, each) => (each.nowMs > endMs - MINUTE_MS && each.nowMs <= endMs ? sum + each.count : sum), 0),
        );
        expect(Math.max(...most)).toBeLessThanOrEqual(shareOf(limit, part));
      }),
    );
  });

  test('is free now while one request is left', () => {
    const share = new Share(0.5);
    for (let sent = 1; sent <= 4; sent++) share.add(0);
    expect([share.freeAt(windowsOf({ limit: 10 }), 1_000), share.free(windowsOf({ limit: 10 }), 1_000)]).toEqual([1_000, 1]);
  });

  test('starts again when a window turns, except for what was sent just before', () => {
    const share = new Share(0.5);
    expect(sendAll(share, windowsOf({ limit: 20, turnedAtMs: 0 }), 50_000)).toBe(10);
    expect(sendAll(share, windowsOf({ limit: 20, turnedAtMs: 0 }), 59_000)).toBe(0);
    expect(sendAll(share, windowsOf({ limit: 24, turnedAtMs: 0 }), 59_000)).toBe(2);
    expect(sendAll(share, windowsOf({ limit: 20, turnedAtMs: 60_000 }), 60_000)).toBe(8);
  });

  test('says when the next request may be sent: at the turn, or when the oldest one leaves', () => {
    const share = new Share(0.5);
    sendAll(share, windowsOf({ limit: 20 }), 50_000);
    expect(share.freeAt(windowsOf({ limit: 20, turnedAtMs: 0 }), 55_000)).toBe(60_000);
    expect(share.freeAt(windowsOf({ limit: 20 }), 55_000)).toBe(110_100);
    expect(share.freeAt(windowsOf({ limit: 22 }), 55_000)).toBe(55_000);
  });

  test('limits the day as well', () => {
    const share = new Share(0.5);
    expect(sendAll(share, windowsOf({ limit: 60 }, 20), 0)).toBe(10);
    expect(share.freeAt(windowsOf({ limit: 60 }, 20), 3_600_000)).toBe(86_400_100);
  });

  test('counts a request with a late answer from its answer, and a request that was not sent not at all', () => {
    const share = new Share(0.5);
    sendAll(share, windowsOf({ limit: 4 }), 0);
    share.answer(0, 5_000);
    expect(share.free(windowsOf({ limit: 4 }), 62_000)).toBe(0);
    expect(share.free(windowsOf({ limit: 4 }), 65_100)).toBe(2);
    share.add(70_000);
    share.remove();
    expect(share.free(windowsOf({ limit: 4 }), 70_000)).toBe(2);
  });

  test('counts the day from the answers as well, and not requests that were not sent', () => {
    const windows = windowsOf({ limit: 60 }, 4);
    const share = new Share(0.5);
    share.add(0);
    share.add(0);
    share.remove();
    expect(share.free(windows, 0)).toBe(1);
    share.answer(0, 5_000);
    share.add(43_200_000);
    expect(share.free(windows, 86_404_000)).toBe(0);
    expect(share.freeAt(windows, 43_200_000)).toBe(86_405_100);
    expect(share.free(windows, 86_405_100)).toBe(1);
  });

  test('makes the next request wait only until one more fits', () => {
    const share = new Share(0.5);
    share.add(0);
    share.add(10_000);
    expect(share.freeAt(windowsOf({ limit: 6 }), 20_000)).toBe(20_000);
    expect(share.freeAt(windowsOf({ limit: 4 }), 20_000)).toBe(60_100);
  });

  test('is unlimited if there is no limit', () => {
    expect(new Share(0.5).free(windowsOf({ limit: Number.POSITIVE_INFINITY }), 0)).toBe(Number.POSITIVE_INFINITY);
  });
});

test.each([
  [300, 0.41, 123],
  [10_000, 0.57, 5_700],
  [60, 0.5, 30],
  [7, 0.5, 3],
  [3, 0.1, 1],
])('of %i requests, a share of %d is %i', (limit, share, requests) => {
  expect(shareOf(limit, share)).toBe(requests);
});
