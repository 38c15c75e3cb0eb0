import {
  ConfigurationError,
  ConnectionError,
  NotFoundError,
  type PetStoreClient,
  RateLimitError,
  ServerError,
  TimeoutError,
} from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../../src/call.ts';
import { Emitter } from '../../src/events.ts';
import { type RetryGate, retry as retryLimited } from '../../src/retry/retry.ts';
import { failure, item } from '../support/answers.ts';
import { makeCall } from '../support/call.ts';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { hang } from '../support/scripted-fetch.ts';
import { holdTime, NOW_MS } from '../support/time.ts';

holdTime();

/** An attempt that fails with these failures and then gives `done`; `atMs` lists when it was made. */
function attempts(...failures: unknown[]): { attempt: () => Promise<string>; atMs: number[] } {
  const atMs: number[] = [];
  const attempt = async () => {
    atMs.push(Date.now() - NOW_MS);
    const failure = failures[atMs.length - 1];
    if (failure !== undefined) throw failure;
    return 'done';
  };
  return { attempt, atMs };
}

/** An emitter, and the retries and waits that it reports. */
function listening(): { emitter: Emitter; told: string[] } {
  const emitter = new Emitter();
  const told: string[] = [];
  emitter.on('retry', ({ delayMs }) => told.push(`retry in ${delayMs}`));
  emitter.on('wait', ({ reason, ms }) => told.push(`wait ${reason} ${ms}`));
  return { emitter, told };
}

const watch = () => () => {};

/** A gate whose budget pays as `pay` does, of a service that is up. */
function gateThatPays(pay: RetryGate['retries']['pay']): RetryGate {
  return { retries: { pay }, outagePaceOf: () => undefined };
}

/** Retries without a limit. */
function retry<T>(call: Call, attempt: () => Promise<T>, pace?: ReturnType<RetryGate['outagePaceOf']>): Promise<T> {
  return retryLimited(call, { attempt, gate: { retries: { pay: () => undefined }, outagePaceOf: () => pace }, watch });
}

const down = () => new ServerError('down', { status: 502 });

