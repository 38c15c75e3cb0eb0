import { ConnectionError, RateLimitError, ServerError, TimeoutError } from 'petstore-inventory';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Emitter } from '../../src/events.ts';
import { makeCall, makeListCall } from '../support/call.ts';
import { holdTime, NOW_MS } from '../support/time.ts';
import { answerNow, FREE, makeGate, pass, Visitors } from './gate-kit.ts';

holdTime();

describe('Gate, while the budget is unknown,', () => {
  test('lets one probe go, and the rest after its answer', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(20);
    await pass(500);
    expect(visitors.log).toEqual(['0 1']);
    visitors.answer();
    await pass(50);
    expect(visitors.log).toHaveLength(1 + 8);
  });

  test('lets a second probe go when the first has no answer for a second', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(3);
    await pass(1_100);
    expect(visitors.log).toEqual(['0 1', '1 2']);
  });

  test('probes with no more requests in flight than `concurrency`', async () => {
    const visitors = new Visitors(makeGate({ concurrency: 1 }));
    visitors.askTimes(2);
    await pass(5_000);
    expect(visitors.log).toEqual(['0 1']);
    visitors.lose(undefined);
    await pass(50);
    expect(visitors.log).toEqual(['0 1', '5 2']);
  });

  test('probes again after the Reset, and not before', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(3);
    visitors.answer(answerNow({ remaining: 0 }));
    await pass(59_900);
    expect(visitors.log).toEqual(['0 1']);
    await pass(400);
    expect(visitors.log).toEqual(['0 1', '60 2']);
  });
});

describe('Gate, where quota is free,', () => {
  test('gives a ticket in the same tick, and holds no timer', async () => {
    const gate = makeGate();
    const first = await gate.enter(makeListCall());
    first.heard(answerNow());
    first.left();
    expect(gate.enter(makeListCall())).not.toBeInstanceOf(Promise);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('never has more in flight than `concurrency`', async () => {
    const visitors = new Visitors(makeGate({ plan: 'unlimited', concurrency: 3 }));
    visitors.askTimes(10);
    visitors.answer({ status: 200, receivedAtMs: NOW_MS });
    await pass(5_000);
    expect(visitors.tickets).toHaveLength(3);
  });

  test('has at most eight in flight when little is left, so that a surprise costs few requests', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(40);
    visitors.answer(answerNow({ remaining: 40 }));
    await pass(500);
    expect(visitors.tickets).toHaveLength(8);
  });

  test('takes a ticket back that was not used', async () => {
    const gate = makeGate({ plan: { requestsPerMinute: 1 } });
    const ticket = await gate.enter(makeListCall());
    ticket.unused();
    expect(gate.enter(makeListCall())).not.toBeInstanceOf(Promise);
  });
});

describe('Gate, after a 429,', () => {
  test('holds every caller until the latest Retry-After has passed', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.ask('one');
    visitors.ask('other');
    await pass(0);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 9_000 }));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 4_000 }));
    visitors.askTimes(3);
    await pass(8_990);
    expect(visitors.log).toEqual(['0 probe', '0 one', '0 other']);
    await pass(100);
    expect(visitors.log).toEqual(['0 probe', '0 one', '0 other', '9 1']);
  });

  test('backs off exponentially when they come in a row, and starts anew after an answer', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(7);
    for (const waitMs of [1_000, 2_000, 4_000, 8_000]) {
      await pass(50);
      visitors.answer({ status: 429, receivedAtMs: Date.now() });
      await pass(waitMs - 60);
      expect(visitors.tickets).toHaveLength(0);
      await pass(60);
    }
    await pass(50);
    expect(visitors.log).toEqual(['0 1', '1.1 2', '3.1 3', '7.2 4', '15.2 5']);
    visitors.answer();
    await pass(50);
    visitors.answer({ status: 429, receivedAtMs: Date.now() });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('waits for the Reset of an empty window where Retry-After is missing', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(2);
    visitors.answer(answerNow({ status: 429, remaining: 0 }));
    await pass(59_900);
    expect(visitors.log).toEqual(['0 1']);
    await pass(400);
    expect(visitors.log).toEqual(['0 1', '60 2']);
  });

  test('treats a 503 with Retry-After the same', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(2);
    visitors.answer({ status: 503, receivedAtMs: NOW_MS, retryAfterMs: 20_000 });
    await pass(19_900);
    expect(visitors.log).toEqual(['0 1']);
    await pass(200);
    expect(visitors.log).toEqual(['0 1', '20 2']);
  });

  test('outlives timers: a wait of 30 days is kept to the second', async () => {
    const days = 86_400_000;
    const patient = () => makeListCall({ maxWaitMs: 40 * days });
    const visitors = new Visitors(makeGate());
    visitors.ask('probe', patient());
    visitors.ask('next', patient());
    visitors.answer(answerNow({ status: 429, retryAfterMs: 30 * days }));
    await pass(30 * days - 1_000);
    expect(visitors.log).toEqual(['0 probe']);
    await pass(2_000);
    expect(visitors.log).toEqual(['0 probe', `${30 * 86_400} next`]);
  });

  test('tells the gate as closed once, with the instant, and as open again', async () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('gate', ({ state, until }) => told.push([state, until?.getTime()]));
    const visitors = new Visitors(makeGate());
    visitors.ask('1', makeCall({ emitter }));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 5_000 }));
    visitors.ask('2', makeCall({ emitter }));
    await pass(5_100);
    visitors.answer();
    expect(told).toEqual([
      ['closed', NOW_MS + 5_000],
      ['open', undefined],
    ]);
  });
});

