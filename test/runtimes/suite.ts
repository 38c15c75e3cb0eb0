import { type Tracer, trace } from '@opentelemetry/api';
import {
  AuthenticationError,
  isPetStoreError,
  NotFoundError,
  PetStoreClient,
  type PetStoreClientOptions,
  StockView,
} from 'petstore-inventory';
import { traceClient } from 'petstore-inventory/otel';
import { createSandbox } from 'petstore-inventory/sandbox';
import { equal, failureOf, ok } from './expect.ts';
import { type Result, runTest } from './run-test.ts';
import { API_KEY, type ScenarioName } from './scenarios.ts';

/** What a runtime tells the suite of itself. */
export interface Place {
  /** Where the service listens. */
  origin: string;
  /** The runtime's name, which gives it services of its own. */
  runtime: string;
  /** Whether a key would be public here. */
  isBrowser: boolean;
  /** What clients send by; the runtime's own where there is none. */
  fetch?: typeof globalThis.fetch | undefined;
}

type Test = (place: Place) => void | Promise<void>;

export const tests: Record<string, Test> = {
  'lists the stock': async (place) => {
    const items = await clientOf(place, 'plain').listInventory();
    equal(items.length, 12);
    equal(typeof items[0]?.petId, 'number');
  },
  'updates one pet and tells the whole reply': async (place) => {
    const reply = await clientOf(place, 'plain').updateInventory(3, { quantity: 7 }).withResponse();
    equal([reply.status, reply.data.petId, reply.data.quantity, reply.attempts], [200, 3, 7, 1]);
    equal(reply.rateLimit?.limit, 1000);
  },
  'rejects with a typed error that does not show the key': async (place) => {
    const missing = await failureOf(clientOf(place, 'plain').updateInventory(999, { quantity: 1 }));
    ok(missing instanceof NotFoundError && missing.name === 'NotFoundError', String(missing));
    equal([missing.kind, missing.status, missing.outcome], ['not-found', 404, 'rejected']);
    const apiKey = 'wrong-key-0123456789';
    const refused = await failureOf(clientOf(place, 'plain', { apiKey }).listInventory());
    ok(refused instanceof AuthenticationError, String(refused));
    ok(!`${refused.message} ${refused.stack} ${JSON.stringify(refused)}`.includes(apiKey), 'the key is in the error');
  },
  'keeps the stack of an error and of its cause out of what lists their fields': async (place) => {
    const missing = await failureOf(clientOf(place, 'plain').updateInventory(999, { quantity: 1 }));
    const lost = await failureOf(clientOf(place, 'plain', { apiKey: () => Promise.reject(new Error('locked')) }).listInventory());
    for (const failure of [missing, lost]) {
      ok(isPetStoreError(failure), String(failure));
      equal([...Object.keys(failure), ...Object.keys(failure.cause ?? {})].includes('stack'), false);
    }
  },
  'refuses bad arguments before anything is sent': async (place) => {
    const failure = await failureOf(clientOf(place, 'plain').updateInventory(1, { quantity: 0.5 }));
    ok(isPetStoreError(failure) && failure.kind === 'invalid-argument' && failure.attempts === 0, String(failure));
  },
  'tries a 500 again': async (place) => {
    const reply = await clientOf(place, 'broken').listInventory().withResponse();
    equal([reply.attempts, reply.data.length], [2, 12]);
  },
  'tries a lost connection again': async (place) => {
    // A browser or a connection pool may open a broken connection anew by itself, so that we never hear of it.
    const reply = await clientOf(place, 'reset').updateInventory(1, { quantity: 5 }).withResponse();
    ok(reply.attempts <= 2 && reply.data.quantity === 5, `${reply.attempts} attempts`);
  },
  'calls a body that is cut a broken connection': async (place) => {
    const failure = await failureOf(clientOf(place, 'cut', { maxRetries: 0 }).listInventory());
    ok(isPetStoreError(failure) && failure.kind === 'connection', String(failure));
  },
  'takes connections and bodies that break for an outage': async (place) => {
    const gates = (['lost', 'cut'] as const).map(async (scenario) => {
      const client = clientOf(place, scenario, { maxRetries: 2 });
      const told: string[] = [];
      client.on('gate', ({ state }) => told.push(state));
      await failureOf(client.listInventory());
      return told;
    });
    equal(await Promise.all(gates), [['closed'], ['closed']]);
  },
  'ends an attempt whose answer or body does not come': async (place) => {
    for (const scenario of ['stalled', 'stalled-body'] as const) {
      const failure = await failureOf(clientOf(place, scenario, { maxRetries: 0, attemptTimeoutMs: 300 }).listInventory());
      ok(isPetStoreError(failure) && failure.kind === 'timeout', `${scenario}: ${failure}`);
    }
  },
  'aborts within moments, with the reason': async (place) => {
    for (const scenario of ['stalled', 'stalled-body', 'slow'] as const) {
      const controller = new AbortController();
      const reason = new Error(`enough of ${scenario}`);
      const failed = failureOf(clientOf(place, scenario).listInventory({ signal: controller.signal }));
      await sleep(100);
      controller.abort(reason);
      // A busy machine delays the timer as it delays the call.
      const ended = await Promise.race([failed, sleep(100)]);
      ok(ended === reason, `${scenario}: ${ended ?? 'the abort took more than 100 ms'}`);
    }
  },
  'does not follow a redirect': async (place) => {
    const failure = await failureOf(clientOf(place, 'moved').listInventory());
    ok(isPetStoreError(failure) && failure.kind === 'unexpected-status', String(failure));
    // A browser shows neither the status nor the location of a redirect (Fetch standard, opaque-redirect filtered response).
    equal(failure.location, place.isBrowser ? undefined : 'http://127.0.0.1:9/elsewhere');
  },
  'holds every call while the gate is closed': async (place) => {
    const client = clientOf(place, 'refusing');
    const startedAtMs = Date.now();
    await Promise.all(Array.from({ length: 5 }, (_, index) => client.updateInventory(index + 1, { quantity: 1 })));
    ok(Date.now() - startedAtMs >= 1_000, `it took ${Date.now() - startedAtMs} ms`);
    equal((await reportOf(place, 'refusing')).rateLimited, 1);
  },
  'waits for the window rather than provoking a 429': async (place) => {
    const client = clientOf(place, 'windowed', { plan: { requestsPerMinute: 5 } });
    await Promise.all(Array.from({ length: 8 }, (_, index) => client.updateInventory(index + 1, { quantity: 1 })));
    const { requests, rateLimited } = await reportOf(place, 'windowed');
    equal([requests, rateLimited], [8, 0]);
  },
  'keeps to the plan where the limits are hidden': async (place) => {
    const client = clientOf(place, 'hidden', { plan: { requestsPerMinute: 5 }, maxWaitMs: 100 });
    const calls = Array.from({ length: 7 }, (_, index) => client.updateInventory(index + 1, { quantity: 1 }));
    const settled = await Promise.allSettled(calls);
    equal(settled.filter(({ status }) => status === 'fulfilled').length, 5);
    const { requests, rateLimited } = await reportOf(place, 'hidden');
    equal([requests, rateLimited], [5, 0]);
  },
  'sends the updates of one pet in order': async (place) => {
    const client = clientOf(place, 'slow');
    const quantities = await Promise.all([1, 2, 3].map(async (quantity) => (await client.updateInventory(4, { quantity })).quantity));
    equal(quantities, [1, 2, 3]);
    equal((await client.listInventory()).find(({ petId }) => petId === 4)?.quantity, 3);
  },
  'makes 100 updates at once': async (place) => {
    const client = clientOf(place, 'large');
    const items = await Promise.all(Array.from({ length: 100 }, (_, index) => client.updateInventory(index + 1, { quantity: index })));
    equal(items[99]?.quantity, 99);
  },
  'streams a large stock and closes what is left early': async (place) => {
    let count = 0;
    for await (const { petId } of clientOf(place, 'large').streamInventory()) count += petId > 0 ? 1 : 0;
    equal(count, 20_000);
    for await (const { petId } of clientOf(place, 'large').streamInventory()) {
      equal(petId, 1);
      break;
    }
  },
  'gives ids beyond 2^53 exactly or not at all': async (place) => {
    const failure = await failureOf(clientOf(place, 'wide').listInventory());
    ok(isPetStoreError(failure) && failure.kind === 'invalid-response' && failure.message.includes('bigint'), String(failure));
    const exact = new PetStoreClient({ ...optionsOf(place, 'wide'), int64: 'bigint' });
    equal(
      (await exact.listInventory()).map(({ petId }) => petId),
      [9007199254740993n, 2n],
    );
    equal((await exact.updateInventory(9007199254740993n, { quantity: 9 })).petId, 9007199254740993n);
  },
  'ends every call when it is closed': async (place) => {
    const client = clientOf(place, 'stalled');
    const failed = [failureOf(client.listInventory()), failureOf(client.updateInventory(1, { quantity: 1 }))];
    await sleep(50);
    client.close();
    for (const failure of [...(await Promise.all(failed)), await failureOf(client.listInventory())]) {
      ok(failure instanceof DOMException && failure.name === 'AbortError', String(failure));
    }
  },
  'tells events, and survives a listener that throws': async (place) => {
    const client = clientOf(place, 'plain');
    const told: string[] = [];
    client.on('request', () => {
      throw new Error('a listener of bad manners');
    });
    for (const name of ['request', 'response', 'settled'] as const) client.on(name, () => told.push(name));
    await client.listInventory();
    equal(told, ['request', 'response', 'settled']);
  },
  'traces with the API of OpenTelemetry alone, until it is stopped': async (place) => {
    const client = clientOf(place, 'plain');
    const told: string[] = [];
    const stops = [traceClient(client), traceClient(client, { tracerProvider: { getTracer: () => recorder(told) } })];
    await client.updateInventory(5, { quantity: 2 });
    for (const stop of stops) stop();
    await client.listInventory();
    equal(told, ['updateInventory', 'PATCH', 'PATCH ends', 'updateInventory ends']);
  },
  'fetches from other endpoints: methods, bodies, statuses, and a 429 that is waited for': async (place) => {
    const { fetch, baseUrl } = clientOf(place, 'other');
    const response = await fetch('/echo?a=1');
    equal([response.status, response.url, await response.json()], [200, `${baseUrl}/echo?a=1`, echoOf('GET', { search: '?a=1' })]);
    const refused = fetch('echo', { method: 'POST', body: new URLSearchParams({ a: '1' }) });
    equal(await (await refused).json(), echoOf('POST', { type: 'application/x-www-form-urlencoded;charset=UTF-8', body: 'a=1' }));
    const request = new Request(`${baseUrl}/echo`, { method: 'PUT', body: '{}', headers: { 'content-type': 'application/json' } });
    const clone = (await fetch(request)).clone();
    equal(await clone.json(), echoOf('PUT', { type: 'application/json', body: '{}' }));
    const [none, missing] = [await fetch('/none', { method: 'DELETE' }), await fetch('/missing')];
    equal([none.status, none.body, missing.status, (await missing.json()).code], [204, null, 404, 'not_found']);
    const { byStatus } = await reportOf(place, 'other');
    equal(byStatus, { '200': 3, '204': 1, '404': 1, '429': 1 });
  },
  'sends bodies of every kind to other endpoints': async (place) => {
    const { fetch, baseUrl } = clientOf(place, 'echo');
    const form = new FormData();
    form.append('a', 'hi');
    const bytes = new TextEncoder().encode('hi');
    for (const body of ['hi', bytes, bytes.buffer, new Blob(['hi']), form]) {
      const request = new Request(`${baseUrl}/echo`, { method: 'POST', body });
      for (const sent of [await fetch('/echo', { method: 'POST', body }), await fetch(request)]) {
        const told: { body: string } = await sent.json();
        ok(body === form ? told.body.includes('\r\n\r\nhi\r\n') : told.body === 'hi', told.body);
      }
    }
  },
  'sends a stream as it is or not at all': async (place) => {
    const sent = clientOf(place, 'streamed').fetch('/echo', { method: 'POST', body: new Blob(['hi']).stream() });
    const failure = await failureOf(sent);
    // Chromium sends a stream over HTTP/2 only; Firefox and Safari send none.
    const refused = 'duplex' in Request.prototype ? 'connection' : 'invalid-argument';
    if (place.isBrowser) equal(isPetStoreError(failure) && failure.kind, refused);
    else equal((await (await sent).json()).body, 'hi');
    equal((await reportOf(place, 'streamed')).requests, place.isBrowser ? 0 : 1);
  },
  'gives a redirect of another endpoint as it is': async (place) => {
    const response = await clientOf(place, 'moved').fetch('/echo');
    // Fetch standard, opaque-redirect filtered response.
    equal([response.status, response.type], place.isBrowser ? [0, 'opaqueredirect'] : [302, response.type]);
  },
  'refuses to bring the key to another address, or one of the caller': async (place) => {
    const { fetch } = clientOf(place, 'other');
    const bad = ['https://elsewhere.test/v1/echo', '//elsewhere.test', '/..%2fecho', '..\\echo'].map((input) => fetch(input));
    bad.push(fetch('/echo', { headers: { Authorization: 'Bearer mine' } }));
    for (const failure of await Promise.all(bad.map(failureOf))) {
      ok(isPetStoreError(failure) && failure.kind === 'invalid-argument' && failure.attempts === 0, String(failure));
    }
  },
  'ends a fetch by its signal, while it waits for headers or for its body': async (place) => {
    for (const scenario of ['stalled', 'stalled-body'] as const) {
      const controller = new AbortController();
      const reason = new Error(`enough of ${scenario}`);
      const fetching = clientOf(place, scenario).fetch('/inventory', { signal: controller.signal });
      const failed = failureOf(fetching.then((response) => response.text()));
      await sleep(100);
      controller.abort(reason);
      ok((await failed) === reason, `${scenario}: ${await failed}`);
    }
  },
  'holds a slot until the body was read or cancelled': async (place) => {
    const { fetch } = clientOf(place, 'large', { concurrency: 1 });
    const first = await fetch('/inventory');
    const second = fetch('/inventory');
    equal(await Promise.race([second, sleep(200)]), undefined);
    await first.body?.cancel();
    equal((await (await second).json()).length, 20_000);
  },
  'ends a call by the time limit of a signal': async (place) => {
    for (const scenario of ['stalled', 'stalled-body'] as const) {
      // Held until the end: Node 22.13 forgets a time limit that only `any` refers to.
      const limit = AbortSignal.timeout(200);
      const signal = AbortSignal.any([limit, new AbortController().signal]);
      const failure = await failureOf(clientOf(place, scenario).listInventory({ signal }));
      ok(
        limit.aborted && failure === signal.reason && failure instanceof DOMException && failure.name === 'TimeoutError',
        `${scenario}: ${failure}`,
      );
    }
  },
  'watches a stock until the view is closed': async (place) => {
    const client = clientOf(place, 'watched');
    const stock = new StockView(client, { maxAgeMs: 100 });
    equal((await stock.adjust(3, -1)).quantity, (await stock.get(3))?.quantity);
    const changes = stock.changes();
    const change = changes.next();
    await client.updateInventory(3, { quantity: 99 });
    equal((await change).value?.after?.quantity, 99);
    const next = failureOf(changes.next());
    stock.close();
    for (const failure of [await next, await failureOf(stock.get(3))]) {
      ok(failure instanceof DOMException && failure.name === 'AbortError', String(failure));
    }
  },
  'asks an apiKey function for the key': async (place) => {
    const client = clientOf(place, 'plain', { apiKey: async () => API_KEY });
    equal((await client.listInventory()).length, 12);
  },
  'guards the key where it would be public': async (place) => {
    const { dangerouslyAllowBrowser: _, ...options } = optionsOf(place, 'plain');
    const failure = await failureOf((async () => new PetStoreClient(options))());
    equal(isPetStoreError(failure) ? failure.message.includes('dangerouslyAllowBrowser') : failure, place.isBrowser ? true : undefined);
  },
  'names the missing key where variables are missing or forbidden': async (place) => {
    const failure = await failureOf((async () => new PetStoreClient({ ...optionsOf(place, 'plain'), apiKey: undefined }))());
    ok(isPetStoreError(failure) && failure.kind === 'configuration' && failure.option === 'apiKey', String(failure));
  },
  'plays the whole service without a socket': async ({ isBrowser }) => {
    const { fetch, baseUrl, keys } = createSandbox({ pets: 3 });
    const client = new PetStoreClient({ fetch, baseUrl, apiKey: keys.pro, dangerouslyAllowBrowser: isBrowser });
    equal((await client.updateInventory(2, { quantity: 8 })).quantity, 8);
    equal(
      (await client.listInventory()).map(({ petId }) => petId),
      [1, 2, 3],
    );
  },
  'plays faults without a socket': async ({ isBrowser }) => {
    const sandbox = createSandbox({ pets: 2_000 });
    const options = { apiKey: sandbox.keys.pro, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch, dangerouslyAllowBrowser: isBrowser };
    const client = new PetStoreClient({ ...options, maxRetries: 0, attemptTimeoutMs: 300 });
    for (const fail of ['reset', 'lost', 'cut', 'stall', 'stall-body'] as const) {
      sandbox.faults.add({ times: 1, fail });
      const failure = await failureOf(client.listInventory());
      ok(isPetStoreError(failure) && failure.kind === (fail.startsWith('stall') ? 'timeout' : 'connection'), `${fail}: ${failure}`);
    }
    let count = 0;
    for await (const batch of client.streamInventory().batches()) count += batch.length;
    equal(count, 2_000);
  },
};

