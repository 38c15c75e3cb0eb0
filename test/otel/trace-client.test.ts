import { context, metrics, propagation, SpanKind, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { PetStoreClientOptions } from 'petstore-inventory';
import { traceClient } from 'petstore-inventory/otel';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { failure, item, json, networkError } from '../support/answers.ts';
import { KEY, scriptedClient } from '../support/client.ts';
import { rejectionOf, thrower, thrownBy } from '../support/outcome.ts';
import { type Answering, hang } from '../support/scripted-fetch.ts';
import { holdTime, NOW_MS } from '../support/time.ts';
import { Collector, keepContext } from './collector.ts';

let stopKeeping = () => {};
beforeAll(() => {
  stopKeeping = keepContext();
});
afterAll(() => stopKeeping());
holdTime();

/** Answers after a while. */
function delayed(ms: number, answer: Answering): Answering {
  return async (request) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return answer(request);
  };
}

/** A client that is traced, with the lines of what was traced. */
function tracedClient(answers: Answering[], options: PetStoreClientOptions = {}) {
  const collector = new Collector();
  const { client } = scriptedClient(answers, options);
  const stop = traceClient(client, collector);
  return { client, collector, stop, tree: () => collector.tree(NOW_MS) };
}

/** An answer by which the minute is used up and ends in that many seconds. */
function usedUp(seconds: number): Record<string, string> {
  const resetAt = String(Math.ceil(Date.now() / 1000) + seconds);
  return { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': resetAt };
}

describe('traceClient gives a call a span', () => {
  test('without a key that is part of the address', async () => {
    const { client, collector } = tracedClient([() => json(200, [])], { baseUrl: `https://shop.test/${KEY}/v1` });
    await client.listInventory();
    expect(collector.spans.flatMap(({ attributes }) => attributes['url.full'] ?? [])).toEqual(['https://shop.test/***/v1/inventory']);
  });

  test('that contains its waits and attempts, and measures them', async () => {
    const { client, collector, tree } = tracedClient([
      () => json(200, [], usedUp(20)),
      delayed(50, () => failure(429, { 'retry-after': '7' })),
      delayed(40, () => failure(500)),
      delayed(30, () => item(42)),
    ]);
    const calls = Promise.all([client.listInventory(), client.updateInventory(42n, { quantity: 1 })]);
    await vi.runAllTimersAsync();
    await calls;
    expect(tree()).toEqual([
      'listInventory 0 to 0 call_id=1 outcome=succeeded attempts=1',
      '  GET 0 to 0 response.status_code=200',
      'updateInventory 0 to 28.131 call_id=2 pet_id=42 outcome=succeeded attempts=3',
      '  wait quota 0 to 20.01 wait.reason=quota',
      '  PATCH 20.01 to 20.06 response.status_code=429 error.type=429 FAILED',
      '  wait rate-limit 20.06 to 27.061 wait.reason=rate-limit',
      '  PATCH 27.061 to 27.101 request.resend_count=1 response.status_code=500 error.type=500 FAILED',
      '  wait backoff 27.101 to 28.101 wait.reason=backoff',
      '  PATCH 28.101 to 28.131 request.resend_count=2 response.status_code=200',
    ]);
    expect(await collector.series()).toEqual([
      'http.client.request.duration response.status_code=200: 1 in 0',
      'http.client.request.duration response.status_code=429 error.type=429: 1 in 0.05',
      'http.client.request.duration response.status_code=500 error.type=500: 1 in 0.04',
      'http.client.request.duration response.status_code=200: 1 in 0.03',
      'petstore.client.wait.duration wait.reason=quota: 1 in 20.01',
      'petstore.client.wait.duration wait.reason=rate-limit: 1 in 7.001',
      'petstore.client.wait.duration wait.reason=backoff: 1 in 1',
      'petstore.client.rate_limited : 1',
    ]);
  });

  test('whose attempts follow the conventions for HTTP clients', async () => {
    const { client, collector } = tracedClient([() => item(42)], { baseUrl: 'https://shop.test:8443/v1' });
    await client.updateInventory(42, { quantity: 1 });
    const [attempt, call] = collector.spans;
    const server = { 'server.address': 'shop.test', 'server.port': 8443 };
    expect([call?.kind, call?.attributes]).toEqual([
      SpanKind.CLIENT,
      { ...server, 'petstore.call_id': 1, 'petstore.pet_id': '42', 'petstore.outcome': 'succeeded', 'petstore.attempts': 1 },
    ]);
    expect([attempt?.kind, attempt?.attributes]).toEqual([
      SpanKind.CLIENT,
      {
        ...server,
        'http.request.method': 'PATCH',
        'http.response.status_code': 200,
        'url.full': 'https://shop.test:8443/v1/inventory/42',
      },
    ]);
    expect(attempt?.instrumentationScope).toMatchObject({ name: packageJson.name, version: packageJson.version });
  });

  test.each([
    ['https://default-port.test/v1', 443],
    ['http://localhost/v1', 80],
  ])('that names the port of %s', async (baseUrl, port) => {
    const { client, collector } = tracedClient([() => json(200, [])], { baseUrl });
    await client.listInventory();
    expect(collector.spans.map(({ attributes }) => attributes['server.port'])).toEqual([port, port]);
  });

  test('that names an IPv6 address without the brackets of its URL', async () => {
    const { client, collector } = tracedClient([() => json(200, [])], { baseUrl: 'https://[2001:db8::1]/v1' });
    await client.listInventory();
    expect(collector.spans.map(({ attributes }) => attributes['server.address'])).toEqual(['2001:db8::1', '2001:db8::1']);
  });

  test('that failed with the kind and the message of its error', async () => {
    const { client, tree } = tracedClient([() => failure(404)]);
    await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    expect(tree()).toEqual([
      'updateInventory 0 to 0 call_id=1 pet_id=42 outcome=rejected attempts=1 error.type=not-found ' +
        'FAILED Cannot update pet 42: the service answered 404 code_404: message 404',
      '  PATCH 0 to 0 response.status_code=404 error.type=404 FAILED',
    ]);
  });

  test('that names the call that was sent in its place if it was superseded', async () => {
    const { client, tree, collector } = tracedClient([() => item(42)], { latestOnly: true });
    await Promise.all([client.updateInventory(42, { quantity: 1 }), client.updateInventory(42, { quantity: 2 })]);
    expect(tree()).toEqual([
      'updateInventory 0 to 0 call_id=1 pet_id=42 outcome=superseded attempts=0 superseded_by=2',
      '  wait order 0 to 0 wait.reason=order',
      'updateInventory 0 to 0 call_id=2 pet_id=42 outcome=succeeded attempts=1',
      '  wait order 0 to 0 wait.reason=order',
      '  PATCH 0 to 0 response.status_code=200',
    ]);
    expect(collector.spans.filter(({ status }) => status.message !== undefined)).toEqual([]);
  });

  test('that failed without an answer, or with an invalid one', async () => {
    const broken = () => Promise.reject(networkError('ECONNRESET'));
    const { client, tree } = tracedClient([broken, () => json(200, { petId: 'x' })], { maxRetries: 0 });
    await rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(1_000);
    await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    expect(tree().map((line) => line.replace(/ Cannot.*/, ''))).toEqual([
      'listInventory 0 to 0 call_id=1 outcome=unknown attempts=1 error.type=connection FAILED',
      '  GET 0 to 0 error.type=connection FAILED',
      'updateInventory 1 to 1 call_id=2 pet_id=42 outcome=unknown attempts=1 error.type=invalid-response FAILED',
      '  PATCH 1 to 1 response.status_code=200 error.type=invalid-response FAILED',
    ]);
  });

  test('whose attempts end when they fail, even if a call gives up in an outage without reporting a retry', async () => {
    const down = () => failure(503);
    const broken = () => Promise.reject(networkError('ECONNRESET'));
    const { client, tree, collector } = tracedClient([down, down, broken], { maxWaitMs: 400, maxRetries: 20 });
    const rejection = rejectionOf(client.listInventory());
    await vi.runAllTimersAsync();
    await rejection;
    expect(tree().map((line) => line.replace(/ Cannot.*/, ''))).toEqual([
      'listInventory 0 to 1.9 call_id=1 outcome=unknown attempts=3 error.type=connection FAILED',
      '  GET 0 to 0 response.status_code=503 error.type=503 FAILED',
      '  wait backoff 0 to 0.5 wait.reason=backoff',
      '  GET 0.5 to 0.5 request.resend_count=1 response.status_code=503 error.type=503 FAILED',
      '  wait backoff 0.5 to 1.5 wait.reason=backoff',
      '  GET 1.5 to 1.5 request.resend_count=2 error.type=_OTHER FAILED',
      '  wait backoff 1.5 to 1.9 wait.reason=backoff error.type=connection FAILED',
    ]);
    expect((await collector.series()).filter((line) => line.startsWith('http'))).toEqual([
      'http.client.request.duration response.status_code=503 error.type=503: 2 in 0',
      'http.client.request.duration error.type=_OTHER: 1 in 0',
    ]);
  });

  test("that was aborted in flight or while it waited, without the caller's reason", async () => {
    const { client, tree } = tracedClient([hang]);
    const controller = new AbortController();
    const { signal } = controller;
    const calls = [
      rejectionOf(client.updateInventory(42, { quantity: 1 }, { signal })),
      rejectionOf(client.updateInventory(42, { quantity: 2 }, { signal })),
    ];
    await vi.advanceTimersByTimeAsync(100);
    controller.abort({ secret: 'of the caller' });
    await Promise.all(calls);
    expect(tree()).toEqual([
      'updateInventory 0 to 0.1 call_id=1 pet_id=42 outcome=unknown attempts=1 error.type=_OTHER FAILED _OTHER',
      '  PATCH 0 to 0.1 error.type=_OTHER FAILED',
      'updateInventory 0 to 0.1 call_id=2 pet_id=42 outcome=not-sent attempts=0 error.type=_OTHER FAILED _OTHER',
      '  wait order 0 to 0.1 wait.reason=order error.type=_OTHER FAILED',
    ]);
  });

  test('that was never sent', async () => {
    const { client, tree } = tracedClient([() => json(200, [])]);
    client.close();
    await rejectionOf(client.listInventory());
    expect(tree()).toEqual(['listInventory 0 to 0 call_id=1 outcome=not-sent attempts=0 error.type=AbortError FAILED AbortError']);
  });
});

describe('traceClient gives a stream a span', () => {
  const rows = Array.from({ length: 3 }, (_, index) => ({ petId: index + 1, quantity: 1, status: 'sold' }));

  test('that lasts as long as it is read, with an attempt that lasts until the headers come', async () => {
    const { client, tree } = tracedClient([delayed(20, () => json(200, rows))]);
    const reading = (async () => {
      for await (const _item of client.streamInventory()) await new Promise((resolve) => setTimeout(resolve, 100));
    })();
    await vi.runAllTimersAsync();
    await reading;
    expect(tree()).toEqual([
      'streamInventory 0 to 0.32 call_id=1 outcome=succeeded attempts=1',
      '  GET 0 to 0.02 response.status_code=200',
    ]);
  });

  test('that ends when the stream is left, which is not a failure', async () => {
    const { client, tree } = tracedClient([delayed(20, () => json(200, rows))]);
    const reading = (async () => {
      for await (const _item of client.streamInventory()) break;
    })();
    await vi.runAllTimersAsync();
    await reading;
    expect(tree()).toEqual([
      'streamInventory 0 to 0.02 call_id=1 outcome=succeeded attempts=1',
      '  GET 0 to 0.02 response.status_code=200',
    ]);
  });
});

describe('traceClient gives a fetch a span', () => {
  test('that contains its waits and attempts, and lasts until its body is read', async () => {
    const { client, tree, collector } = tracedClient([
      delayed(50, () => failure(429, { 'retry-after': '7' })),
      delayed(40, () => failure(500)),
      delayed(30, () => json(200, { id: 42 })),
    ]);
    const fetching = client.fetch('/pets/42?key=secret');
    await vi.advanceTimersByTimeAsync(8_500);
    const response = await fetching;
    expect(tree()).not.toContainEqual(expect.stringMatching(/^fetch/));
    await response.json();
    expect(tree()).toEqual([
      'fetch 0 to 8.5 call_id=1 outcome=succeeded attempts=3',
      '  GET 0 to 0.05 response.status_code=429 error.type=429 FAILED',
      '  wait rate-limit 0.05 to 7.053 wait.reason=rate-limit',
      '  GET 7.053 to 7.093 request.resend_count=1 response.status_code=500 error.type=500 FAILED',
      '  wait backoff 7.093 to 8.093 wait.reason=backoff',
      '  GET 8.093 to 8.123 request.resend_count=2 response.status_code=200',
    ]);
    expect(collector.spans.flatMap(({ attributes }) => attributes['url.full'] ?? [])).toEqual(Array(3).fill(`${client.baseUrl}/pets/42`));
    expect((await collector.series()).filter((line) => line.startsWith('http'))).toHaveLength(3);
  });

  test('that failed if the service refused, although its caller gets the Response', async () => {
    const { client, tree } = tracedClient([() => failure(404)]);
    expect((await client.fetch('/pets/42', { method: 'DELETE' })).status).toBe(404);
    expect(tree()).toEqual([
      'fetch 0 to 0 call_id=1 outcome=rejected attempts=1 error.type=not-found ' +
        'FAILED Cannot fetch DELETE /pets/42: the service answered 404 code_404: message 404',
      '  DELETE 0 to 0 response.status_code=404 error.type=404 FAILED',
    ]);
  });

  test('that ends if its body is left, or not read for `attemptTimeoutMs`', async () => {
    const { client, tree } = tracedClient([() => json(200, { id: 42 })], { attemptTimeoutMs: 1_000 });
    await (await client.fetch('/pets/1')).body?.cancel();
    await client.fetch('/pets/2');
    await vi.runAllTimersAsync();
    expect(tree()).toEqual([
      'fetch 0 to 0 call_id=1 outcome=succeeded attempts=1',
      '  GET 0 to 0 response.status_code=200',
      'fetch 0 to 1 call_id=2 outcome=succeeded attempts=1',
      '  GET 0 to 0 response.status_code=200',
    ]);
  });

  test('by its method, also QUERY', async () => {
    const { client, tree } = tracedClient([() => json(200, {})]);
    await (await client.fetch('/pets', { method: 'QUERY' })).json();
    expect(tree()[1]).toBe('  QUERY 0 to 0 response.status_code=200');
  });

  test('without a separate metric series for each unknown method', async () => {
    const { client, collector } = tracedClient([() => json(200, {})]);
    await (await client.fetch('/pets', { method: 'PURGE' })).json();
    const [attempt] = collector.spans;
    expect([attempt?.name, attempt?.attributes]).toMatchObject([
      'HTTP',
      { 'http.request.method': '_OTHER', 'http.request.method_original': 'PURGE' },
    ]);
    const measured = await collector.measured();
    expect(measured).toMatchObject([{ 'http.request.method': '_OTHER' }]);
    expect(measured[0]).not.toHaveProperty('http.request.method_original');
  });
});

describe('traceClient', () => {
  test('makes a call the child of the span that was active when it was made, even if it waits for another call', async () => {
    const { client, collector, tree } = tracedClient([delayed(100, () => json(200, [])), () => json(200, [])], { concurrency: 1 });
    const tracer = collector.tracerProvider.getTracer('an application');
    const within = (name: string) =>
      tracer.startActiveSpan(name, async (span) => {
        await client.listInventory();
        span.end();
      });
    const both = Promise.all([within('first'), within('second')]);
    await vi.runAllTimersAsync();
    await both;
    expect(tree().map((line) => line.replace(/(?<=\w) \d.*/, ''))).toEqual([
      'first',
      '  listInventory',
      '    GET',
      'second',
      '  listInventory',
      '    wait in-flight',
      '    GET',
    ]);
    expect(new Set(collector.spans.map((span) => span.spanContext().traceId)).size).toBe(2);
  });

  test('goes to the global providers unless told otherwise', async () => {
    const collector = new Collector();
    trace.setGlobalTracerProvider(collector.tracerProvider);
    metrics.setGlobalMeterProvider(collector.meterProvider);
    const { client } = scriptedClient([() => json(200, [])]);
    traceClient(client);
    await client.listInventory();
    trace.disable();
    metrics.disable();
    expect(collector.tree(NOW_MS)).toHaveLength(2);
    expect(await collector.series()).toHaveLength(1);
  });

  test('ends with the function that it returns: open spans end, unmeasured, and later calls are not traced', async () => {
    const { client, collector, stop, tree } = tracedClient([delayed(100, () => json(200, []))]);
    const first = client.listInventory();
    await vi.advanceTimersByTimeAsync(50);
    stop();
    const second = client.listInventory();
    await vi.runAllTimersAsync();
    await Promise.all([first, second]);
    expect(tree()).toEqual(['listInventory 0 to 0.05 call_id=1', '  GET 0 to 0.05']);
    expect(await collector.series()).toEqual([]);
  });

  test('does not affect a call if a tracer throws at the beginning or at the end of a span', async () => {
    const { client } = scriptedClient([() => failure(500), () => json(200, [])]);
    const { tracerProvider } = new Collector();
    const thrown = vi.fn(() => {
      throw new Error('the tracer failed');
    });
    const span = Object.assign(tracerProvider.getTracer('whole').startSpan('broken'), { end: thrown });
    const beginning = Object.assign(tracerProvider.getTracer('beginning'), { startSpan: thrown });
    const ending = Object.assign(tracerProvider.getTracer('ending'), { startSpan: () => span });
    traceClient(client, { tracerProvider: { getTracer: () => beginning } });
    traceClient(client, { tracerProvider: { getTracer: () => ending } });
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    expect(await items).toEqual([]);
    expect(thrown).toHaveBeenCalledTimes(5);
  });

  test('keeps no call if a span throws when the tracing is stopped', async () => {
    const { client } = scriptedClient([hang]);
    const end = vi.fn(thrower);
    const tracer = new Collector().tracerProvider.getTracer('ending');
    const broken = Object.assign(tracer, { startSpan: () => Object.assign(trace.getTracer('none').startSpan('broken'), { end }) });
    const stop = traceClient(client, { tracerProvider: { getTracer: () => broken } });
    const calls = [rejectionOf(client.listInventory()), rejectionOf(client.listInventory())];
    await vi.advanceTimersByTimeAsync(0);
    stop();
    stop();
    client.close();
    await Promise.all(calls);
    expect(end).toHaveBeenCalledTimes(4);
  });

  test('ends every span of a call even if a meter throws', async () => {
    const { client } = scriptedClient([() => failure(500), () => json(200, [])]);
    const collector = new Collector();
    const meter = collector.meterProvider.getMeter('broken');
    const histogram = Object.assign(meter.createHistogram('broken'), { record: thrower });
    const broken = Object.assign(meter, { createHistogram: () => histogram });
    traceClient(client, { tracerProvider: collector.tracerProvider, meterProvider: { getMeter: () => broken } });
    const items = client.listInventory();
    await vi.runAllTimersAsync();
    await items;
    expect(collector.spans.map(({ name }) => name)).toEqual(['GET', 'wait backoff', 'GET', 'listInventory']);
  });

  test('never shows the key, even if the service echoes it', async () => {
    const { client, collector } = tracedClient([() => json(400, { code: 'bad', message: `no ${KEY}`, status: 400 })]);
    await rejectionOf(client.updateInventory(42, { quantity: 1 }));
    const shown = collector.spans.map(({ name, attributes, status, events }) => ({ name, attributes, status, events }));
    expect(JSON.stringify([shown, await collector.series()])).not.toContain(KEY);
    expect(JSON.stringify(shown)).toContain('no ***');
  });
});

describe('The requests of a traced client', () => {
  beforeAll(() => {
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    return () => propagation.disable();
  });

  /** The `traceparent` of a span, as W3C Trace Context has it. */
  const parentOf = (spanId: string, traceId: string) => `00-${traceId}-${spanId}-01`;

  test('carry the context of their attempt, which is active while fetch is called', async () => {
    const active: (string | undefined)[] = [];
    const noting = (answer: Answering) => (request: Parameters<Answering>[0]) => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return answer(request);
    };
    const collector = new Collector();
    const { client, seen } = scriptedClient([noting(() => failure(500)), noting(() => item(42))]);
    traceClient(client, collector);
    const update = client.updateInventory(42, { quantity: 1 });
    await vi.runAllTimersAsync();
    await update;
    const attempts = collector.spans.filter(({ name }) => name === 'PATCH').map((span) => span.spanContext());
    expect(attempts).toHaveLength(2);
    expect(active).toEqual(attempts.map(({ spanId }) => spanId));
    expect(seen.map(({ headers }) => headers.traceparent)).toEqual(attempts.map(({ spanId, traceId }) => parentOf(spanId, traceId)));
  });

  test('carry no context if `propagate` is false, or once the tracing has ended', async () => {
    const collector = new Collector();
    const active: boolean[] = [];
    const { client, seen } = scriptedClient([
      () => {
        active.push(trace.getActiveSpan() !== undefined);
        return json(200, []);
      },
    ]);
    const stop = traceClient(client, { ...collector, propagate: false });
    await client.listInventory();
    stop();
    await client.listInventory();
    expect(seen.map(({ headers }) => headers.traceparent)).toEqual([undefined, undefined]);
    expect(active).toEqual([true, false]);
  });

  test("keep the client's headers, whatever a propagator sets", async () => {
    const fields = { Authorization: 'Bearer other', 'Content-Type': 'text/plain', 'x-team': 'other', 'X-Trace': 'given' };
    vi.spyOn(propagation, 'inject').mockImplementation((_context, carrier, setter) => {
      for (const [name, value] of Object.entries(fields)) setter?.set(carrier, name, value);
    });
    const { client, seen } = scriptedClient([() => item(42)], { headers: { 'X-Team': 'stock' } });
    traceClient(client, new Collector());
    await client.updateInventory(42, { quantity: 1 });
    expect(seen[0]?.headers).toMatchObject({
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'x-team': 'stock',
      'x-trace': 'given',
    });
  });

  test.each([
    ['throws', () => thrower()],
    [
      'sets what is no header',
      (carrier: unknown, set: (carrier: unknown, name: string, value: string) => void) => set(carrier, 'a b', '\n'),
    ],
  ])('are sent once even if a propagator %s', async (_what, inject) => {
    vi.spyOn(propagation, 'inject').mockImplementation((_context, carrier, setter) =>
      inject(carrier, (_carrier, name, value) => setter?.set(carrier, name, value)),
    );
    const { client, seen } = scriptedClient([() => item(42)]);
    traceClient(client, new Collector());
    expect(await client.updateInventory(42, { quantity: 1 })).toMatchObject({ petId: 42 });
    expect(seen).toHaveLength(1);
  });

  test('are sent once even if the context manager throws', async () => {
    vi.spyOn(context, 'with').mockImplementation(thrower);
    const { client, seen } = scriptedClient([() => item(42)]);
    traceClient(client, new Collector());
    expect(await client.updateInventory(42, { quantity: 1 })).toMatchObject({ petId: 42 });
    expect(seen).toHaveLength(1);
  });

  test('carry the context of the first tracer if there are two', async () => {
    const first = new Collector();
    const { client, seen } = scriptedClient([() => json(200, [])]);
    traceClient(client, first);
    traceClient(client, new Collector());
    await client.listInventory();
    const { spanId = '', traceId = '' } = first.spans.find(({ name }) => name === 'GET')?.spanContext() ?? {};
    expect(seen[0]?.headers.traceparent).toBe(parentOf(spanId, traceId));
  });
});

test.each([[{ propogate: false }], [{ propagate: 'no' }], [null], [false]])('traceClient refuses the options %o', (options) => {
  const { client } = scriptedClient([]);
  expect(thrownBy(() => Reflect.apply(traceClient, undefined, [client, options]))).toMatchObject({ name: 'ConfigurationError' });
});

test.each([[undefined], [{}], [{ on: thrower }], [{ baseUrl: 'https://shop.test/v1' }], ['psk_of_a_client']])(
  'traceClient refuses %o in place of the client, and does not show a text, which may be the key',
  (bad) => {
    const error = thrownBy(() => Reflect.apply(traceClient, undefined, [bad, { propagate: 'no' }]));
    const message = expect.stringMatching(
      /^Cannot use (?!.*psk).* as `client`: it must be a PetStoreClient, or have its on\(\) and baseUrl$/,
    );
    expect(error).toMatchObject({ kind: 'invalid-argument', argument: 'client', message });
  },
);
