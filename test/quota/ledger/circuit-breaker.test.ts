import { describe, expect, test } from 'vitest';
import { CircuitBreaker } from '../../../src/quota/ledger/circuit-breaker.ts';

/** A breaker after a failure every `everyMs`, the first at 0. */
function brokenBy(failures: number, everyMs: number): CircuitBreaker {
  const breaker = new CircuitBreaker();
  for (let failure = 0; failure < failures; failure++) breaker.fail(failure * everyMs, failure * everyMs);
  return breaker;
}

describe('CircuitBreaker', () => {
  test('opens after three failures in a row that took half a second', () => {
    expect([brokenBy(2, 250).sinceMs, brokenBy(3, 249).sinceMs, brokenBy(3, 250).sinceMs]).toEqual([undefined, undefined, 500]);
    expect([brokenBy(2, 0).isSuspected, brokenBy(3, 0).isSuspected]).toEqual([false, true]);
  });

  test('delays requests after each failure before it opens: by 100, 200, 400, and at most 500 ms', () => {
    const breaker = new CircuitBreaker();
    expect(breaker.probeAtMs).toBe(Number.NEGATIVE_INFINITY);
    const delays = [1, 2, 3, 4, 5].map(() => {
      breaker.fail(0, 0);
      return breaker.probeAtMs;
    });
    expect(delays).toEqual([100, 200, 400, 500, 500]);
  });

  test('probes half a second after it opened, and doubles the delay after each failed probe, up to 8 seconds', () => {
    const breaker = brokenBy(3, 250);
    const delays = [breaker.probeAtMs - 500];
    for (let probe = 0; probe < 5; probe++) {
      const sentAtMs = breaker.probeAtMs;
      breaker.fail(sentAtMs, sentAtMs);
      delays.push(breaker.probeAtMs - sentAtMs);
    }
    expect(delays).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000]);
  });

  test('does not count failures of requests that were sent before it opened', () => {
    const breaker = brokenBy(3, 250);
    breaker.fail(499, 600);
    expect(breaker.probeAtMs).toBe(1_000);
    breaker.fail(500, 600);
    expect(breaker.probeAtMs).toBe(1_600);
  });

  test('closes with an answer since it opened, and starts to count again', () => {
    const breaker = brokenBy(3, 250);
    breaker.succeed(499);
    expect(breaker.sinceMs).toBe(500);
    breaker.succeed(500);
    expect([breaker.sinceMs, breaker.probeAtMs, breaker.isSuspected]).toEqual([undefined, Number.NEGATIVE_INFINITY, false]);
    breaker.fail(600, 600);
    breaker.fail(600, 600);
    expect(breaker.isSuspected).toBe(false);
    breaker.fail(1_099, 1_099);
    expect(breaker.sinceMs).toBeUndefined();
    breaker.fail(1_100, 1_100);
    expect(breaker.sinceMs).toBe(1_100);
  });

  test('waits a little longer for the body of a probe whose headers are good', () => {
    const breaker = brokenBy(3, 250);
    breaker.hope(499, 900);
    expect(breaker.probeAtMs).toBe(1_000);
    breaker.hope(500, 900);
    expect(breaker.probeAtMs).toBe(1_400);
    breaker.hope(500, 800);
    expect(breaker.probeAtMs).toBe(1_400);
  });
});
