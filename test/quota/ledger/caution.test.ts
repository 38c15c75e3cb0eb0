import { expect, test } from 'vitest';
import { Caution } from '../../../src/quota/ledger/caution.ts';
import { Outstanding } from '../../../src/quota/ledger/outstanding.ts';
import { Windows } from '../../../src/quota/ledger/windows.ts';

function windowsOf(requestsPerMinute: number): Windows {
  return new Windows({ plan: { requestsPerMinute }, concurrency: 64, share: 1 });
}

/** A minute whose slots come back one by one: it was used up, and ten seconds later a sixth of it is left. */
function refilled(): Windows {
  const windows = windowsOf(60);
  const passed = { status: 200, reset: undefined, retryAfterMs: undefined, unanswered: 0, concurrent: 0, serverMs: 0 };
  for (let sent = 0; sent < 60; sent++) windows.minute.add(0);
  windows.minute.observe({ ...passed, remaining: 0, sentAtMs: 0, nowMs: 0 });
  windows.minute.add(10_000);
  windows.minute.observe({ ...passed, remaining: 9, sentAtMs: 10_000, nowMs: 10_000 });
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
