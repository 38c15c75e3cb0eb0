import { expect, test } from 'vitest';
import { Caution } from '../../../src/quota/ledger/caution.ts';
import { Outstanding } from '../../../src/quota/ledger/outstanding.ts';
import { Windows } from '../../../src/quota/ledger/windows.ts';

function windowsOf(requestsPerMinute: number): Windows {
  return new Windows({ plan: { requestsPerMinute }, concurrency: 64, share: 1 });
}

const PASSED = { status: 200, reset: undefined, retryAfterMs: undefined, unanswered: 0, concurrent: 0, serverMs: 0 };

/** A minute whose slots come back one by one: it was used up, and ten seconds later a sixth of it is left. */
function refilled(): Windows {
  const windows = windowsOf(60);
  for (let sent = 0; sent < 60; sent++) windows.minute.add(0);
  windows.minute.observe({ ...PASSED, remaining: 0, sentAtMs: 0, nowMs: 0 });
  windows.minute.add(10_000);
  windows.minute.observe({ ...PASSED, remaining: 9, sentAtMs: 10_000, nowMs: 10_000 });
  return windows;
}

function cautionAfter(refusals: number, windows: Windows): Caution {
  const caution = new Caution(windows, new Outstanding());
  for (let refused = 0; refused < refusals; refused++) caution.refuse(true, true);
  return caution;
}

/** How many good answers it takes until no head-room is left to others any more. */
function answersUntilGone(refusals: number, windows: Windows): number {
  const [caution, never] = [cautionAfter(refusals, windows), cautionAfter(0, windows)];
  let answers = 0;
  for (; caution.kept(10_000) > never.kept(10_000); answers++) caution.succeed(true);
  return answers;
}

test('Caution leaves one request to others for each refusal, for 20 good answers, or 140 if slots come back one by one', () => {
  expect(cautionAfter(3, windowsOf(1000)).kept(0)).toBe(3);
  expect([answersUntilGone(1, windowsOf(1000)), answersUntilGone(3, windowsOf(1000))]).toEqual([20, 60]);
  expect([refilled().minute.isRefilled, answersUntilGone(1, refilled())]).toEqual([true, 140]);
});

test('Caution leaves at most a quarter of the limit to others that only refusals have shown', () => {
  expect(cautionAfter(100, windowsOf(60)).kept(0)).toBe(15);
});

test('Caution counts no more refusals than a quarter of the limit', () => {
  expect(answersUntilGone(100, windowsOf(60))).toBe(15 * 20);
});

test('Caution leaves at most a quarter of a limit that has become smaller', () => {
  const windows = windowsOf(1000);
  const caution = cautionAfter(100, windows);
  windows.restart({ plan: { requestsPerMinute: 60 }, concurrency: 64, share: 1 });
  expect(caution.kept(0)).toBe(15);
});

test.for([
  ['fits', 7],
  ['nothing explains', 60],
] as const)('Caution takes a burst of others for over after an answer that %s', ([, remaining]) => {
  const windows = windowsOf(60);
  const outstanding = new Outstanding();
  const caution = new Caution(windows, outstanding);
  const answer = (left: number, nowMs: number) => {
    const sentAtMs = nowMs - 200;
    outstanding.send(sentAtMs, true);
    windows.minute.add(sentAtMs);
    outstanding.observe(sentAtMs, nowMs);
    windows.minute.observe({ ...PASSED, remaining: left, sentAtMs, nowMs });
  };
  const mostAt = (nowMs: number) => caution.mostInFlight({ inFlight: 0, waiting: 100 }, nowMs);
  for (let sent = 1; sent < 40; sent++) windows.minute.add(800);
  answer(20, 1_000);
  answer(8, 2_000);
  const inBurst = mostAt(2_000);
  answer(remaining, 7_000);
  expect([inBurst, mostAt(7_000)]).toEqual([4, 8]);
});

test('Caution has few requests in flight where no header reports the day, and little of the minute or of the day may be sent', () => {
  const mostWith = (requestsPerMinute: number, requestsPerDay: number) => {
    const windows = new Windows({ plan: { requestsPerMinute, requestsPerDay }, concurrency: 64, share: 1 });
    const outstanding = new Outstanding();
    outstanding.send(0, true);
    outstanding.observe(0, 400);
    windows.minute.observe({ ...PASSED, remaining: requestsPerMinute, sentAtMs: 0, nowMs: 400 });
    return new Caution(windows, outstanding).mostInFlight({ inFlight: 0, waiting: 500 }, 400);
  };
  const most = [mostWith(1_000, 301), mostWith(1_000, 300), mostWith(1_000, 20), mostWith(1_000, 2)];
  expect(most).toEqual([64, 8, 3, 2]);
});
