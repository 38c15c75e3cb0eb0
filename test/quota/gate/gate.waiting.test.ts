import { RateLimitError } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../../../src/call.ts';
import { Emitter } from '../../../src/events.ts';
import type { CallOptions } from '../../../src/options/call-options.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { holdTime, NOW_MS } from '../../support/time.ts';
import { answerNow, FREE, makeGate, makeLimits, pass, Visitors } from './gate-kit.ts';

holdTime();

describe('Gate, when a wait is longer than `maxWaitMs`,', () => {
  test('refuses at once every call that does not allow it, sends nothing, and keeps the others', async () => {
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

  test('refuses at once when the day is used up, but not while an answer is still to come that may change this', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.ask('next');
    visitors.answer(answerNow({ limit: 1_000, remaining: 1, resetAtMs: NOW_MS + 36_000_000 }));
    visitors.ask('last');
    await pass(50);
    expect(visitors.log).toEqual(['0 probe', '0 next']);
    visitors.answer(answerNow({ limit: 1_000, remaining: 0, resetAtMs: NOW_MS + 36_000_000 }));
    await pass(0);
    expect(visitors.log).toEqual(['0 probe', '0 next', '0.1 last refused']);
  });

  test('does not count the length of the queue', async () => {
    const visitors = new Visitors(makeGate({ plan: { requestsPerMinute: 1 } }));
    visitors.askTimes(4);
    for (let minute = 0; minute < 4; minute++) {
      visitors.answer({ status: 200, receivedAtMs: Date.now() });
      await pass(61_500);
    }
    expect(visitors.failures).toEqual([]);
    expect(visitors.log).toHaveLength(4);
  });

  test('gives a call its last failure, and says why it is not tried again', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 7_200_000 }));
    const call = makeListCall();
    call.lastFailure = new RateLimitError('x', { status: 429, code: 'slow_down' });
    visitors.ask('again', call);
    await pass(0);
    expect(visitors.failures).toMatchObject([
      {
        kind: 'rate-limit',
        status: 429,
        code: 'slow_down',
        cause: call.lastFailure,
        retryAt: expect.any(Date),
        message: expect.stringMatching(
          /^x; not tried again: the service closed this key until \S+ \(.+ longer than `maxWaitMs` of 2 min\)$/,
        ),
      },
    ]);
  });
});

describe('Gate keeps the queue in order:', () => {
  const low = () => makeListCall({ maxWaitMs: 1e9 });

  test('raises a call that does not wait, without effect', () => {
    const gate = makeGate();
    gate.raise(makeListCall({ priority: 'low' }));
    expect(gate.enter(makeListCall(), makeLimits(gate))).not.toBeInstanceOf(Promise);
  });

  test('first come, first served; normal calls go before low ones; a raised call goes behind the normal ones', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    const makeLow = () => makeCall({}, { priority: 'low' });
    visitors.ask('probe');
    visitors.ask('low 1', makeLow());
    const raised = visitors.ask('low 2', makeLow());
    visitors.ask('normal 1');
    visitors.ask('normal 2');
    raised.raise();
    gate.raise(raised);
    gate.raise(raised);
    visitors.answer();
    await pass(50);
    expect(visitors.log.map((line) => line.slice(2))).toEqual(['probe', 'normal 1', 'normal 2', 'low 2', 'low 1']);
  });

  test('a call keeps its place if its first attempt fails, and goes behind the others if another one does', async () => {
    const visitors = new Visitors(makeGate());
    const refused = visitors.ask('refused');
    visitors.ask('waiting 1');
    visitors.ask('waiting 2');
    for (const attempts of [1, 2]) {
      visitors.answer(answerNow({ status: 429, retryAfterMs: 1_000 * attempts }));
      refused.attempts = attempts;
      visitors.ask('refused', refused);
      await pass(1_100 * 4 ** (attempts - 1));
    }
    visitors.answer();
    await pass(60_000);
    const names = visitors.log.map((line) => line.slice(line.indexOf(' ') + 1));
    expect(names).toEqual(['refused', 'refused', 'waiting 1', 'waiting 2', 'refused']);
  });

  test('a call that a share for low priority held up leaves as soon as it is raised', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate, makeLimits(gate, { share: { low: 0.02 } }));
    const makeLow = () => makeCall({}, { priority: 'low' });
    visitors.ask('low 1', makeLow());
    visitors.answer();
    const raised = visitors.ask('low 2', makeLow());
    await pass(1_000);
    expect(visitors.log).toEqual(['0 low 1']);
    raised.raise();
    gate.raise(raised);
    await pass(10);
    expect(visitors.log).toEqual(['0 low 1', '1 low 2']);
  });

  test('an aborted call leaves synchronously, and keeps no slot and no listener', async () => {
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
    visitors.answer();
    expect(gate.quotaOf().minute.remaining).toBe(50);
  });

  test('an abort inside a `wait` listener is not lost', async () => {
    const emitter = new Emitter();
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    const leaving = makeCall({ emitter });
    emitter.on('wait', () => leaving.abort(new Error('not for me')));
    visitors.ask('leaving', leaving);
    await pass(0);
    expect(visitors.failures).toEqual([new Error('not for me')]);
    visitors.answer();
    await pass(50);
    expect(visitors.permits).toEqual([]);
  });

  test('a call that a `wait` listener makes is queued behind the one that waits', async () => {
    const emitter = new Emitter();
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    emitter.on('wait', () => visitors.ask('inner'));
    visitors.ask('outer', makeCall({ emitter }));
    visitors.answer();
    await pass(50);
    expect(visitors.log.map((line) => line.slice(2))).toEqual(['probe', 'outer', 'inner']);
  });

  test('a call that is already aborted does not wait', async () => {
    const call = low();
    call.abort('gone');
    const gate = makeGate();
    await expect(gate.enter(call, makeLimits(gate))).rejects.toBe('gone');
  });

  test('reports how long a call waits, and why', async () => {
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

  test('reports whole milliseconds, and 0 if only an answer can end the wait', async () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('wait', ({ reason, ms }) => told.push([reason, ms]));
    const visitors = new Visitors(makeGate({ concurrency: 1 }));
    visitors.ask('probe');
    visitors.ask('full', makeCall({ emitter }));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_000.4 }));
    visitors.ask('closed', makeCall({ emitter }));
    await pass(0);
    expect(told).toEqual([
      ['in-flight', 0],
      ['rate-limit', 1_001],
    ]);
  });
});

