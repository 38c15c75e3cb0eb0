import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { freshAddress } from '../../support/client.ts';
import { holdTime } from '../../support/time.ts';
import { answerNow, makeGate, makeLimits, pass, Visitors } from './gate-kit.ts';

holdTime();

describe('Gate, where timers and promises belong to requests (workerd),', () => {
  beforeEach(() => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('lets a waiting call look by its own timer when the timers of all earlier calls are gone', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.ask('waits, and its request ends');
    vi.clearAllTimers();
    visitors.ask('waits');
    await pass(5_900);
    expect(visitors.log).toEqual(['0 probe', '1 waits']);
  });

  test('takes back the slot of a call whose incoming request has ended', async () => {
    const visitors = new Visitors(makeGate({ plan: 'unlimited', concurrency: 1 }));
    visitors.ask('its request ends');
    vi.clearAllTimers();
    visitors.ask('waits');
    await pass(4_900);
    expect(visitors.log).toEqual(['0 its request ends']);
    await pass(2_000);
    expect(visitors.log).toHaveLength(2);
  });

  test('no longer expects an answer to the request of a call whose incoming request has ended', async () => {
    const visitors = new Visitors(makeGate({ plan: { requestsPerMinute: 1 } }));
    visitors.ask('its request ends');
    vi.clearAllTimers();
    visitors.ask('would wait for a minute', makeListCall({ maxWaitMs: 30_000 }));
    await pass(7_000);
    expect(visitors.log).toEqual(['0 its request ends', expect.stringMatching(/refused$/)]);
  });

  test('still expects an answer in flight after an answered call whose incoming request has ended before the body was read', async () => {
    const gate = makeGate({ plan: { requestsPerMinute: 2 } });
    const visitors = new Visitors(gate);
    visitors.ask('its request ends');
    vi.clearAllTimers();
    visitors.permits.shift()?.observe(answerNow({ limit: 2, remaining: 1 }));
    const calls = [visitors.ask('in flight'), visitors.ask('would wait for a minute', makeListCall({ maxWaitMs: 30_000 }))];
    await pass(7_000);
    expect(visitors.log).toEqual(['0 its request ends', '0 in flight']);
    for (const call of calls) call.abort('done');
  });

  test('gives no permit beyond the slots if a listener of `quotaStore` makes calls', async () => {
    const gate = makeGate();
    const leases = [{ granted: 1, expiresInMs: 1_000, resetAtMs: 0, waitMs: 0, reason: 'probe' as const, members: 1 }];
    const exchange = async () => leases.shift() ?? Promise.reject(new Error('down'));
    gate.share({ store: { processes: 10, isCheap: false, join: () => ({ exchange }) }, address: freshAddress(), apiKey: 'key' });
    const visitors = new Visitors(gate);
    const emitter = new Emitter();
    emitter.on('quotaStore', () => visitors.askTimes(3));
    visitors.ask('probe');
    await pass(25);
    visitors.answer(answerNow({ remaining: 40 }));
    visitors.askTimes(10, () => makeCall({ emitter }));
    await pass(1_000);
    // A tenth of what is left.
    expect(visitors.log).toEqual(['0 probe', '0.1 1', '0.1 2', '0.1 3', '0.1 4']);
  });

  test('refuses a call that waits elsewhere at its deadline in an outage, also while no call is queued', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.askTimes(3);
    for (let n = 0; n < 3; n++) {
      await pass(600);
      visitors.answer(answerNow({ status: 500 }));
    }
    visitors.ask('probe');
    const refused = vi.fn();
    gate.watch({ call: makeListCall({ maxWaitMs: 3_000 }), limits: makeLimits(gate) }, refused);
    await pass(2_999);
    expect([visitors.log.length, refused.mock.calls.length]).toEqual([4, 0]);
    await pass(1);
    expect(refused).toHaveBeenCalledOnce();
  });

  test('leaves no timer when a call has its slot', async () => {
    const visitors = new Visitors(makeGate());
    const calls = [visitors.ask('1'), visitors.ask('2')];
    await pass(1_100);
    for (const call of calls) call.end();
    expect(visitors.log).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
