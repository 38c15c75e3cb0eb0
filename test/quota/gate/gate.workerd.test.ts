import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeListCall } from '../../support/call.ts';
import { holdTime } from '../../support/time.ts';
import { answerNow, makeGate, pass, Visitors } from './gate-kit.ts';

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

  test('leaves no timer when a call has its slot', async () => {
    const visitors = new Visitors(makeGate());
    const calls = [visitors.ask('1'), visitors.ask('2')];
    await pass(1_100);
    for (const call of calls) call.end();
    expect(visitors.log).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
