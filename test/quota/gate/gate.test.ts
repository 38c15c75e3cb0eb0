import { describe, expect, test, vi } from 'vitest';
import { ConnectionError } from '../../../src/errors.ts';
import { Emitter } from '../../../src/events.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { holdTime, NOW_MS } from '../../support/time.ts';
import { answerNow, FREE, makeGate, makeLimits, pass, Visitors } from './gate-kit.ts';

holdTime();

describe('Gate, while the remaining quota is unknown,', () => {
  test('lets one probe go, and the other calls after its answer', async () => {
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

  test('delays the next probe after a failure a little, for a reason other than quota', async () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('wait', ({ reason, ms }) => told.push([reason, ms]));
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer({ status: 500, receivedAtMs: NOW_MS });
    visitors.ask('hasty', makeCall({ emitter }, { maxWaitMs: 50 }));
    await pass(150);
    expect([visitors.log, told]).toEqual([['0 probe', '0.1 hasty'], [['outage', 100]]]);
  });

  test('probes again after the Reset, and not before', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(3);
    visitors.answer(answerNow({ remaining: 0 }));
    await pass(59_900);
    expect(visitors.log).toEqual(['0 1']);
    await pass(1_400);
    expect(visitors.log).toEqual(['0 1', '61 2']);
  });
});

describe('Gate, if a permit is passed on,', () => {
  test('reports the call that is sent, not the one that got the permit', async () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('gate', ({ callId, state }) => told.push([callId, state]));
    const gate = makeGate();
    const permit = await gate.enter(makeCall({ emitter, id: 1 }), makeLimits(gate));
    permit.call = makeCall({ emitter, id: 2 });
    permit.observe(answerNow({ status: 429, retryAfterMs: 1_000 }));
    expect(told).toEqual([[2, 'closed']]);
  });

  test('counts a body that broke, even if the call that got the permit was aborted', async () => {
    const gate = makeGate();
    const breakBody = async () => {
      const aborted = makeListCall();
      const permit = await gate.enter(aborted, makeLimits(gate));
      aborted.abort('superseded');
      permit.call = makeListCall();
      permit.observe(answerNow());
      permit.fail(new ConnectionError('cut', { operation: 'listInventory' }));
      permit.release();
      await pass(600);
    };
    await breakBody();
    await breakBody();
    await breakBody();
    expect(gate.outagePaceOf(makeListCall())).toBeDefined();
  });
});

describe('Gate, while quota is free,', () => {
  test('gives a permit synchronously, and holds no timer', async () => {
    const gate = makeGate();
    const first = await gate.enter(makeListCall(), makeLimits(gate));
    first.observe(answerNow());
    first.release();
    expect(gate.enter(makeListCall(), makeLimits(gate))).not.toBeInstanceOf(Promise);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('never has more in flight than `concurrency`', async () => {
    const visitors = new Visitors(makeGate({ plan: 'unlimited', concurrency: 3 }));
    visitors.askTimes(10);
    visitors.answer({ status: 200, receivedAtMs: NOW_MS });
    await pass(5_000);
    expect(visitors.permits).toHaveLength(3);
  });

  test('has at most eight in flight when little is left, so that an unforeseen 429 costs few requests', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(30);
    visitors.answer(answerNow({ remaining: 40 }));
    await pass(500);
    expect(visitors.permits).toHaveLength(8);
  });

  test('has two in flight, if answers come at once, while more calls wait than are left', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(100);
    visitors.answer(answerNow({ remaining: 40 }));
    await pass(500);
    expect(visitors.permits).toHaveLength(2);
  });

  test('keeps the current probe when another permit is cancelled', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(3);
    await pass(1_010);
    visitors.permits.shift()?.cancel();
    await pass(900);
    expect(visitors.log).toEqual(['0 1', '1 2']);
  });

  test('does not count a cancelled permit as a use of the gate', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer();
    await pass(500);
    visitors.ask('unused');
    visitors.permits.shift()?.cancel();
    expect(gate.idleMs).toBe(500);
  });

  test('is in use as long as one request is in flight', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    await pass(5_000);
    expect(gate.idleMs).toBe(0);
    visitors.answer();
    expect(gate.idleMs).toBe(5_000);
  });

  test('is in use as long as one call waits', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 60_000 }));
    visitors.ask('waits');
    await pass(5_000);
    expect(gate.idleMs).toBe(0);
  });

  test('takes back a permit that was not used', async () => {
    const gate = makeGate({ plan: { requestsPerMinute: 1 } });
    const permit = await gate.enter(makeListCall(), makeLimits(gate));
    permit.cancel();
    expect(gate.enter(makeListCall(), makeLimits(gate))).not.toBeInstanceOf(Promise);
  });
});

