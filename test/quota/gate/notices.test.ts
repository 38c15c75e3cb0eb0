import { expect, test } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { GateNotices, QueueNotices } from '../../../src/quota/gate/notices.ts';
import { makeCall } from '../../support/call.ts';

test('GateNotices reports an instant once, though the clock of the machine and the monotonic one are a millisecond apart', () => {
  const emitter = new Emitter();
  const told: unknown[] = [];
  emitter.on('gate', ({ state, until }) => told.push([state, until?.getTime()]));
  const [call, notices] = [makeCall({ emitter }), new GateNotices()];
  const report = (isClosed: boolean, untilMs?: number) =>
    notices.report(call, { isClosed, until: untilMs === undefined ? undefined : new Date(untilMs) });
  for (const untilMs of [50_000, 50_001, 49_999, 50_000]) report(true, untilMs);
  report(true, 51_000);
  report(false);
  report(false);
  report(true);
  expect(told).toEqual([
    ['closed', 50_000],
    ['closed', 51_000],
    ['open', undefined],
    ['closed', undefined],
  ]);
});

test('QueueNotices reports an instant once, a later one, and again if ten times as many calls wait', () => {
  const emitter = new Emitter();
  const told: unknown[] = [];
  emitter.on('queue', ({ calls, ms }) => told.push([calls, ms]));
  const [call, notices] = [makeCall({ emitter }), new QueueNotices()];
  const report = (calls: number, ms: number, nowMs = 0) => notices.report(call, { calls, reason: 'quota', ms, nowMs });
  report(1, 1_000);
  report(2, 20_000);
  report(3, 20_000);
  report(3, 21_000);
  report(3, 15_000, 5_000);
  report(3, 55_000, 5_000);
  report(29, 55_000, 5_000);
  report(30, 55_000, 5_000);
  expect(told).toEqual([
    [2, 20_000],
    [3, 55_000],
    [30, 55_000],
  ]);
});