describe('Gate, when a wait is longer than `maxWaitMs`,', () => {
  test('tells everybody at once, sends nothing, and keeps those who allow it', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.ask('patient', makeListCall({ maxWaitMs: 8_000_000 }));
    visitors.askTimes(3);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 7_200_000 }));
    visitors.ask('late');
    await pass(0);
    expect(visitors.log).toEqual(['0 probe', '0 1 refused', '0 2 refused', '0 3 refused', '0 late refused']);
    const [failure] = visitors.failures;
    expect(failure).toBeInstanceOf(RateLimitError);
    expect(failure).toMatchObject({ status: undefined, code: 'wait_too_long', retryAt: new Date(NOW_MS + 7_200_000), attempts: 0 });
    await pass(7_200_100);
    expect(visitors.log.at(-1)).toBe('7200 patient');
  });

  test('refuses at once when the day is used up, but not while an answer is out that may change it', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.ask('next');
    visitors.answer(answerNow({ rateLimit: { limit: 1_000, remaining: 1, resetAtMs: NOW_MS + 36_000_000 } }));
    visitors.ask('last');
    await pass(50);
    expect(visitors.log).toEqual(['0 probe', '0 next']);
    visitors.answer(answerNow({ rateLimit: { limit: 1_000, remaining: 0, resetAtMs: NOW_MS + 36_000_000 } }));
    await pass(0);
    expect(visitors.log).toEqual(['0 probe', '0 next', '0.1 last refused']);
  });

  test('does not count the length of the line', async () => {
    const visitors = new Visitors(makeGate({ plan: { requestsPerMinute: 1 } }));
    visitors.askTimes(4);
    for (let minute = 0; minute < 4; minute++) {
      visitors.answer({ status: 200, receivedAtMs: Date.now() });
      await pass(61_500);
    }
    expect(visitors.failures).toEqual([]);
    expect(visitors.log).toHaveLength(4);
  });

  test('gives a call its own last failure back', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 7_200_000 }));
    const call = makeListCall();
    call.lastFailure = new RateLimitError('x', { status: 429 });
    visitors.ask('again', call);
    await pass(0);
    expect(visitors.failures).toEqual([call.lastFailure]);
  });
});