describe('Gate, after a 429,', () => {
  test('holds every call until the latest Retry-After has passed', async () => {
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

  test('lets one probe go, and no other before its answer, however long that takes', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('0');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_000 }));
    visitors.askTimes(4);
    await pass(10_000);
    expect(visitors.log).toEqual(['0 0', '1 1']);
    for (const more of ['10 3', '10.1 4']) {
      visitors.answer();
      await pass(50);
      expect(visitors.log.at(-1)).toBe(more);
    }
  });

  test('lets the next probe go when the first is lost, even if earlier requests are in flight', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(2);
    await pass(10);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_000 }));
    visitors.askTimes(2);
    await pass(2_000);
    visitors.permits.pop()?.lose(undefined);
    await pass(50);
    expect(visitors.log).toEqual(['0 probe', '0 1', '0 2', '1 1', '2 2']);
  });

  test('lets a call wait that allows exactly this wait, and refuses one that allows less', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer(answerNow({ status: 429, retryAfterMs: 5_000 }));
    visitors.ask('long enough', makeListCall({ maxWaitMs: 5_000 }));
    visitors.ask('too short', makeListCall({ maxWaitMs: 4_999 }));
    await pass(5_100);
    expect(visitors.log).toEqual(['0 probe', '0 too short refused', '5 long enough']);
  });

  test('backs off exponentially when 429s come in a row, and starts again after a good answer', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.askTimes(6);
    for (const waitMs of [1_000, 4_000, 16_000, 64_000]) {
      await pass(50);
      visitors.answer({ status: 429, receivedAtMs: Date.now() });
      await pass(waitMs - 60);
      expect(visitors.permits).toHaveLength(0);
      await pass(60);
    }
    await pass(50);
    expect(visitors.log).toEqual(['0 1', '1.1 2', '5.1 3', '21.2 4', '85.2 5']);
    visitors.answer();
    await pass(50);
    visitors.answer({ status: 429, receivedAtMs: Date.now() });
    expect(gate.quotaOf().closedUntil).toEqual(new Date(Date.now() + 1_000));
    expect(vi.getTimerCount()).toBe(0);
  });

  test('waits for the Reset of an empty window if Retry-After is missing', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(2);
    visitors.answer(answerNow({ status: 429, remaining: 0 }));
    await pass(59_900);
    expect(visitors.log).toEqual(['0 1']);
    await pass(1_400);
    expect(visitors.log).toEqual(['0 1', '61 2']);
  });

  test('treats a 503 with Retry-After in the same way', async () => {
    const visitors = new Visitors(makeGate());
    visitors.askTimes(2);
    visitors.answer({ status: 503, receivedAtMs: NOW_MS, retryAfterMs: 20_000 });
    await pass(19_900);
    expect(visitors.log).toEqual(['0 1']);
    await pass(200);
    expect(visitors.log).toEqual(['0 1', '20 2']);
  });

  test('keeps a wait of 30 days to the second, which is longer than any timer', async () => {
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

  test('reports once that it closed, with the instant, and once that it is open again', async () => {
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

  test('reports an instant once, though the clock of the machine and the monotonic one are a millisecond apart', () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('gate', ({ state, until }) => told.push([state, until?.getTime()]));
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(3, () => makeCall({ emitter }));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 5_000 }));
    vi.setSystemTime(NOW_MS + 1);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 5_000 }));
    visitors.answer(answerNow({ status: 429, retryAfterMs: 6_000 }));
    expect(told).toEqual([
      ['closed', NOW_MS + 5_000],
      ['closed', NOW_MS + 6_001],
    ]);
  });
});

