import { describe, expect, test } from 'vitest';
import { ServerClock } from '../../../src/quota/ledger/server-clock.ts';

const HOUR_MS = 3_600_000;
/** A Date is cut to the second. */
const PRECISION_MS = 1_000;

const MINUTE_MS = 60_000;
const UNDATED = { status: 200, receivedAtMs: 0 };

/** An answer of that time on the server's clock. */
const dated = (dateMs: number) => ({ ...UNDATED, dateMs });

/** How long the window lasts of which an answer without `Date` reports the Reset, when the machine's clock shows `receivedAtMs`. */
function endsAfterMs(clock: ServerClock, receivedAtMs: number, status = 200): number | undefined {
  const [answer, exchange] = [
    { status, receivedAtMs, resetAtMs: HOUR_MS },
    { sentAtMs: 0, nowMs: 100 },
  ];
  clock.observeReset(answer, MINUTE_MS, exchange);
  const reset = clock.resetOf(answer, MINUTE_MS, exchange);
  return reset && reset.endsAtMs - exchange.nowMs;
}

describe('ServerClock', () => {
  test('is bounded by the Date of every answer from both sides', () => {
    const clock = new ServerClock();
    clock.observeDate(dated(HOUR_MS), { sentAtMs: 900, nowMs: 1_000 });
    expect([clock.atLeast(1_000), clock.atMost(1_000)]).toEqual([HOUR_MS, HOUR_MS + 1_100]);
    clock.observeDate(dated(HOUR_MS + 1_000), { sentAtMs: 1_400, nowMs: 1_500 });
    expect(clock.atLeast(1_500)).toBe(HOUR_MS + 1_000);
    expect(clock.atMost(1_500)).toBeCloseTo(HOUR_MS + 1_600, 0);
  });

  test('starts a new interval if an answer contradicts the known one, and says that the clock was set back', () => {
    const clock = new ServerClock();
    clock.observeDate(dated(HOUR_MS), { sentAtMs: 0, nowMs: 100 });
    expect(clock.observeDate(dated(1_000), { sentAtMs: 200, nowMs: 300 })).toBe(true);
    expect([clock.atLeast(300), clock.atMost(300)]).toEqual([1_000, 2_100]);
    expect(clock.observeDate(dated(2 * HOUR_MS), { sentAtMs: 400, nowMs: 500 })).toBe(false);
  });

  test('takes a clock for set back if it was set back by more than a minute', () => {
    const setBackBy = (ms: number) => {
      const clock = new ServerClock();
      clock.observeDate(dated(HOUR_MS), { sentAtMs: 100, nowMs: 100 });
      return clock.observeDate(dated(HOUR_MS - PRECISION_MS - ms), { sentAtMs: 100, nowMs: 100 });
    };
    expect([setBackBy(60_000), setBackBy(60_001)]).toEqual([false, true]);
  });

  test('infers without Date that an answer was made in the window that ends at its Reset', () => {
    const clock = new ServerClock();
    clock.observeReset({ ...UNDATED, resetAtMs: HOUR_MS }, MINUTE_MS, { sentAtMs: 0, nowMs: 100 });
    expect([clock.atLeast(100), clock.atMost(100)]).toEqual([HOUR_MS - 61_000, HOUR_MS + 1_100]);
  });

  test('infers nothing from the Reset of an answer with a Date', () => {
    const clock = new ServerClock();
    clock.observeReset({ ...dated(HOUR_MS), resetAtMs: HOUR_MS + 30_000 }, MINUTE_MS, { sentAtMs: 0, nowMs: 100 });
    expect([clock.atLeast(100), clock.atMost(100)]).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]);
  });

  test('counts a Reset that is a time from now from the earliest time possible, or from our own if none is known', () => {
    const clock = new ServerClock();
    const [answer, exchange] = [
      { ...UNDATED, resetInMs: 20_000 },
      { sentAtMs: 0, nowMs: 100 },
    ];
    expect(clock.resetOf(answer, MINUTE_MS, exchange)).toEqual({ atMs: 20_100, endsAtMs: 20_100, slackMs: PRECISION_MS + 100 });
    clock.observeDate(dated(HOUR_MS), exchange);
    expect(clock.resetOf(answer, MINUTE_MS, exchange)).toEqual({ atMs: HOUR_MS + 20_000, endsAtMs: 20_100, slackMs: PRECISION_MS + 100 });
  });

  test('takes a Reset to end a window, so it is no further ahead than one, however far Date is behind', () => {
    const clock = new ServerClock();
    const answer = { ...dated(HOUR_MS), resetAtMs: 2 * HOUR_MS };
    const exchange = { sentAtMs: 0, nowMs: 100 };
    clock.observeDate(answer, exchange);
    expect(clock.resetOf(answer, MINUTE_MS, exchange)?.endsAtMs).toBe(exchange.nowMs + MINUTE_MS + PRECISION_MS);
  });

  test("presumes the machine's clock until a Date comes", () => {
    const clock = new ServerClock();
    expect(endsAfterMs(clock, HOUR_MS - 20_000)).toBe(20_000);
    clock.observeDate(dated(HOUR_MS - 40_000), { sentAtMs: 0, nowMs: 100 });
    expect(endsAfterMs(clock, HOUR_MS - 20_000)).toBe(40_000);
  });

  test("no longer presumes the machine's clock once a request was refused", () => {
    const clock = new ServerClock();
    expect(endsAfterMs(clock, HOUR_MS - 20_000, 429)).toBe(61_000);
    expect(endsAfterMs(clock, HOUR_MS - 20_000)).toBe(61_000);
  });

  test('widens by a ten-thousandth of the time since the last answer, and not before it', () => {
    const clock = new ServerClock();
    clock.observeDate(dated(HOUR_MS), { sentAtMs: 900, nowMs: 1_000 });
    expect([clock.atLeast(11_000), clock.atMost(11_000)]).toEqual([HOUR_MS + 10_000 - 1, HOUR_MS + 11_100 + 1]);
    expect([clock.atLeast(500), clock.atMost(500)]).toEqual([HOUR_MS - 500, HOUR_MS + 600]);
  });

  test("does not presume the machine's clock if answers show that it is ahead", () => {
    expect(endsAfterMs(new ServerClock(), HOUR_MS + 5_000)).toBe(61_000);
  });
});