describe('Gate keeps the line in order:', () => {
  const low = () => makeListCall({ maxWaitMs: 1e9 });

  test('first come, first served; low calls let normal ones pass; a raised one goes behind them', async () => {
    const visitors = new Visitors(makeGate());
    const makeLow = () => makeCall({}, { priority: 'low' });
    visitors.ask('probe');
    visitors.ask('low 1', makeLow());
    const raised = visitors.ask('low 2', makeLow());
    visitors.ask('normal 1');
    visitors.ask('normal 2');
    raised.raise();
    raised.raise();
    visitors.answer();
    await pass(50);
    expect(visitors.log.map((line) => line.slice(2))).toEqual(['probe', 'normal 1', 'normal 2', 'low 2', 'low 1']);
  });

  test('an abort leaves in the same tick, takes no slot and no listener', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    const leaving = low();
    const removed = vi.spyOn(leaving.signal, 'removeEventListener');
    visitors.ask('leaving', leaving);
    leaving.abort(new Error('changed my mind'));
    expect(vi.getTimerCount()).toBe(0);
    await Promise.resolve();
    expect(visitors.failures).toEqual([new Error('changed my mind')]);
    expect(removed).toHaveBeenCalledOnce();
    expect(leaving.onRaise).toBeUndefined();
    visitors.answer();
    expect(gate.quota.minute.remaining).toBe(50);
  });

  test('a call that is aborted already does not even wait', async () => {
    const call = low();
    call.abort('gone');
    await expect(makeGate().enter(call)).rejects.toBe('gone');
  });

  test('tells how long a call waited, and why', async () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('wait', ({ reason, ms }) => told.push([reason, ms]));
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 5_000 }));
    const call = visitors.ask('next', makeCall({ emitter }));
    await pass(6_000);
    expect(told).toEqual([['rate-limit', 5_000]]);
    expect(call.waitedMs).toBeGreaterThanOrEqual(5_000);
  });
});

describe('Gate, in an outage,', () => {
  const down = { status: 500, receivedAtMs: NOW_MS };

  /** Three failures over half a second. */
  async function breakDown(visitors: Visitors, fail: () => void): Promise<void> {
    visitors.askTimes(3);
    for (let n = 0; n < 3; n++) {
      await pass(600);
      fail();
    }
    expect(visitors.log).toHaveLength(3);
  }

  test('probes after 0.5, 1, 2, 4, 8, 8 s, one at a time', async () => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    const startMs = Date.now();
    visitors.askTimes(8);
    const probes: number[] = [];
    for (const waitMs of [500, 1_000, 2_000, 4_000, 8_000, 8_000]) {
      await pass(waitMs + 30);
      expect(visitors.tickets).toHaveLength(1);
      probes.push(Math.round((Date.now() - startMs) / 500) / 2);
      visitors.answer({ ...down, receivedAtMs: Date.now() });
    }
    expect(probes).toEqual([0.5, 1.5, 3.5, 7.5, 15.5, 23.5]);
  });

  test('three failures within half a second are none', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(3);
    await pass(10);
    for (let n = 0; n < 3; n++) visitors.answer({ ...down, receivedAtMs: Date.now() });
    visitors.askTimes(4);
    await pass(1_000);
    expect(visitors.log.length).toBeGreaterThan(5);
  });

  test('lets the rest go after a probe that succeeded', async () => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.askTimes(5);
    await pass(600);
    visitors.answer();
    await pass(50);
    expect(visitors.tickets).toHaveLength(4);
  });

  test.each([
    ['ServerError', (visitors: Visitors) => visitors.answer({ ...down, status: 502, receivedAtMs: Date.now() }), ServerError],
    ['TimeoutError', (visitors: Visitors) => visitors.lose(new TimeoutError('x')), TimeoutError],
    ['ConnectionError', (visitors: Visitors) => visitors.lose(new ConnectionError('x', { code: 'ECONNREFUSED' })), ConnectionError],
  ])('a call that waited `maxWaitMs` behind it rejects with the last failure as %s', async (_name, fail, expected) => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => fail(visitors));
    visitors.ask('prober', makeListCall({ maxWaitMs: 1e9 }));
    visitors.ask('impatient', makeListCall({ maxWaitMs: 3_000 }));
    await pass(2_900);
    expect(visitors.failures).toEqual([]);
    await pass(200);
    expect(visitors.failures).toEqual([expect.any(expected)]);
  });

  test('pays its probes from the plan', async () => {
    const visitors = new Visitors(makeGate({ plan: { requestsPerMinute: 3 } }));
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.askTimes(3);
    await pass(50_000);
    expect(visitors.tickets).toHaveLength(0);
    await pass(15_000);
    expect(visitors.tickets).toHaveLength(1);
  });

  test('takes 10,000 calls in under a second of work', async () => {
    vi.useRealTimers();
    const gate = makeGate();
    const visitors = new Visitors(gate);
    vi.useFakeTimers({ now: NOW_MS });
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    vi.useRealTimers();
    const startMs = performance.now();
    visitors.askTimes(10_000, () => makeListCall({ maxWaitMs: 1e9 }));
    expect(performance.now() - startMs).toBeLessThan(1_000);
  });
});

