import { describe, expect, test, vi } from 'vitest';
import { LightSignal } from '../../src/clock/light-signal.ts';
import { ConfigurationError, TimeoutError } from '../../src/errors.ts';
import { Redactor } from '../../src/redactor.ts';
import { Exchange } from '../../src/transport/exchange.ts';
import { chunked, networkError, text } from '../support/answers.ts';
import { makeCall, makeListCall } from '../support/call.ts';
import { deferred } from '../support/deferred.ts';
import { wire } from '../support/exchange.ts';
import { countListeners } from '../support/listeners.ts';
import { rejectionOf, thrower } from '../support/outcome.ts';
import { hang, hangDeaf } from '../support/scripted-fetch.ts';
import { holdTime } from '../support/time.ts';

holdTime();

const asked = { baseUrl: 'https://pets.test/v1', redactor: new Redactor() };
const request = { method: 'GET', path: 'inventory', headers: {}, body: undefined } as const;
const MEBIBYTE = new Uint8Array(1_048_576);
/** Small, since `toEqual` looks at each byte. */
const CHUNK = new Uint8Array(1_024);

/** A body of which the test hands out every chunk. */
function handedOut(): { response: Response; give: (chunk: Uint8Array) => void; cancelled: () => boolean } {
  let isCancelled = false;
  let give: (chunk: Uint8Array) => void = () => {};
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      give = (chunk) => controller.enqueue(chunk);
    },
    cancel: () => {
      isCancelled = true;
    },
  });
  return { response: new Response(body), give: (chunk) => give(chunk), cancelled: () => isCancelled };
}

/** An answer whose body is not this runtime's, with this reader. */
function foreign(reader: object): Response {
  return Object.defineProperty(new Response(), 'body', { value: { getReader: () => reader } });
}

/** Sends a request whose answer has arrived whole. */
async function sendForWhole(call = makeListCall()): Promise<Exchange> {
  const exchange = new Exchange(call, asked);
  const read = vi.fn(async () => ({ value: undefined, done: true as const }));
  const reader = { takeWhole: () => [CHUNK], read, cancel: async () => {} };
  const headers = new Headers();
  const toResponse = () => new Response(CHUNK);
  await exchange.send(
    async () => ({ type: 'direct', status: 200, headers, getReader: () => reader, toHeaders: () => headers, toResponse }),
    request,
  );
  return exchange;
}

