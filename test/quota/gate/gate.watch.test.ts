import { describe, expect, test, vi } from 'vitest';
import { makeCall } from '../../support/call.ts';
import { holdTime, NOW_MS } from '../../support/time.ts';
import { answerNow, makeGate, makeLimits, pass, Visitors } from './gate-kit.ts';

holdTime();

describe('Gate.watch', () => {
  const down = () => answerNow({ status: 500 });

  /** A gate in an outage, behind which a patient call waits for the next probe. */
  async function gateInOutage() {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.askTimes(3);
    for (let n = 0; n < 3; n++) {
      await pass(600);
      visitors.answer(down());
    }
    visitors.ask('patient', makeCall({}, { maxWaitMs: 1_000_000 }));
    return { gate, visitors };
  }

  test('tells a call once that it may not wait as long as the gate is closed', () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    const [hasty, patient] = [vi.fn(), vi.fn()];
    visitors.askTimes(2);
    gate.watch({ call: makeCall({}, { maxWaitMs: 1_000 }), limits: makeLimits(gate) }, hasty);
    gate.watch({ call: makeCall({}, { maxWaitMs: 30_000 }), limits: makeLimits(gate) }, patient);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 20_000 }));
    visitors.ask('later');
    expect(hasty.mock.calls.map(([refusal]) => refusal)).toMatchObject([{ kind: 'rate-limit', retryAt: new Date(NOW_MS + 20_000) }]);
    expect(patient).not.toHaveBeenCalled();
  });

  test('looks at no call while none has to be refused, however many there are', () => {
    const gate = makeGate({ plan: 'unlimited' });
    const visitors = new Visitors(gate);
    const limits = makeLimits(gate);
    const look = vi.spyOn(limits, 'look');
    for (let n = 0; n < 1_000; n++) gate.watch({ call: makeCall({}, { maxWaitMs: 1_000 }), limits }, () => {});
    look.mockClear();
    for (let n = 0; n < 10; n++) {
      visitors.ask(String(n));
      visitors.answer();
    }
    expect(look.mock.calls.length).toBeLessThan(100);
  });

  test('refuses each call of an outage at its own deadline', async () => {
    const { gate } = await gateInOutage();
    const refused: number[] = [];
    for (const maxWaitMs of [3_000, 1_000, 2_000])
      gate.watch({ call: makeCall({}, { maxWaitMs }), limits: makeLimits(gate) }, () => refused.push(maxWaitMs));
    const ends = [];
    for (let n = 0; n < 3; n++) {
      await pass(1_000);
      ends.push([...refused]);
    }
    expect(ends).toEqual([[1_000], [1_000, 2_000], [1_000, 2_000, 3_000]]);
  });

  test('sets no timer for the deadline of a call that left', async () => {
    const { gate, visitors } = await gateInOutage();
    const stop = gate.watch({ call: makeCall({}, { maxWaitMs: 1_000 }), limits: makeLimits(gate) }, () => {});
    visitors.ask('as patient', makeCall({}, { maxWaitMs: 1_000_000 }));
    await pass(700);
    stop();
    const started = vi.spyOn(globalThis, 'setTimeout');
    await pass(10_000);
    expect(started.mock.calls.length).toBeLessThan(5);
  });
});