describe('Gate reports the queue', () => {
  /** A call whose `queue` events are noted. */
  function watchedCalls(): { call: (id: number, options?: Partial<CallOptions>) => Call; told: string[] } {
    const emitter = new Emitter();
    const told: string[] = [];
    emitter.on('queue', ({ callId, reason, ms, calls }) => told.push(`call ${callId}: ${reason} ${ms}, first of ${calls}`));
    return { told, call: (id, options) => makeCall({ id, operation: 'listInventory', petId: undefined, emitter }, options) };
  }

  test('once for each window, when the length of the wait is known', async () => {
    const visitors = new Visitors(makeGate());
    const { call, told } = watchedCalls();
    for (let id = 1; id <= 4; id++) visitors.ask(String(id), call(id));
    const whileProbing = [...told];
    visitors.answer(answerNow({ remaining: 0 }));
    await pass(61_100);
    visitors.answer(answerNow({ remaining: 0 }));
    await pass(30_000);
    expect(whileProbing).toEqual([]);
    expect(told).toEqual([
      expect.stringMatching(/^call 2: quota 60\d{3}, first of 3$/),
      expect.stringMatching(/^call 3: quota \d{4,5}, first of 2$/),
    ]);
  });

  test('also for a shorter wait than the one before, whose calls were aborted', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate, makeLimits(gate, { share: { low: 1 / FREE.requestsPerDay } }));
    const { call, told } = watchedCalls();
    const askLow = (id: number) => visitors.ask(String(id), call(id, { priority: 'low', maxWaitMs: 2 * 86_400_000 }));
    askLow(1);
    visitors.answer();
    const low = askLow(2);
    low.abort('gone');
    await pass(1);
    visitors.ask('3', call(3));
    visitors.answer(answerNow({ remaining: 0 }));
    visitors.ask('4', call(4));
    expect(told).toEqual([expect.stringMatching(/^call 2: quota 86\d{6}, first of 1$/), expect.stringMatching(/^call 4: quota 60\d{3}, /)]);
  });

  test('once more when ten times as many calls wait as it reported last', async () => {
    const visitors = new Visitors(makeGate());
    const { call, told } = watchedCalls();
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 60_000 }));
    for (let id = 1; id <= 10_000; id++) visitors.ask(String(id), call(id));
    await pass(1_000);
    const sizes = [1, 10, 100, 1_000, 10_000];
    expect(told).toEqual(sizes.map((calls) => `call 1: rate-limit 60000, first of ${calls}`));
  });

  test('to a listener that makes a call, whose timer ends with the queue', async () => {
    const emitter = new Emitter();
    const visitors = new Visitors(makeGate());
    emitter.on('queue', () => visitors.ask('inner'));
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 30_000 }));
    const outer = visitors.ask('outer', makeCall({ emitter }));
    await pass(1_000);
    const whileWaiting = vi.getTimerCount();
    outer.abort('gone');
    await pass(40_000);
    visitors.answer();
    await pass(100);
    expect([whileWaiting, vi.getTimerCount(), visitors.log.slice(1)]).toEqual([1, 0, ['1 outer refused', '30 inner']]);
  });

  test('but not if the wait is a second or less', async () => {
    const visitors = new Visitors(makeGate());
    const { call, told } = watchedCalls();
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_000 }));
    visitors.ask('next', call(1));
    await pass(1_100);
    expect([visitors.log.at(-1), told]).toEqual(['1 next', []]);
  });

  test('if the wait is longer than a second, and again if it grows by more than a second', async () => {
    const visitors = new Visitors(makeGate());
    const { call, told } = watchedCalls();
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(3);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_500 }));
    visitors.ask('next', call(1));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 2_500 }));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 3_000 }));
    await pass(100);
    expect(told).toEqual(['call 1: rate-limit 1500, first of 1', 'call 1: rate-limit 3000, first of 1']);
  });
});

describe('Gate reads a monotonic clock:', () => {
  test.each([
    ['back by an hour', -3_600_000],
    ['forward by 600 ms', 600],
    ['forward by an hour', 3_600_000],
  ])('a wait of a minute stays a minute when the date is set %s', async (_change, byMs) => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(2);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 60_000 }));
    await pass(30_000);
    vi.setSystemTime(Date.now() + byMs);
    await pass(29_500);
    visitors.ask('later');
    await pass(499);
    expect(visitors.log).toEqual(['0 1']);
    await pass(200);
    expect(visitors.permits).toHaveLength(1);
  });
});

describe('Gate keeps the process alive', () => {
  test('by one timer while calls wait for an instant, and by none when no call waits', async () => {
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
