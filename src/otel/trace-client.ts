import { type Meter, type MeterProvider, metrics, type Tracer, type TracerProvider, trace } from '@opentelemetry/api';
import { notAClient } from '../api.ts';
import { surround } from '../around-fetch.ts';
import type { PetStoreClient } from '../client.ts';
import { hidingKey, redactorOf } from '../hiding-key.ts';
import { isBrowser } from '../options/environment.ts';
import { booleanOption, checkNames, hasMethods } from '../options/rules.ts';
import { unharmed } from '../thrown.ts';
import { VERSION } from '../version.ts';
import { type Scope, TracedCall } from './traced-call.ts';

/**
 * The options of `traceClient`.
 *
 * @example
 * const exporter = new InMemorySpanExporter();
 * const options: TraceOptions = { tracerProvider: new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }) };
 * const stop = traceClient(petstore, options);
 * await petstore.listInventory();
 * stop();
 * console.log(exporter.getFinishedSpans().map(({ name }) => name).join(' ')); // → GET listInventory
 */
export interface TraceOptions {
  /**
   * The provider for the spans of calls, attempts and waits.
   * @default the global provider
   */
  tracerProvider?: TracerProvider | undefined;
  /**
   * The provider for metrics: the durations of requests and waits in seconds, and the number of 429 answers.
   * @default the global provider
   */
  meterProvider?: MeterProvider | undefined;
  /**
   * Whether requests carry the trace context of the global propagator: `traceparent`, and `baggage` if there is any. Set it to false if an
   * instrumentation of `fetch` sends its own, or if the service must not get it.
   * @default true; false in browsers, where the service must allow these headers (CORS)
   */
  propagate?: boolean | undefined;
}

/** The name and version of the instrumentation scope. */
const LIBRARY = ['petstore-inventory', VERSION] as const;
/** Bucket boundaries in seconds: for requests as in the OpenTelemetry conventions for HTTP, for waits longer ones. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const WAIT_BUCKETS = [0.01, 0.1, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300];

/**
 * Traces and measures the calls of a client. Each call gets a span, as a child of the span that is active where it is made, and in it spans
 * for its attempts and waits. The span of an attempt is active while `fetch` is called, and the request carries its context. An error
 * of a tracer does not affect a call.
 *
 * @returns a function that ends this. It also ends the spans of unfinished calls, which are not measured.
 * @throws InvalidArgumentError for a value that is not a client; ConfigurationError for an option that is unknown or bad; the error of a
 *   provider that cannot give a tracer or meter
 * @example
 * const stop = traceClient(petstore);
 * await petstore.listInventory();
 * stop();
 */
export function traceClient(client: Pick<PetStoreClient, 'on' | 'baseUrl'>, options: TraceOptions = {}): () => void {
  if (!hasMethods(client, ['on']) || typeof client.baseUrl !== 'string') throw notAClient(client, 'on() and baseUrl');
  const { tracerProvider, meterProvider, propagate } = hidingKey(client, () => resolveTrace(options));
  const calls = new Map<number, TracedCall>();
  const scope = scopeOf(client, tracerProvider.getTracer(...LIBRARY), meterProvider.getMeter(...LIBRARY));
  const stops = [
    client.on('started', (event) => calls.set(event.callId, new TracedCall(event, scope))),
    client.on('wait', ({ callId, reason }) => calls.get(callId)?.wait(reason)),
    client.on('request', (event) => calls.get(event.callId)?.send(event)),
    client.on('response', (event) => calls.get(event.callId)?.receive(event)),
    client.on('retry', (event) => calls.get(event.callId)?.retry(event)),
    client.on('settled', (event) => {
      const call = calls.get(event.callId);
      calls.delete(event.callId);
      call?.settle(event);
    }),
    surround(client, (callId, fetchWith) => calls.get(callId)?.fetch(fetchWith, propagate)),
  ];
  return () => {
    for (const stop of stops) stop();
    for (const call of calls.values()) unharmed(() => call.leave());
    calls.clear();
  };
}

function resolveTrace(options: TraceOptions): { tracerProvider: TracerProvider; meterProvider: MeterProvider; propagate: boolean } {
  checkNames(options, ['propagate', 'tracerProvider', 'meterProvider']);
  const { tracerProvider = trace, meterProvider = metrics } = options;
  return { tracerProvider, meterProvider, propagate: booleanOption('propagate', options.propagate, !isBrowser()) };
}

function scopeOf(client: Pick<PetStoreClient, 'baseUrl'>, tracer: Tracer, meter: Meter): Scope {
  const { protocol, hostname, port } = new URL(client.baseUrl);
  // An IP address by the conventions; the brackets around IPv6 belong to the URL.
  const address = hostname.replace(/^\[|\]$/g, '');
  const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
  return {
    tracer,
    // The key may be part of it, and a function that gives the key may not have been called yet.
    get shownAddress() {
      return redactorOf.get(client)?.hide(client.baseUrl) ?? client.baseUrl;
    },
    server: { 'server.address': address, 'server.port': Number(port || (protocol === 'https:' ? 443 : 80)) },
    requests: histogram('http.client.request.duration', 'Duration of HTTP client requests.', REQUEST_BUCKETS),
    waits: histogram('petstore.client.wait.duration', 'How long calls waited before an attempt.', WAIT_BUCKETS),
    refusals: meter.createCounter('petstore.client.rate_limited', { unit: '{response}', description: 'Answers 429.' }),
  };
}