/** Runs every test, one after the other. */
export async function runSuite(place: Place): Promise<Result[]> {
  const results: Result[] = [];
  for (const [title, test] of Object.entries(tests)) results.push(await runTest(title, () => test(place)));
  return results;
}

export function optionsOf({ origin, runtime, isBrowser, fetch }: Place, scenario: ScenarioName): PetStoreClientOptions {
  const baseUrl = `${origin}/${scenario}/${runtime}/v1`;
  return { baseUrl, apiKey: API_KEY, plan: 'business', dangerouslyAllowBrowser: isBrowser, ...(fetch && { fetch }) };
}

function clientOf(place: Place, scenario: ScenarioName, options: PetStoreClientOptions = {}): PetStoreClient {
  return new PetStoreClient({ ...optionsOf(place, scenario), ...options });
}

/** Tells of spans as they begin and end; nothing else of them is kept, since there is no SDK. */
function recorder(told: string[]): Tracer {
  const silent = trace.getTracer('none');
  const startSpan = (name: string) => {
    told.push(name);
    return Object.assign(silent.startSpan(name), { end: () => void told.push(`${name} ends`) });
  };
  return { startSpan, startActiveSpan: silent.startActiveSpan };
}

/** What the endpoint that tells what it was sent tells. */
function echoOf(method: string, { search = '', type = null, body = '' }: { search?: string; type?: string | null; body?: string }): object {
  return { method, search, type, body };
}

type Report = { requests: number; rateLimited: number; byStatus: Record<string, number> };

async function reportOf({ origin, runtime }: Place, scenario: ScenarioName): Promise<Report> {
  const response = await fetch(`${origin}/${scenario}/${runtime}/report`);
  return response.json();
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
