import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../src/call.ts';
import { ConnectionError } from '../src/errors.ts';
import { Emitter } from '../src/events.ts';
import { makeCall, makeListCall } from './support/call.ts';
import { holdTime } from './support/time.ts';

holdTime();

describe('Call', () => {
  test('names its purpose for messages', () => {
    const stream = makeCall({ operation: 'streamInventory', petId: undefined });
    const purposes = [makeCall().purpose, makeCall({ petId: 2n ** 60n }).purpose, makeListCall().purpose, stream.purpose];
    stream.delivered = 7;
    expect([...purposes, stream.purpose]).toEqual([
      'update pet 42',
      'update pet 1152921504606846976',
      'list the inventory',
      'read the inventory',
      'read the inventory beyond item 7',
    ]);
  });

  test.each([
    ['nothing was sent', () => {}, 'not-sent'],
    ['a request is under way', (call: Call) => call.sent(), 'unknown'],
    ['the service refused', (call: Call) => [call.sent(), call.refused('service')], 'rejected'],
    ['no connection was made', (call: Call) => [call.sent(), call.refused('connection')], 'not-sent'],
    ['its request waited for a connection', (call: Call) => [call.sent(), call.refused('connection'), call.started()], 'unknown'],
    ['a second request is under way', (call: Call) => [call.sent(), call.refused('service'), call.sent()], 'unknown'],
    ['only the second was refused', (call: Call) => [call.sent(), call.sent(), call.refused('service')], 'unknown'],
    ['the second did not connect', (call: Call) => [call.sent(), call.sent(), call.refused('connection')], 'unknown'],
    [
      'the first was refused and the second did not connect',
      (call: Call) => [call.sent(), call.refused('service'), call.sent(), call.refused('connection')],
      'rejected',
    ],
  ])('has the right outcome if %s', (_what, happens, outcome) => {
    const call = makeCall();
    happens(call);
    expect([call.outcome, call.details().outcome]).toEqual([outcome, outcome]);
  });

  test('gives failures of a list no outcome', () => {
    const call = makeListCall();
    call.sent();
    expect(call.details()).toEqual({ operation: 'listInventory', petId: undefined, attempts: 1 });
  });

  test("aborts with the caller's reason, and removes its listener from the caller's signal when it ends", () => {
    const controller = new AbortController();
    const call = makeCall({}, { signal: controller.signal });
    const ended = makeCall({}, { signal: controller.signal });
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(2);
    ended.end();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort('enough');
    expect([call.signal.reason, ended.signal.aborted]).toEqual(['enough', false]);
    call.end();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(0);
  });

  test('is aborted at once by an aborted signal, without a listener', () => {
    const signal = AbortSignal.abort('before');
    expect(makeCall({}, { signal }).signal.reason).toBe('before');
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('ends after `totalTimeoutMs` with a TimeoutError that says how far the call got', () => {
    const call = makeCall({}, { totalTimeoutMs: 1_000 });
    call.sent();
    vi.advanceTimersByTime(999);
    expect(call.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(call.signal.reason).toMatchObject({
      name: 'TimeoutError',
      message: 'Cannot update pet 42: the call was not done within its `totalTimeoutMs` of 1 s',
      operation: 'updateInventory',
      petId: 42,
      attempts: 1,
      outcome: 'unknown',
    });
  });

  test.each([
    [1, ', after attempt 1 failed with ECONNRESET'],
    [3, ', after attempt 3 failed with ECONNRESET'],
  ])('that ends after %i attempts says what the last attempt failed with', (attempts, tried) => {
    const call = makeCall({}, { totalTimeoutMs: 1_000 });
    call.attempts = attempts;
    call.lastFailure = new ConnectionError('x', { code: 'ECONNRESET', attempts });
    vi.advanceTimersByTime(1_000);
    expect(call.signal.reason).toMatchObject({ cause: call.lastFailure, message: expect.stringContaining(`of 1 s${tried}`) });
  });

  test('that ends while an attempt is under way does not count it among those that failed', () => {
    const call = makeCall({}, { totalTimeoutMs: 1_000 });
    call.lastFailure = new ConnectionError('x', { code: 'ECONNRESET', attempts: 1 });
    call.attempts = 2;
    vi.advanceTimersByTime(1_000);
    expect(call.signal.reason).toMatchObject({ attempts: 2, message: expect.stringContaining('after attempt 1 failed with') });
  });

  test('leaves no timer at its end', () => {
    const call = makeCall({}, { totalTimeoutMs: 1_000 });
    call.end();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('is raised to normal priority once, and returns whether it was low', () => {
    const call = makeCall({}, { priority: 'low' });
    expect([call.raise(), call.raise(), call.priority]).toEqual([true, false, 'normal']);
  });

  test('makes an event only if it has a listener, and names its pet only if it has one', () => {
    const make = vi.fn((event) => ({ ...event, status: 'reserved' }));
    makeCall().emit('unknownStatus', make);
    expect(make).not.toHaveBeenCalled();
    const emitter = new Emitter();
    const heard = vi.fn();
    emitter.on('unknownStatus', heard);
    makeCall({ emitter, id: 3 }).emit('unknownStatus', make);
    makeCall({ emitter, id: 4, operation: 'listInventory', petId: undefined }).emit('unknownStatus', make);
    expect(heard.mock.calls.flat()).toEqual([
      { callId: 3, operation: 'updateInventory', petId: 42, attempt: 0, status: 'reserved' },
      { callId: 4, operation: 'listInventory', attempt: 0, status: 'reserved' },
    ]);
  });
});