describe('Gate of two clients:', () => {
  test('the stricter plan counts, and a warning says so', () => {
    const gate = makeGate({ plan: { requestsPerMinute: 300, requestsPerDay: 10_000 } });
    const warn = vi.fn();
    gate.join({ plan: FREE, concurrency: 8, share: 0.5 }, warn);
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('with another plan: the stricter counts'));
    expect(gate.quotaOf()).toMatchObject({ minute: { limit: 60 }, day: { limit: 1_000 } });
  });

  test("a client that leaves the plan to the headers uses the other's plan, without a warning", () => {
    const gate = makeGate({ plan: undefined });
    const warn = vi.fn();
    gate.join({ plan: { requestsPerMinute: 300 }, concurrency: 64, share: 1 }, warn);
    gate.join({ plan: undefined, concurrency: 64, share: 1 }, warn);
    expect(warn).not.toHaveBeenCalled();
    expect(gate.quotaOf()).toMatchObject({ minute: { limit: 300 }, day: { limit: undefined } });
  });

  test('a call that waited for the presumed limit leaves as soon as another client gives a larger plan', async () => {
    const gate = makeGate({ plan: undefined });
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer({ status: 200, receivedAtMs: NOW_MS });
    for (let sent = 1; sent < 60; sent++) {
      visitors.ask(String(sent));
      visitors.answer({ status: 200, receivedAtMs: NOW_MS });
    }
    visitors.ask('waits');
    await pass(1_000);
    expect(visitors.log).toHaveLength(60);
    gate.join({ plan: { requestsPerMinute: 300 }, concurrency: 64, share: 1 }, vi.fn());
    await pass(10);
    expect(visitors.log).toHaveLength(61);
  });

  test('an unlimited plan becomes a limited one, for waiting calls too', async () => {
    const gate = makeGate({ plan: 'unlimited' });
    gate.join({ plan: { requestsPerMinute: 2 }, concurrency: 64, share: 1 }, vi.fn());
    const visitors = new Visitors(gate);
    visitors.askTimes(5);
    visitors.answer({ status: 200, receivedAtMs: NOW_MS });
    await pass(50_000);
    expect(visitors.log).toHaveLength(2);
  });
});

describe('Gate.quota', () => {
  test('shows the limit, what is left after the requests in flight, the Reset, and until when the key is closed', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    expect(gate.quotaOf()).toEqual({
      minute: { limit: 60, remaining: 60, resetAt: undefined },
      day: { limit: 1_000, remaining: 1_000, resetAt: undefined },
      closedUntil: undefined,
    });
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(2);
    expect(gate.quotaOf()).toMatchObject({ minute: { remaining: 48, resetAt: new Date(NOW_MS + 60_000) }, day: { remaining: 997 } });
    await pass(0);
    visitors.answer(answerNow({ status: 429, retryAfterMs: 1_500 }));
    expect(gate.quotaOf().closedUntil).toEqual(new Date(NOW_MS + 1_500));
  });

  test('shows that nothing is left once the minute is used up', () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer(answerNow({ remaining: 1 }));
    visitors.ask('last');
    expect(gate.quotaOf().minute.remaining).toBe(0);
    visitors.answer(answerNow({ remaining: 0 }));
    expect(gate.quotaOf().minute.remaining).toBe(0);
  });

  test('shows the plan that was learned from the headers', async () => {
    const gate = makeGate({ plan: undefined });
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer(answerNow({ limit: 300, remaining: 299, resetAtMs: NOW_MS + 30_000 }));
    expect(gate.quotaOf()).toMatchObject({ minute: { limit: 300, remaining: 299 }, day: { limit: 10_000 } });
  });
});