describe('Gate reads a clock that is never set back:', () => {
  test('a wait of a minute stays a minute when the clock is set back by an hour', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(2);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 60_000 }));
    await pass(30_000);
    vi.setSystemTime(NOW_MS - 3_600_000);
    await pass(29_900);
    expect(visitors.tickets).toHaveLength(0);
    await pass(200);
    expect(visitors.tickets).toHaveLength(1);
  });
});

describe('Gate of two clients:', () => {
  test('the stricter settings count, and what differs is told', async () => {
    const gate = makeGate({ plan: { requestsPerMinute: 300, requestsPerDay: 10_000 } });
    const warn = vi.fn();
    gate.tighten({ plan: FREE, concurrency: 8, share: 0.5 }, warn);
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('plan and concurrency and share'));
    expect(gate.quota).toMatchObject({ minute: { limit: 30 }, day: { limit: 500 } });
  });

  test('one that leaves the plan to the headers takes the other plan, without a warning', () => {
    const gate = makeGate({ plan: undefined });
    const warn = vi.fn();
    gate.tighten({ plan: { requestsPerMinute: 300 }, concurrency: 64, share: 1 }, warn);
    gate.tighten({ plan: undefined, concurrency: 64, share: 1 }, warn);
    expect(warn).not.toHaveBeenCalled();
    expect(gate.quota).toMatchObject({ minute: { limit: 300 }, day: { limit: undefined } });
  });

  test('an unlimited plan becomes a limited one, for waiting calls too', async () => {
    const gate = makeGate({ plan: 'unlimited' });
    gate.tighten({ plan: { requestsPerMinute: 2 }, concurrency: 64, share: 1 }, vi.fn());
    const visitors = new Visitors(gate);
    visitors.askTimes(5);
    visitors.answer({ status: 200, receivedAtMs: NOW_MS });
    await pass(50_000);
    expect(visitors.log).toHaveLength(2);
  });
});

describe('Gate.quota', () => {
  test('shows limit, what is left after those that are out, Reset, and until when the key is closed', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    expect(gate.quota).toEqual({
      minute: { limit: 60, remaining: 60, resetAt: undefined },
      day: { limit: 1_000, remaining: 1_000, resetAt: undefined },
      closedUntil: undefined,
    });
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(2);
    expect(gate.quota).toMatchObject({ minute: { remaining: 48, resetAt: new Date(NOW_MS + 60_000) }, day: { remaining: 997 } });
    await pass(0);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_500 }));
    expect(gate.quota.closedUntil).toEqual(new Date(NOW_MS + 1_500));
  });

  test('shows the plan as the headers taught it', async () => {
    const gate = makeGate({ plan: undefined });
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer(answerNow({ rateLimit: { limit: 300, remaining: 299, resetAtMs: NOW_MS + 30_000 } }));
    expect(gate.quota).toMatchObject({ minute: { limit: 300, remaining: 299 }, day: { limit: 10_000 } });
  });
});

describe('Gate holds the process', () => {
  test('by one timer while calls wait for an instant, and by none when nobody waits', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_000 }));
    expect(vi.getTimerCount()).toBe(0);
    visitors.askTimes(5);
    await pass(0);
    expect(vi.getTimerCount()).toBe(1);
    for (let n = 0; n < 5; n++) {
      await pass(1_100);
      visitors.answer();
    }
    await pass(100);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('Gate, where timers and promises belong to requests (workerd),', () => {
  beforeEach(() => {
    vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  test('lets who waits look for itself when the timers of everybody before are gone', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.ask('waits, and its request ends');
    vi.clearAllTimers();
    visitors.ask('waits');
    await pass(5_900);
    expect(visitors.log).toEqual(['0 probe', '1 waits']);
  });

  test('takes its slot from a call whose request ended under it', async () => {
    const visitors = new Visitors(makeGate({ plan: 'unlimited', concurrency: 1 }));
    visitors.ask('its request ends');
    vi.clearAllTimers();
    visitors.ask('waits');
    await pass(4_900);
    expect(visitors.log).toEqual(['0 its request ends']);
    await pass(2_000);
    expect(visitors.log).toHaveLength(2);
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