describe('Exchange', () => {
  test('sends the request with a signal and gives the answer with its body, chunk by chunk', async () => {
    const { http, sent } = wire(() => new Response(chunked(['one', 'two'])));
    const exchange = new Exchange(makeListCall(), asked);
    expect((await exchange.send(http, request)).answer.status).toBe(200);
    const read = [await exchange.next(), await exchange.next(), await exchange.next()];
    expect(read.map((chunk) => chunk && new TextDecoder().decode(chunk))).toEqual(['one', 'two', undefined]);
    expect(sent).toEqual([{ ...request, signal: expect.any(LightSignal) }]);
  });

  test.each([
    networkError('EHOSTUNREACH'),
    Object.assign(new Error('cannot send'), { isUnsent: true }),
    new Error('bad port'),
    new ConfigurationError('Cannot use a certificate', { option: 'ca' }),
  ])('counts a request whose answer has begun as sent, even if its body breaks with %o', async (reason) => {
    const call = makeCall();
    call.sent();
    const exchange = new Exchange(call, asked);
    await exchange.send(wire(() => new Response(new ReadableStream({ pull: (body) => body.error(reason) }))).http, request);
    expect(await rejectionOf(exchange.next())).toMatchObject({
      name: reason instanceof ConfigurationError ? reason.name : 'ConnectionError',
      outcome: 'unknown',
    });
    expect(call.isUnsent).toBe(false);
  });

  test('gives a body that has arrived whole at once, and nothing after it', async () => {
    const exchange = await sendForWhole();
    expect([exchange.takeWhole(2_000_000), exchange.takeWhole(2_000_000)]).toEqual([[CHUNK], undefined]);
    expect(await exchange.next()).toBeUndefined();
  });

  test('gives nothing of a body that has arrived whole once its time is over', async () => {
    const exchange = await sendForWhole(makeListCall({ attemptTimeoutMs: 1_000 }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(exchange.takeWhole(2_000_000)).toBeUndefined();
    expect(await rejectionOf(exchange.next())).toBeInstanceOf(TimeoutError);
  });

  test('gives no bytes if the answer has no body', async () => {
    const exchange = new Exchange(makeListCall(), asked);
    await exchange.send(wire(() => text(204, null)).http, request);
    expect(await exchange.next()).toBeUndefined();
  });

  test.each([hang, hangDeaf])(
    'ends after `attemptTimeoutMs` without headers, whether or not fetch follows its signal (%o)',
    async (answer) => {
      const { http, sent } = wire(answer);
      const rejection = rejectionOf(new Exchange(makeListCall({ attemptTimeoutMs: 1_000 }), asked).send(http, request));
      await vi.advanceTimersByTimeAsync(999);
      expect(sent[0]?.signal.aborted).toBe(false);
      await vi.advanceTimersByTimeAsync(1);
      expect(await rejection).toBeInstanceOf(TimeoutError);
      expect(sent[0]?.signal.aborted).toBe(true);
    },
  );

  test('includes the body in `attemptTimeoutMs`', async () => {
    const { response, give } = handedOut();
    const exchange = new Exchange(makeListCall({ attemptTimeoutMs: 1_000 }), asked);
    await exchange.send(wire(() => response).http, request);
    await vi.advanceTimersByTimeAsync(600);
    give(new Uint8Array(10));
    await exchange.next();
    const rejection = rejectionOf(exchange.next());
    await vi.advanceTimersByTimeAsync(400);
    expect(await rejection).toBeInstanceOf(TimeoutError);
  });

  test('restarts the time limit after every 4 MiB of body', async () => {
    const { response, give } = handedOut();
    const exchange = new Exchange(makeListCall({ attemptTimeoutMs: 1_000 }), asked);
    await exchange.send(wire(() => response).http, request);
    await vi.advanceTimersByTimeAsync(900);
    await Promise.all([1, 2, 3, 4].map(() => give(MEBIBYTE)));
    const sizes = [await exchange.next(), await exchange.next(), await exchange.next(), await exchange.next()].map(
      (chunk) => chunk?.byteLength,
    );
    await vi.advanceTimersByTimeAsync(900);
    give(MEBIBYTE);
    sizes.push((await exchange.next())?.byteLength);
    expect(sizes).toEqual(Array(5).fill(MEBIBYTE.byteLength));
    const rejection = rejectionOf(exchange.next());
    await vi.advanceTimersByTimeAsync(100);
    expect(await rejection).toBeInstanceOf(TimeoutError);
  });

  test('stops the time limit between the reads of a slow consumer, and gives every chunk its own', async () => {
    const { response, give } = handedOut();
    const exchange = new Exchange(makeListCall({ attemptTimeoutMs: 1_000 }), asked);
    await exchange.send(wire(() => response).http, request);
    give(new Uint8Array(1));
    await exchange.nextWhenAsked();
    await vi.advanceTimersByTimeAsync(60_000);
    const second = exchange.nextWhenAsked();
    await vi.advanceTimersByTimeAsync(900);
    give(new Uint8Array(2));
    expect((await second)?.byteLength).toBe(2);
    const rejection = rejectionOf(exchange.nextWhenAsked());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toBeInstanceOf(TimeoutError);
  });

  test.each([hang, hangDeaf])('ends with the reason of the call, while it waits for headers (%o)', async (answer) => {
    const call = makeListCall();
    const { http, sent } = wire(answer);
    const rejection = rejectionOf(new Exchange(call, asked).send(http, request));
    call.abort('enough');
    expect([await rejection, sent[0]?.signal.reason]).toEqual(['enough', 'enough']);
  });

  test('ends with the reason of the call, while it reads a body whose source ignores the abort', async () => {
    const call = makeListCall();
    const exchange = new Exchange(call, asked);
    const { response, cancelled } = handedOut();
    await exchange.send(wire(() => response).http, request);
    const rejection = rejectionOf(exchange.next());
    call.abort('enough');
    expect(await rejection).toBe('enough');
    exchange.close();
    expect(cancelled()).toBe(true);
  });

  test('gives no more bytes once the call has ended between two chunks', async () => {
    const call = makeListCall();
    const exchange = new Exchange(call, asked);
    await exchange.send(wire(() => new Response(chunked(['one', 'two']))).http, request);
    await exchange.next();
    call.abort('enough');
    expect(await rejectionOf(exchange.next())).toBe('enough');
  });

  test('close drops a body that is not read to its end, and leaves neither timer nor listener', async () => {
    const call = makeListCall();
    const listeners = countListeners(call.signal);
    const exchange = new Exchange(call, asked);
    const { response, cancelled } = handedOut();
    await exchange.send(wire(() => response).http, request);
    exchange.close();
    exchange.close();
    expect([cancelled(), vi.getTimerCount(), listeners()]).toEqual([true, 0, 0]);
  });

  test('gives no bytes to a read that waits when it is closed, and starts no timer for it', async () => {
    const { response, give } = handedOut();
    const exchange = new Exchange(makeListCall(), asked);
    await exchange.send(wire(() => response).http, request);
    const rejection = rejectionOf(exchange.next());
    give(new Uint8Array(4 * MEBIBYTE.byteLength));
    exchange.close();
    expect(await rejection).toMatchObject({ name: 'AbortError', message: 'The answer was dropped' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each<[string, object]>([
    ['leaves a read pending when it is cancelled', { cancel: () => Promise.resolve() }],
    ['gives nothing when it is cancelled', { cancel: () => {} }],
    ['throws when it is cancelled', { cancel: thrower }],
    ['rejects when it is cancelled', { cancel: async () => thrower() }],
    ['cannot be cancelled', {}],
  ])('ends at its time limit even if a body of another library %s', async (_what, reader) => {
    const exchange = new Exchange(makeListCall({ attemptTimeoutMs: 1_000 }), asked);
    await exchange.send(wire(() => foreign({ read: () => new Promise(() => {}), ...reader })).http, request);
    const rejection = rejectionOf(exchange.next());
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await rejection).toBeInstanceOf(TimeoutError);
  });

  test('reads a body of another library to its end, though that comes with a value', async () => {
    const reads = [
      { value: CHUNK, done: false },
      { value: new Uint8Array(), done: true },
    ];
    const exchange = new Exchange(makeListCall(), asked);
    await exchange.send(wire(() => foreign({ read: async () => reads.shift() })).http, request);
    expect([await exchange.next(), await exchange.next()]).toEqual([CHUNK, undefined]);
  });

  test('starts no timer for a read after it was closed', async () => {
    const exchange = new Exchange(makeListCall(), asked);
    await exchange.send(wire(() => handedOut().response).http, request);
    exchange.close();
    expect(await rejectionOf(exchange.nextWhenAsked())).toMatchObject({ name: 'AbortError', message: 'The answer was dropped' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('drops an answer that comes after the exchange has ended', async () => {
    const call = makeListCall();
    const exchange = new Exchange(call, asked);
    const late = deferred<Response>();
    const rejection = rejectionOf(exchange.send(wire(() => late.promise).http, request));
    call.abort('enough');
    await rejection;
    exchange.close();
    const { response, cancelled } = handedOut();
    late.resolve(response);
    await vi.advanceTimersByTimeAsync(0);
    expect(cancelled()).toBe(true);
  });
});
