import { readFile } from 'node:fs/promises';
import { ConfigurationError, ConnectionError, TimeoutError } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import type { Call } from '../../src/call.ts';
import { Emitter } from '../../src/events.ts';
import { Redactor } from '../../src/redactor.ts';
import type { AttemptObserver } from '../../src/transport/attempt-observer.ts';
import { readUpTo } from '../../src/transport/body.ts';
import type { Credentials } from '../../src/transport/credentials.ts';
import { type AttemptRequest, Transport } from '../../src/transport/transport.ts';
import { chunked, failure, json, networkError, text } from '../support/answers.ts';
import { makeCall } from '../support/call.ts';
import { deferred } from '../support/deferred.ts';
import { wire } from '../support/exchange.ts';
import { rejectionOf } from '../support/outcome.ts';
import { type Answering, hang } from '../support/scripted-fetch.ts';
import { holdTime } from '../support/time.ts';

holdTime();

const update = { method: 'PATCH', path: 'inventory/42', body: '{"quantity":1}' } as const;
const list = { method: 'GET', path: 'inventory' } as const;

/** A transport that reads the key when it is to send, as the pipeline does once it has a slot. */
function admitting(transport: Transport) {
  return {
    open: async (call: Call, request: AttemptRequest, observer: AttemptObserver) =>
      transport.open(call, request, { key: await transport.readKey(call, observer), observer }),
  };
}

/** A transport on such a wire, and an observer that logs what it observes. */
function setUp(answer: Answering, credentials: Credentials = 'psk_1') {
  const { http, sent } = wire(answer);
  const log: string[] = [];
  const observer: AttemptObserver = {
    observe: ({ status }, report) => {
      log.push(`observe ${status}`);
      report();
      return undefined;
    },
    lose: (failure) => log.push(`lose ${failure?.name}`),
    fail: (failure) => log.push(`fail ${failure?.name}`),
    cancel: () => log.push('cancel'),
    release: () => log.push('release'),
  };
  const transport = admitting(
    new Transport({ client: {}, http, fetch: undefined, baseUrl: 'https://pets.test/v1', credentials, redactor: new Redactor() }),
  );
  return { transport, observer, log, sent };
}

