import { ConnectionError, PetStoreClient, ServerError, TimeoutError } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { freshAddress } from '../../support/client.ts';
import { ownWorkMs } from '../../support/own-work.ts';
import { holdTime, NOW_MS } from '../../support/time.ts';
import { answerNow, makeGate, pass, Visitors } from './gate-kit.ts';

holdTime();

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
      expect(visitors.permits).toHaveLength(1);
      probes.push(Math.round((Date.now() - startMs) / 500) / 2);
      visitors.answer({ ...down, receivedAtMs: Date.now() });
    }
    expect(probes).toEqual([0.5, 1.5, 3.5, 7.5, 15.5, 23.5]);
  });

  test('says how soon the next probe may go; nothing can say it while a probe is out', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.ask('probe');
    const delays = [gate.outagePaceOf(makeListCall())?.delayMs];
    await pass(600);
    delays.push(gate.outagePaceOf(makeListCall())?.delayMs);
    expect([visitors.log.length, delays]).toEqual([4, [expect.toSatisfy((ms: number) => ms > 400 && ms < 600), 0]]);
  });

  test('does not count three failures within half a second as an outage', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(3);
    await pass(10);
    for (let n = 0; n < 3; n++) visitors.answer({ ...down, receivedAtMs: Date.now() });
    visitors.askTimes(4);
    await pass(450);
    visitors.answer();
    await pass(20);
    expect(visitors.log).toHaveLength(1 + 3 + 4);
  });

  test('sends one request first after three failures within half a second, even if the remaining quota is known', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(8);
    await pass(10);
    for (let n = 0; n < 8; n++) await visitors.break(new ConnectionError('x', { code: 'ECONNRESET' }));
    visitors.askTimes(100);
    await pass(520);
    expect(visitors.permits).toHaveLength(1);
  });

  test('lets calls that would not wait for quota wait for that request', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(3);
    await pass(10);
    for (let n = 0; n < 3; n++) visitors.answer({ ...down, receivedAtMs: Date.now() });
    await pass(500);
    visitors.ask('4');
    visitors.permits[0]?.observe(answerNow());
    visitors.ask('hasty', makeListCall({ maxWaitMs: 50 }));
    await pass(10);
    visitors.permits[0]?.release();
    await pass(20);
    expect(visitors.log.slice(4)).toEqual(['0.5 4', '0.5 hasty']);
  });

  test('lets the other calls go after a probe has succeeded', async () => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.askTimes(5);
    await pass(600);
    visitors.answer();
    await pass(50);
    expect(visitors.permits).toHaveLength(4);
  });

  test.each([
    ['ServerError', (visitors: Visitors) => visitors.answer({ ...down, status: 502, receivedAtMs: Date.now() }), ServerError],
    ['TimeoutError', (visitors: Visitors) => visitors.lose(new TimeoutError('x')), TimeoutError],
    ['ConnectionError', (visitors: Visitors) => visitors.lose(new ConnectionError('x', { code: 'ECONNREFUSED' })), ConnectionError],
  ])('rejects a call that has waited `maxWaitMs`, with the last failure as %s', async (_name, fail, expected) => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => fail(visitors));
    visitors.ask('prober', makeListCall({ maxWaitMs: 1e9 }));
    visitors.ask('impatient', makeListCall({ maxWaitMs: 3_000 }));
    await pass(2_900);
    expect(visitors.failures).toEqual([]);
    await pass(200);
    expect(visitors.failures).toEqual([expect.any(expected)]);
  });

  test('refuses a call at the instant at which it gives up waiting', async () => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.ask('prober', makeListCall({ maxWaitMs: 1e9 }));
    visitors.ask('impatient', makeListCall({ maxWaitMs: 3_000 }));
    await pass(2_999);
    expect(visitors.failures).toEqual([]);
    await pass(1);
    expect(visitors.failures).toHaveLength(1);
  });

  test('counts the wait of a call from its start, not from its retry', async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    const call = visitors.ask('call', makeListCall({ maxWaitMs: 2_000 }));
    await pass(600);
    visitors.answer({ ...down, receivedAtMs: Date.now() });
    expect(gate.outagePaceOf(call)).toEqual({ delayMs: 1_000, longestMs: 1_400, waitLeftMs: 1_400 });
    visitors.ask('again', call);
    await pass(1_100);
    visitors.answer({ ...down, receivedAtMs: Date.now() });
    visitors.ask('once more', call);
    await pass(400);
    expect(visitors.failures).toEqual([expect.any(ServerError)]);
    visitors.ask('too late', call);
    await pass(0);
    expect(visitors.log.slice(3)).toEqual(['2.3 call', '3.4 again', '3.8 once more refused', '3.9 too late refused']);
  });

  test('lets the next probe go on time even if earlier requests are still in flight', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(4);
    for (let n = 0; n < 3; n++) {
      await pass(600);
      visitors.answer({ ...down, receivedAtMs: Date.now() });
    }
    visitors.askTimes(2);
    await pass(600);
    visitors.permits.pop()?.lose(new ConnectionError('x'));
    await pass(1_010);
    expect(visitors.permits).toHaveLength(2);
  });

  test.each([
    ['status', (visitors: Visitors) => visitors.answer({ ...down, receivedAtMs: Date.now() })],
    ['loss', (visitors: Visitors) => visitors.lose(new TimeoutError('x'))],
    ['body', (visitors: Visitors) => visitors.break(new ConnectionError('x'))],
  ])('reports the gate as closed when a %s begins the outage, and as open when it ends', async (_name, fail) => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('gate', ({ state }) => told.push(state));
    const visitors = new Visitors(makeGate());
    for (let n = 0; n < 3; n++) {
      visitors.ask(String(n), makeCall({ emitter }));
      await pass(600);
      await fail(visitors);
    }
    expect(told).toEqual(['closed']);
    visitors.ask('probe', makeCall({ emitter }));
    await pass(600);
    visitors.answer();
    expect(told).toEqual(['closed', 'open']);
  });

  const isOffline = Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) });
  const badGateway = () => new Response(null, { status: 502 });

  test.each([
    ['the network was', async () => Promise.reject(isOffline), 0.3],
    ['the service was', async () => badGateway(), 1],
    ['the service was, for the share of a client,', async () => badGateway(), 0.5],
  ])('does not refuse calls after %s down for three hours, as if the day were used up', async (_what, fail, share) => {
    const answers = { next: fail };
    const fetch = () => answers.next();
    const client = new PetStoreClient({ apiKey: 'key', baseUrl: freshAddress(), plan: 'free', share, fetch });
    for (let n = 0; n < 1_200; n++) {
      void client.listInventory({ maxRetries: 0, maxWaitMs: 60_000 }).catch(() => {});
      await pass(9_000);
    }
    answers.next = async () => new Response('[]');
    const list = client.listInventory();
    await pass(10_000);
    expect(await list).toEqual([]);
    expect(client.quota.day.remaining).toBeGreaterThan(900 * share);
  });

  test('counts its probes towards the plan', async () => {
    const visitors = new Visitors(makeGate({ plan: { requestsPerMinute: 3 } }));
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.askTimes(3);
    await pass(50_000);
    expect(visitors.permits).toHaveLength(0);
    await pass(15_000);
    expect(visitors.permits).toHaveLength(1);
  });

  test('holds its probes until the day ends if the headers report it as used up', async () => {
    const visitors = new Visitors(makeGate());
    const dayEndsAtMs = NOW_MS + 36_000_000;
    let left = 3;
    await breakDown(visitors, () => visitors.answer(answerNow({ status: 500, limit: 1_000, remaining: --left, resetAtMs: dayEndsAtMs })));
    visitors.ask('4', makeListCall({ maxWaitMs: 1e9 }));
    await pass(dayEndsAtMs - Date.now());
    expect(visitors.permits).toHaveLength(0);
    await pass(1_000);
    expect(visitors.permits).toHaveLength(1);
  });

  test('counts bodies that break after good headers as failures', async () => {
    const visitors = new Visitors(makeGate());
    visitors.ask('probe');
    visitors.answer();
    visitors.askTimes(3);
    for (let n = 0; n < 3; n++) {
      await pass(600);
      await visitors.break(new ConnectionError('x', { code: 'ECONNRESET' }));
    }
    visitors.askTimes(20);
    for (const waitMs of [500, 1_000, 2_000, 4_000]) {
      await pass(waitMs + 30);
      expect(visitors.permits).toHaveLength(1);
      await visitors.break(new ConnectionError('x', { code: 'ECONNRESET' }));
    }
  });

  test("counts a body that is given up because of its call's time limit neither as a failure nor as a success", async () => {
    const gate = makeGate();
    const visitors = new Visitors(gate);
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    const call = visitors.ask('ended');
    visitors.ask('next');
    await pass(510);
    visitors.permits[0]?.observe(answerNow());
    const reason = new TimeoutError('x');
    call.abort(reason);
    visitors.permits[0]?.fail(reason);
    visitors.permits[0]?.release();
    expect(gate.outagePaceOf(call)?.delayMs).toBeCloseTo(500, -2);
    await pass(400);
    expect(visitors.permits).toHaveLength(1);
    await pass(110);
    expect(visitors.permits).toHaveLength(2);
  });

  test('lets the other calls go only when the body of the probe has come; a body that is read slowly holds up no other probe', async () => {
    const visitors = new Visitors(makeGate());
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    visitors.askTimes(10);
    await pass(510);
    visitors.permits[0]?.observe(answerNow());
    await pass(450);
    expect(visitors.permits).toHaveLength(1);
    await pass(100);
    expect(visitors.permits).toHaveLength(2);
    visitors.permits[0]?.release();
    await pass(20);
    expect(visitors.permits.length).toBeGreaterThan(5);
  });

  test('handles 10,000 calls in under a second of work', async () => {
    vi.useRealTimers();
    const gate = makeGate();
    const visitors = new Visitors(gate);
    vi.useFakeTimers({ now: NOW_MS });
    await breakDown(visitors, () => visitors.answer({ ...down, receivedAtMs: Date.now() }));
    vi.useRealTimers();
    const beganMs = ownWorkMs();
    visitors.askTimes(10_000, () => makeListCall({ maxWaitMs: 1e9 }));
    expect(ownWorkMs() - beganMs).toBeLessThan(1_000);
  });
});
