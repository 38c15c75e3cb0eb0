import { expect, test } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { GateNotices } from '../../../src/quota/gate/notices.ts';
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