describe('retry', () => {
  test('gives the result of the first attempt that succeeds, and makes no other attempt', async () => {
    const { attempt, atMs } = attempts();
    expect(await retry(makeCall(), attempt)).toBe('done');
    expect(atMs).toEqual([0]);
  });

  test('backs off 500 ms, 1 s, 2 s and so on, and counts that as waiting', async () => {
    const call = makeCall();
    const { attempt, atMs } = attempts(down(), down(), down());
    const result = retry(call, attempt);
    await vi.advanceTimersByTimeAsync(3_500);
    expect(await result).toBe('done');
    expect(atMs).toEqual([0, 500, 1_500, 3_500]);
    expect(call.waitedMs).toBe(3_500);
  });

  test('reports a retry in 0 ms if the gate decides and the service asked for no wait', async () => {
    const { emitter, told } = listening();
    const { attempt, atMs } = attempts(new RateLimitError('refused', { status: 429 }));
    expect(await retry(makeCall({ emitter }), attempt)).toBe('done');
    expect([told, atMs]).toEqual([['retry in 0'], [0, 0]]);
  });

  test('makes `maxRetries` retries after the first attempt, and rejects with the last failure', async () => {
    const last = down();
    const { attempt, atMs } = attempts(down(), new ConnectionError('x'), last);
    const rejection = rejectionOf(retry(makeCall({}, { maxRetries: 2 }), attempt));
    await vi.runAllTimersAsync();
    expect(await rejection).toBe(last);
    expect(atMs).toHaveLength(3);
  });

  test('ends at once with the error of an empty retry budget, and reports no retry', async () => {
    const { emitter, told } = listening();
    const [failure, ended] = [down(), new ServerError('not tried again', { status: 502 })];
    const { attempt, atMs } = attempts(failure);
    const pay = vi.fn(() => ended);
    const call = makeCall({ emitter });
    expect(await rejectionOf(retryLimited(call, { attempt, gate: gateThatPays(pay), watch }))).toBe(ended);
    expect([atMs, told, pay.mock.calls]).toEqual([[0], [], [[call, failure]]]);
  });

  test.each([
    new RateLimitError('x', { status: 429 }),
    new ServerError('x', { status: 503, retryAfterMs: 0 }),
    new NotFoundError('x', { status: 404 }),
  ])('takes nothing from the retry budget for $name $status', async (failure) => {
    const pay = vi.fn(() => undefined);
    await retryLimited(makeCall(), { attempt: attempts(failure).attempt, gate: gateThatPays(pay), watch }).catch(() => {});
    expect(pay).not.toHaveBeenCalled();
  });

  test('takes nothing from the retry budget after the last attempt', async () => {
    const pay = vi.fn(() => undefined);
    const attempt = attempts(down(), down()).attempt;
    const rejection = rejectionOf(retryLimited(makeCall({}, { maxRetries: 1 }), { attempt, gate: gateThatPays(pay), watch }));
    await vi.runAllTimersAsync();
    await rejection;
    expect(pay).toHaveBeenCalledTimes(1);
  });

  test('makes one attempt if `maxRetries` is 0, and reports no retry', async () => {
    const emitter = new Emitter();
    const heard = vi.fn();
    emitter.on('retry', heard);
    const failure = down();
    const { attempt, atMs } = attempts(failure);
    expect(await rejectionOf(retry(makeCall({ emitter }, { maxRetries: 0 }), attempt))).toBe(failure);
    expect([atMs.length, heard.mock.calls.length]).toEqual([1, 0]);
  });

  test.each([
    new NotFoundError('x', { status: 404 }),
    new ConfigurationError('x', { option: 'apiKey' }),
    new TypeError('a bug'),
    'no error',
  ])('rejects at once with %o', async (failure) => {
    const { attempt, atMs } = attempts(failure);
    const rejection = await rejectionOf(retry(makeCall(), attempt));
    expect(String(rejection)).toContain(String(failure));
    expect(atMs).toEqual([0]);
  });

  test('leaves the wait for a 429 to the gate', async () => {
    const { attempt, atMs } = attempts(new RateLimitError('x', { status: 429, retryAfterMs: 60_000 }));
    expect(await retry(makeCall(), attempt)).toBe('done');
    expect(atMs).toEqual([0, 0]);
  });

  test('never retries before the Retry-After of a failure that leaves the gate open has passed', async () => {
    const { attempt, atMs } = attempts(new ServerError('x', { status: 500, retryAfterMs: 7_000 }));
    const result = retry(makeCall(), attempt);
    await vi.runAllTimersAsync();
    expect(await result).toBe('done');
    expect(atMs).toEqual([0, 7_000]);
  });

  test('rejects at once if that Retry-After is longer than `maxWaitMs`', async () => {
    const failure = new ServerError('x', { status: 500, retryAfterMs: 7_000 });
    const { attempt, atMs } = attempts(failure);
    const rejection = rejectionOf(retry(makeCall({}, { maxWaitMs: 6_999 }), attempt));
    await vi.advanceTimersByTimeAsync(0);
    expect(await Promise.race([rejection, 'still waiting'])).toBe(failure);
    expect(atMs).toEqual([0]);
  });

  test('waits for a Retry-After of exactly `maxWaitMs`', async () => {
    const { attempt, atMs } = attempts(new ServerError('x', { status: 500, retryAfterMs: 7_000 }));
    const result = retry(makeCall({}, { maxWaitMs: 7_000 }), attempt);
    await vi.runAllTimersAsync();
    expect([await result, atMs]).toEqual(['done', [0, 7_000]]);
  });

  test('rejects at once, and reports no retry, if the gate is closed for longer than `maxWaitMs`', async () => {
    const emitter = new Emitter();
    const heard = vi.fn();
    emitter.on('retry', heard);
    const failure = new RateLimitError('x', { status: 429, retryAfterMs: 3_600_000 });
    const { attempt, atMs } = attempts(failure);
    expect(await rejectionOf(retry(makeCall({ emitter }), attempt))).toBe(failure);
    expect([atMs, heard.mock.calls]).toEqual([[0], []]);
  });

  test('reports until when the gate is closed if the service did not say so', async () => {
    const emitter = new Emitter();
    const delays: number[] = [];
    emitter.on('retry', ({ delayMs }) => delays.push(delayMs));
    const failure = new RateLimitError('x', { status: 429, retryAt: new Date(NOW_MS + 1_043) });
    await retry(makeCall({ emitter }), attempts(failure).attempt);
    expect(delays).toEqual([1_043]);
  });

  test('backs off no longer than the gate says in an outage, and reports how long the gate holds the call', async () => {
    const emitter = new Emitter();
    const delays: number[] = [];
    emitter.on('retry', ({ delayMs }) => delays.push(delayMs));
    const call = makeCall({ emitter }, { maxRetries: 6 });
    const { attempt, atMs } = attempts(...Array.from({ length: 6 }, down));
    const result = retry(call, attempt, { delayMs: 9_000, longestMs: 8_000, waitLeftMs: 60_000 });
    await vi.advanceTimersByTimeAsync(23_500);
    expect(await result).toBe('done');
    expect([atMs, new Set(delays)]).toEqual([[0, 500, 1_500, 3_500, 7_500, 15_500, 23_500], new Set([9_000])]);
  });

  test('reports the backoff but no retry if the call gives up the outage before', async () => {
    const { emitter, told } = listening();
    const result = retry(makeCall({ emitter }), attempts(down()).attempt, { delayMs: 8_000, longestMs: 499.5, waitLeftMs: 499.5 });
    await vi.advanceTimersByTimeAsync(500);
    await result;
    expect(told).toEqual(['wait backoff 500']);
  });

  test('reports the retry that follows once the call may wait no longer in the outage', async () => {
    const { emitter, told } = listening();
    const result = retry(makeCall({ emitter }), attempts(down()).attempt, { delayMs: 400, longestMs: 499.5, waitLeftMs: 499.5 });
    await vi.advanceTimersByTimeAsync(500);
    await result;
    expect(told).toEqual(['retry in 500', 'wait backoff 500']);
  });

  test('reports every backoff as a wait, after the retry', async () => {
    const { emitter, told } = listening();
    const slow = new ServerError('x', { status: 500, retryAfterMs: 7_000 });
    const result = retry(makeCall({ emitter }), attempts(down(), slow, new ConnectionError('x')).attempt);
    await vi.runAllTimersAsync();
    await result;
    expect(told).toEqual(['retry in 500', 'wait backoff 500', 'retry in 7000', 'wait backoff 7000', 'retry in 2000', 'wait backoff 2000']);
  });

  test('reports no backoff if the gate holds the call', async () => {
    const { emitter, told } = listening();
    const refusal = new RateLimitError('x', { status: 429, retryAfterMs: 7_000 });
    await retry(makeCall({ emitter }), attempts(refusal, new ServerError('x', { status: 503, retryAfterMs: 3_000 })).attempt);
    expect(told).toEqual(['retry in 7000', 'retry in 3000']);
  });

  test.each([
    ['a backoff', down()],
    ['a wait at the gate', new RateLimitError('x', { status: 429, retryAfterMs: 1_000 })],
  ])('rejects at once, and reports neither a retry nor a wait, if the gate refuses %s', async (_wait, failure) => {
    const { emitter, told } = listening();
    const refusal = new ServerError('not tried again', { status: 502 });
    const refuse = (onRefusal: (refusal: unknown) => void) => {
      onRefusal(refusal);
      return () => {};
    };
    const { attempt, atMs } = attempts(failure);
    const rejected = retryLimited(makeCall({ emitter }), { attempt, gate: gateThatPays(() => undefined), watch: refuse });
    expect([await rejectionOf(rejected), atMs, told, vi.getTimerCount()]).toEqual([refusal, [0], [], 0]);
  });

  test('reports no retry of a call whose failure used up the quota for longer than `maxWaitMs`', async () => {
    const limits = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW_MS / 1_000 + 3_600}` };
    const { client, log } = scriptedClient([() => failure(500, limits)], { plan: 'free' });
    const ended = await rejectionOf(client.listInventory());
    expect(ended).toMatchObject({ status: 500, message: expect.stringContaining("not tried again: this key's quota is used up until") });
    expect(log).toEqual(['request 1 GET /inventory', 'response 500', 'settled unknown 0']);
  });

  test('reports no retry with another key of a call that the gate refuses at once', async () => {
    const limits = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${NOW_MS / 1_000 + 3_600}` };
    const keys = ['psk_old', 'psk_new'];
    const { client, log } = scriptedClient([() => failure(401, limits)], { plan: 'free', apiKey: () => keys.shift() ?? 'psk_new' });
    const ended = await rejectionOf(client.listInventory());
    expect(ended).toMatchObject({ status: 401, message: expect.stringContaining("not tried again: this key's quota is used up until") });
    expect(log).toEqual(['request 1 GET /inventory', 'response 401', 'settled rejected 0']);
  });

  test('makes no further attempt after a 401 that follows another failure, if the key is a text', async () => {
    const { client, seen } = scriptedClient([() => failure(502), () => failure(401)]);
    const rejection = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await rejection).toMatchObject({ kind: 'authentication', attempts: 2 });
    expect(seen).toHaveLength(2);
  });

  test('rejects with the last failure when the call may wait no longer in the outage', async () => {
    const failure = down();
    const { attempt, atMs } = attempts(failure);
    expect(await rejectionOf(retry(makeCall(), attempt, { delayMs: 8_000, longestMs: 0, waitLeftMs: 0 }))).toBe(failure);
    expect(atMs).toEqual([0]);
  });

  test('makes another attempt if the call may wait in the outage for one more millisecond', async () => {
    const { attempt, atMs } = attempts(down());
    const result = retry(makeCall(), attempt, { delayMs: 0, longestMs: 1, waitLeftMs: 1 });
    await vi.advanceTimersByTimeAsync(1);
    expect([await result, atMs]).toEqual(['done', [0, 1]]);
  });

  test('makes no further attempt if the gate refused the next one', async () => {
    const failure = new RateLimitError('x', { status: 429, retryAfterMs: 60_000 });
    const refused = new RateLimitError('x; not tried again', { status: 429, cause: failure });
    const { attempt, atMs } = attempts(failure, refused);
    expect(await rejectionOf(retry(makeCall(), attempt))).toBe(refused);
    expect(atMs).toHaveLength(2);
  });

  test('reports every retry, with its time and its reason', async () => {
    const emitter = new Emitter();
    const heard = vi.fn();
    emitter.on('retry', heard);
    const [first, second] = [down(), new RateLimitError('x', { status: 429, retryAfterMs: 60_000 })];
    const result = retry(makeCall({ emitter }), attempts(first, second).attempt);
    await vi.runAllTimersAsync();
    await result;
    const event = { callId: 1, operation: 'updateInventory', petId: 42, attempt: 0 };
    expect(heard.mock.calls).toEqual([[{ ...event, delayMs: 500, error: first }], [{ ...event, delayMs: 60_000, error: second }]]);
  });

  test('reports no retry, and takes nothing from the retry budget, if the call ran out of time in an attempt', async () => {
    const { client, log } = scriptedClient([hang], { totalTimeoutMs: 1_000 });
    const rejection = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(1_000);
    const ended = await Promise.race([rejection, 'still waiting']);
    expect(ended).toMatchObject({ kind: 'timeout', message: expect.stringContaining('totalTimeoutMs') });
    expect(log).toEqual(['request 1 GET /inventory', 'settled unknown 1000']);
    const call = makeCall();
    const pay = vi.fn(() => undefined);
    call.abort(new TimeoutError('out of time'));
    const rejected = retryLimited(call, { attempt: () => Promise.reject(call.signal.reason), gate: gateThatPays(pay), watch });
    expect([await rejectionOf(rejected), pay.mock.calls]).toEqual([call.signal.reason, []]);
  });

  describe('ends a backoff, if the gate closes meanwhile,', () => {
    /** A call that backs off for 7 s, and then may wait for 8, and another one that closes the gate after a second. */
    async function callWhileGateCloses(retryAfter: number, make: (client: PetStoreClient) => Promise<unknown>) {
      const slow = () => failure(500, { 'retry-after': '7' });
      const { client, seen } = scriptedClient([slow, () => failure(429, { 'retry-after': String(retryAfter) }), () => item(42)]);
      const outcome = make(client).catch((error: unknown) => error);
      await vi.advanceTimersByTimeAsync(1_000);
      await rejectionOf(client.listInventory({ maxRetries: 0 }));
      await vi.advanceTimersByTimeAsync(0);
      return { seen, ended: await Promise.race([outcome, 'still waiting']), outcome, timers: vi.getTimerCount() };
    }

    const update = (client: PetStoreClient) => client.updateInventory(42, { quantity: 1 }, { maxWaitMs: 8_000 });
    const REFUSED = { kind: 'server', status: 500, outcome: 'unknown', retryAt: new Date(NOW_MS + 21_000) };

    test('as soon as the call would be refused after it', async () => {
      const { ended, seen, timers } = await callWhileGateCloses(20, update);
      expect(ended).toMatchObject({ ...REFUSED, message: expect.stringContaining('longer than `maxWaitMs` of 8 s') });
      expect([seen.length, timers]).toEqual([2, 0]);
    });

    test('only then', async () => {
      const { ended, outcome, seen } = await callWhileGateCloses(13, update);
      await vi.runAllTimersAsync();
      expect([ended, await outcome, seen.length]).toEqual(['still waiting', expect.objectContaining({ petId: 42 }), 3]);
    });

    test("and gives a caller of `fetch` the service's answer", async () => {
      const { ended } = await callWhileGateCloses(200, (client) => client.fetch('/pets/42'));
      expect(ended).toMatchObject({ status: 500 });
    });
  });

  test('stops backing off when the call is aborted, and leaves no timer', async () => {
    const call = makeCall();
    const { attempt, atMs } = attempts(down());
    const rejection = rejectionOf(retry(call, attempt));
    await vi.advanceTimersByTimeAsync(100);
    const reason = new Error('enough');
    call.abort(reason);
    expect(await rejection).toBe(reason);
    expect([vi.getTimerCount(), atMs.length]).toEqual([0, 1]);
  });
});