describe('Transport.open', () => {
  test('sends the key, names the client and asks for JSON', async () => {
    const { transport, observer, sent } = setUp(() => json(200, {}));
    const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));
    await transport.open(makeCall(), update, observer);
    await transport.open(makeCall(), list, observer);
    const headers = {
      'user-agent': `petstore-inventory/${version} (api 1.0.0)`,
      accept: 'application/json',
      authorization: 'Bearer psk_1',
    };
    expect(sent.map((request) => request.headers)).toEqual([{ ...headers, 'content-type': 'application/json' }, headers]);
  });

  test("sends the caller's headers, which may replace its name but not the key", async () => {
    const { transport, observer, sent } = setUp(() => json(200, {}));
    await transport.open(makeCall({}, { headers: { 'x-team': 'stock', 'user-agent': 'mine', authorization: 'evil' } }), list, observer);
    expect(sent[0]?.headers).toEqual({
      'x-team': 'stock',
      'user-agent': 'mine',
      accept: 'application/json',
      authorization: 'Bearer psk_1',
    });
  });

  test('gives a 2xx answer with an open body, and ends when the answer is closed', async () => {
    const { transport, observer, log } = setUp(() => json(201, { a: 1 }));
    const answer = await transport.open(makeCall(), update, observer);
    expect(log).toEqual(['observe 201']);
    const { bytes } = await readUpTo(answer.body, 100);
    expect([answer.status, new TextDecoder().decode(bytes)]).toEqual([201, '{"a":1}']);
    answer.close();
    expect(log).toEqual(['observe 201', 'release']);
  });

  test('reports the request, and the response with its limits', async () => {
    const emitter = new Emitter();
    const events: unknown[] = [];
    emitter.on('request', (event) => events.push(event));
    emitter.on('response', (event) => events.push(event));
    const limits = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': '30' };
    const { transport, observer } = setUp(() => json(200, {}, limits));
    await transport.open(makeCall({ emitter }), update, observer);
    const event = { callId: 1, operation: 'updateInventory', petId: 42, attempt: 1 };
    const rateLimit = { limit: 60, remaining: 59, resetAt: new Date(Date.now() + 30_000) };
    expect(events).toEqual([
      { ...event, method: 'PATCH', path: '/inventory/42' },
      { ...event, status: 200, ms: 0, rateLimit },
    ]);
  });

  test('passes the headers to the observer before the body of a failure is read', async () => {
    const { transport, observer, log } = setUp(() => new Response(chunked(['{"code":"x"'], 'stall'), { status: 429 }));
    const rejection = rejectionOf(transport.open(makeCall({}, { attemptTimeoutMs: 1_000 }), update, observer));
    await vi.advanceTimersByTimeAsync(0);
    expect(log).toEqual(['observe 429']);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toMatchObject({ name: 'RateLimitError', status: 429, code: 'http_429' });
    expect(log).toEqual(['observe 429', 'release']);
  });

  test.each(['stall', 'break'] as const)('lets the status decide the class if an Error body does %s', async (end) => {
    const { transport, observer } = setUp(() => new Response(chunked(['{"code":"x"'], end), { status: 404 }));
    const rejection = rejectionOf(transport.open(makeCall({}, { attemptTimeoutMs: 1_000 }), update, observer));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toMatchObject({ name: 'NotFoundError', status: 404, code: 'http_404', outcome: 'rejected' });
  });

  test.each([
    ['in one chunk', [`{"code":"x","message":"${'y'.repeat(70_000)}"}`]],
    ['in many', [`{"code":"x","message":"`, ...Array(80).fill('y'.repeat(1_000)), '"}']],
  ])('reads no more than 64 KiB of an Error body %s', async (_how, chunks) => {
    const { transport, observer } = setUp(() => new Response(chunked(chunks), { status: 400 }));
    const error = await rejectionOf(transport.open(makeCall(), update, observer));
    expect(error).toMatchObject({ name: 'BadRequestError', code: 'http_400', bodyText: expect.stringMatching(/^.{1024}$/) });
  });

  test('accepts an Error body of exactly 64 KiB', async () => {
    const body = `{"code":"x","message":"${'y'.repeat(65_536 - 25)}"}`;
    const { transport, observer } = setUp(() => text(400, body));
    expect(body).toHaveLength(65_536);
    expect(await rejectionOf(transport.open(makeCall(), update, observer))).toMatchObject({ code: 'x' });
  });

  test('rejects with a ConnectionError if no answer came, and reports this to the observer', async () => {
    const { transport, observer, log } = setUp(() => Promise.reject(networkError('ECONNRESET')));
    const error = await rejectionOf(transport.open(makeCall(), update, observer));
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ code: 'ECONNRESET', attempts: 1, outcome: 'unknown' });
    expect(log).toEqual(['lose ConnectionError', 'release']);
  });

  test('rejects with a TimeoutError if no headers came in time', async () => {
    const { transport, observer, log } = setUp(hang);
    const rejection = rejectionOf(transport.open(makeCall({}, { attemptTimeoutMs: 1_000 }), update, observer));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toBeInstanceOf(TimeoutError);
    expect(log).toEqual(['lose TimeoutError', 'release']);
  });

  test('rejects with a ConnectionError if the body of a 2xx answer breaks', async () => {
    const { transport, observer } = setUp(() => new Response(chunked(['{"petId":'], 'break')));
    const answer = await transport.open(makeCall(), update, observer);
    expect(await rejectionOf(Promise.resolve(readUpTo(answer.body, 100)))).toMatchObject({
      name: 'ConnectionError',
      code: 'ECONNRESET',
      outcome: 'unknown',
    });
  });

  test('rejects with a TimeoutError if the body of a 2xx answer stalls', async () => {
    const { transport, observer } = setUp(() => new Response(chunked(['{"petId":'], 'stall')));
    const answer = await transport.open(makeCall({}, { attemptTimeoutMs: 1_000 }), update, observer);
    const rejection = rejectionOf(Promise.resolve(readUpTo(answer.body, 100)));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toBeInstanceOf(TimeoutError);
  });

  test('rejects with the reason of an abort in flight, which does not count as a failure of the service', async () => {
    const { transport, observer, log } = setUp(hang);
    const call = makeCall();
    const rejection = rejectionOf(transport.open(call, update, observer));
    await vi.advanceTimersByTimeAsync(0);
    call.abort('enough');
    expect([await rejection, call.outcome]).toEqual(['enough', 'unknown']);
    expect(log).toEqual(['lose undefined', 'release']);
  });

  test('rejects with the reason of an abort that comes while an Error body is read', async () => {
    const { transport, observer } = setUp(() => new Response(chunked(['{'], 'stall'), { status: 500 }));
    const call = makeCall();
    const rejection = rejectionOf(transport.open(call, update, observer));
    await vi.advanceTimersByTimeAsync(0);
    call.abort('enough');
    expect(await rejection).toBe('enough');
  });
});

