import { describe, expect, test } from 'vitest';
import { type Reset, WindowReset } from '../../../src/quota/ledger/window-reset.ts';

const MINUTE_MS = 60_000;
/** When a request was sent and answered, where it does not matter. */
const ANSWERED = { sentAtMs: 0, nowMs: 100 };

/** A Reset, with both clocks alike. */
function at(atMs: number, slackMs = 0): Reset {
  return { atMs, endsAtMs: atMs, slackMs };
}

/** A window whose first Reset, at a minute, was reported. */
function reported(): WindowReset {
  const reset = new WindowReset(MINUTE_MS);
  reset.observe(at(MINUTE_MS), 'first');
  return reset;
}

describe('WindowReset', () => {
  test('calls a Reset the first one, the same, another one, or that of the next window', () => {
    expect(new WindowReset(MINUTE_MS).kindOf(at(MINUTE_MS))).toBe('first');
    const kinds = [60_000, 61_500, 58_500, 61_501, 111_000, 111_001].map((atMs) => reported().kindOf(at(atMs)));
    expect(kinds).toEqual(['same', 'same', 'same', 'moved', 'moved', 'next']);
  });

  test('allows for what a Reset may be off', () => {
    expect([reported().kindOf(at(62_000, 500)), reported().kindOf(at(62_001, 500))]).toEqual(['same', 'moved']);
  });

  test('says that a window lasts if its Reset comes again after it had seemed to pass', () => {
    const reset = reported();
    reset.pass(MINUTE_MS + 10);
    expect([reset.current, reset.endsAtMs]).toEqual([undefined, 120_010]);
    expect([reset.kindOf(at(60_900)), reset.kindOf(at(120_000))]).toEqual(['lasting', 'moved']);
  });

  test('ends a window at the earliest instant that the same Reset shows, and keeps its time on the server', () => {
    const reset = reported();
    reset.observe({ atMs: 60_500, endsAtMs: 59_800, slackMs: 0 }, 'same');
    reset.observe({ atMs: 60_500, endsAtMs: 60_400, slackMs: 0 }, 'same');
    expect([reset.endsAtMs, reset.current?.atMs]).toEqual([59_810, 60_000]);
  });

  test('waits longer for the end of a window that lasted: half a second, then twice as long each time, for five seconds at most', () => {
    const reset = reported();
    const margins = Array.from({ length: 5 }, () => {
      reset.observe(at(MINUTE_MS), 'lasting');
      return reset.endsAtMs - MINUTE_MS;
    });
    expect(margins).toEqual([500, 1_000, 2_000, 4_000, 5_000]);
  });

  test('is overtaken by a newer Reset, and by the end of the window that the request was sent in', () => {
    const reset = reported();
    expect([reset.isOvertaken(at(58_000), 0), reset.isOvertaken(at(59_000), 0)]).toEqual([true, false]);
    reset.pass(60_010);
    expect([reset.isOvertaken(at(60_000), 59_990), reset.isOvertaken(at(60_000), 60_020)]).toEqual([true, false]);
  });

  test('has moved if it is later before the known one has passed, or by less than a window', () => {
    const compare = (atMs: number, serverMs: number) => reported().compare(at(atMs), { ...ANSWERED, serverMs });
    expect(compare(120_000, 60_500)).toMatchObject({ hasMoved: false, hasPassed: true });
    expect(compare(120_000, 30_000)).toMatchObject({ hasMoved: true, hasPassed: false });
    expect(compare(90_000, 60_500)).toMatchObject({ hasMoved: true, hasPassed: true });
    expect(new WindowReset(MINUTE_MS).compare(at(90_000), { ...ANSWERED, serverMs: 60_500 })).toMatchObject({ hasMoved: false });
  });

  test('is by the clock at the turn of a minute, as far as its precision shows', () => {
    const isByClock = (atMs: number, slackMs = 0) => reported().compare(at(atMs, slackMs), { ...ANSWERED, serverMs: 0 }).isByClock;
    expect([118_500, 121_500, 118_499, 121_501].map((atMs) => isByClock(atMs))).toEqual([true, true, false, false]);
    expect(isByClock(122_000, 500)).toBe(true);
  });

  test('forgets what it was told', () => {
    const reset = reported();
    reset.forget(5_000);
    expect([reset.current, reset.endsAtMs, reset.kindOf(at(MINUTE_MS))]).toEqual([undefined, 65_000, 'first']);
  });
});