describe('Transport.open sends nothing and cancels its permit', () => {
  test('for a call that is already aborted', async () => {
    const credentials = vi.fn(async () => 'psk_1');
    const { transport, observer, log, sent } = setUp(() => json(200, {}), credentials);
    const call = makeCall();
    call.abort('enough');
    expect(await rejectionOf(transport.open(call, update, observer))).toBe('enough');
    expect([log, sent.length, call.outcome, credentials.mock.calls.length]).toEqual([['cancel'], 0, 'not-sent', 1]);
  });

  test('for a call that is aborted just before the request', async () => {
    const { transport, observer, log, sent } = setUp(() => json(200, {}));
    const call = makeCall();
    const rejection = rejectionOf(transport.open(call, update, observer));
    call.abort('enough');
    expect(await rejection).toBe('enough');
    expect([log, sent.length, call.attempts]).toEqual([['cancel'], 0, 0]);
  });

  test('for a call that is aborted while it waits for the key', async () => {
    const key = deferred<string>();
    const { transport, observer, log, sent } = setUp(
      () => json(200, {}),
      () => key.promise,
    );
    const call = makeCall();
    const rejection = rejectionOf(transport.open(call, update, observer));
    call.abort('enough');
    expect(await rejection).toBe('enough');
    key.resolve('psk_1');
    expect([log, sent.length]).toEqual([['cancel'], 0]);
  });

  test('if there is no key, and says which call ended', async () => {
    const { transport, observer, log, sent } = setUp(
      () => json(200, {}),
      () => Promise.reject(new ConfigurationError('no key', { option: 'apiKey', cause: 'vault sealed' })),
    );
    expect(await rejectionOf(transport.open(makeCall(), update, observer))).toMatchObject({
      name: 'ConfigurationError',
      message: 'no key',
      option: 'apiKey',
      operation: 'updateInventory',
      petId: 42,
      attempts: 0,
      outcome: 'not-sent',
      cause: 'vault sealed',
    });
    expect([log, sent.length]).toEqual([['cancel'], 0]);
  });
});

describe('the outcome over all attempts', () => {
  const reset = () => Promise.reject(networkError('ECONNRESET'));
  const refused = () => Promise.reject(networkError('ECONNREFUSED'));

  test.each([
    ['never connected', [refused, refused], 'not-sent'],
    ['refused by the service', [() => failure(404)], 'rejected'],
    ['refused after it never connected', [refused, () => failure(400)], 'rejected'],
    ['never connected after it was refused', [() => failure(429), refused], 'rejected'],
    ['reset', [reset], 'unknown'],
    ['refused after a reset: the first one may have arrived', [reset, () => failure(404)], 'unknown'],
    ['refused after a 503', [() => failure(503), () => failure(429)], 'unknown'],
    ['never connected after a reset', [reset, refused], 'unknown'],
  ] satisfies [string, Answering[], string][])('of an update that was %s', async (_how, answers, outcome) => {
    const left: Answering[] = [...answers];
    const { transport, observer } = setUp((request) => left.shift()?.(request) ?? text(200, ''));
    const call = makeCall();
    const errors = await answers.reduce<Promise<unknown[]>>(
      async (before, _answer) => [...(await before), await rejectionOf(transport.open(call, update, observer))],
      Promise.resolve([]),
    );
    expect(errors.at(-1)).toMatchObject({ outcome, attempts: answers.length });
    expect(call.outcome).toBe(outcome);
  });
});
