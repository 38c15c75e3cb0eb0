import { getEventListeners } from 'node:events';
import type { PetStoreClient, PetStoreClientOptions, RequestOptions } from 'petstore-inventory';
import { expect, onTestFinished, test } from 'vitest';
import { rejectionOf, within } from '../support/outcome.ts';
import { failing, half, ITEM, ITEMS, itemsOf, lab, ok, pause, silence, textFor, until } from './lab.ts';
import type { Step } from './raw-server.ts';

/** The step at which a call is ended, and what is then known about its change. */
interface Phase {
  name: string;
  steps: Step[];
  options?: PetStoreClientOptions;
  /** What happens before the call. */
  before?: (client: PetStoreClient) => unknown;
  /** The event that shows that the call has reached this step. */
  begunBy: 'started' | 'wait' | 'request' | 'response';
  outcome: 'not-sent' | 'rejected' | 'unknown';
  /** Requests that the server may see in all. */
  requests: number;
}

const usedUp: Step = (wire) => usedUpFor(20)(wire);
/** An update that holds up the next one of its pet. */
const updateBefore = (client: PetStoreClient) => {
  client.updateInventory(1, { quantity: 1 }).catch(() => {});
};

const PHASES: Phase[] = [
  {
    name: 'waiting for quota',
    steps: [usedUp],
    before: (client) => client.listInventory(),
    begunBy: 'wait',
    outcome: 'not-sent',
    requests: 1,
  },
  { name: 'waiting behind a 429', steps: [failing(429, { 'Retry-After': '20' })], begunBy: 'wait', outcome: 'rejected', requests: 1 },
  { name: 'waiting behind a 503', steps: [failing(503, { 'Retry-After': '20' })], begunBy: 'wait', outcome: 'unknown', requests: 1 },
  { name: 'backing off', steps: [failing(502, { 'Retry-After': '20' })], begunBy: 'wait', outcome: 'unknown', requests: 1 },
  { name: 'waiting for an earlier update', steps: [silence], before: updateBefore, begunBy: 'wait', outcome: 'not-sent', requests: 1 },
  {
    name: 'waiting for its key',
    steps: [ok],
    options: { apiKey: () => new Promise<string>(() => {}) },
    begunBy: 'started',
    outcome: 'not-sent',
    requests: 0,
  },
  { name: 'waiting for headers', steps: [silence], begunBy: 'request', outcome: 'unknown', requests: 1 },
  { name: 'reading the body', steps: [half(silence)], begunBy: 'response', outcome: 'unknown', requests: 1 },
  { name: 'reading an Error body', steps: [half(silence, 404)], begunBy: 'response', outcome: 'rejected', requests: 1 },
  { name: 'reading the Error body of a 503', steps: [half(silence, 503)], begunBy: 'response', outcome: 'unknown', requests: 1 },
];

/** Begins the call of a phase. Gives its result, its `settled` event, and a promise of whether it reached its phase. */
async function begin({ steps, options, before, begunBy, requests }: Phase, call: RequestOptions) {
  const at = await lab(steps, options);
  await before?.(at.client);
  const settled: unknown[] = [];
  let isBegun = false;
  at.client.on('settled', ({ outcome, error }) => settled.push({ outcome, error }));
  at.client.on(begunBy, () => {
    isBegun = true;
  });
  const ended = rejectionOf(at.client.updateInventory(1, { quantity: 5 }, call));
  return { at, settled, ended, isThere: () => until(() => isBegun && at.server.requests.length === requests) };
}

/** The result of each phase, under its name. */
async function inEveryPhase<Found>(find: (phase: Phase) => Promise<Found>): Promise<Record<string, Found>> {
  return Object.fromEntries(await Promise.all(PHASES.map(async (phase) => [phase.name, await find(phase)] as const)));
}

const expected = (tell: (phase: Phase) => unknown) => Object.fromEntries(PHASES.map((phase) => [phase.name, tell(phase)]));

test('a call ends within 50 ms of its abort, with the reason, at whatever step it is, and leaves no listener', async () => {
  const found = await inEveryPhase(async (phase) => {
    const controller = new AbortController();
    const { at, settled, ended, isThere } = await begin(phase, { signal: controller.signal });
    await using _ = at;
    const wasThere = await isThere();
    const heard = within(50, ended);
    controller.abort('enough');
    const reason = await heard;
    const listeners = getEventListeners(controller.signal, 'abort').length;
    await pause(100);
    return { wasThere, reason, settled: [...settled], listeners, requests: at.server.requests.length };
  });
  const tell = ({ outcome, requests }: Phase) => ({ settled: [{ outcome, error: 'enough' }], requests });
  expect(found).toEqual(expected((phase) => ({ wasThere: true, reason: 'enough', listeners: 0, ...tell(phase) })));
});

test('a call ends when its `totalTimeoutMs` has passed, at whatever step it is, and has the right outcome', async () => {
  const found = await inEveryPhase(async (phase) => {
    const { at, settled, ended, isThere } = await begin(phase, { totalTimeoutMs: 1_000 });
    await using _ = at;
    const wasThere = await isThere();
    const error = await within(1_500, ended);
    return { wasThere, error, settled: [...settled] };
  });
  const tell = ({ outcome }: Phase) => ({
    name: 'TimeoutError',
    outcome,
    petId: 1,
    message: expect.stringContaining('`totalTimeoutMs` of 1 s'),
  });
  const told = (phase: Phase) => ({ wasThere: true, error: tell(phase), settled: [{ outcome: phase.outcome, error: tell(phase) }] });
  expect(found).toMatchObject(expected(told));
});

test('close() ends a call at whatever step it is, and every later call', async () => {
  const found = await inEveryPhase(async (phase) => {
    const { at, ended, isThere } = await begin(phase, {});
    await using _ = at;
    const wasThere = await isThere();
    at.client.close();
    return [wasThere, await ended, await rejectionOf(at.client.listInventory())];
  });
  expect(found).toMatchObject(expected(() => [true, { name: 'AbortError' }, { name: 'AbortError' }]));
});

test.concurrent.each<[string, Step]>([
  ['before its answer', silence],
  ['in the body of its answer', half(silence)],
])('a request that is aborted %s is dropped, and the server sees it', async (_when, step) => {
  await using at = await lab([step]);
  const ended = rejectionOf(at.client.listInventory({ signal: AbortSignal.timeout(100) }));
  expect(await ended).toMatchObject({ name: 'TimeoutError' });
  expect(await until(() => at.server.dropped > 0)).toBe(true);
});

test.concurrent('a call whose signal is already aborted sends nothing', async () => {
  await using at = await lab([ok]);
  expect(await rejectionOf(at.client.listInventory({ signal: AbortSignal.abort('before') }))).toBe('before');
  expect(at.server.connections).toBe(0);
});

test.concurrent('a call that is aborted by its own `request` event ends at once, and is not sent', async () => {
  await using at = await lab([silence]);
  const controller = new AbortController();
  at.client.on('request', () => controller.abort('at once'));
  expect(await rejectionOf(at.client.updateInventory(1, { quantity: 5 }, { signal: controller.signal }))).toBe('at once');
  await pause(50);
  expect([at.server.connections, at.log.at(-1)]).toEqual([0, expect.stringMatching(/^settled not-sent/)]);
});

test.concurrent('calls that get their permits together and are aborted by the first of them are not sent', async () => {
  await using at = await lab([usedUpFor(1), ok], { concurrency: 64 });
  const controller = new AbortController();
  await at.client.listInventory();
  const calls = Array.from({ length: 5 }, () => at.client.listInventory({ signal: controller.signal }));
  const all = Promise.all(calls.map(rejectionOf));
  at.client.on('request', () => controller.abort('enough'));
  expect(await all).toEqual(Array(5).fill('enough'));
  await pause(50);
  expect(at.server.requests).toHaveLength(1);
});

test('thousands of calls with one signal leave no listener and provoke no warning', async () => {
  await using at = await lab([ok]);
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 100 }, () => at.client.listInventory({ signal })));
  await itemsOf(at.client.streamInventory({ signal }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  expect(warnings).toEqual([]);
});

test.concurrent('an abort after the answer was read changes nothing', async () => {
  await using at = await lab([ok]);
  const controller = new AbortController();
  const list = at.client.listInventory({ signal: controller.signal });
  at.client.on('settled', () => controller.abort());
  expect(await list).toEqual(ITEMS);
});

test.concurrent('`attemptTimeoutMs` covers headers and body of an attempt, and starts again with the next one', async () => {
  await using at = await lab([silence, half(silence), ok], { attemptTimeoutMs: 1_000 });
  expect(await at.client.updateInventory(1, { quantity: 5 }).withResponse()).toMatchObject({ data: ITEM, attempts: 3 });
});

test.concurrent('timers beyond 2^31 ms do not fire at once', async () => {
  await using at = await lab([ok]);
  const long = { attemptTimeoutMs: 2 ** 32, totalTimeoutMs: Number.MAX_SAFE_INTEGER, maxWaitMs: Number.MAX_SAFE_INTEGER };
  expect(await at.client.listInventory(long)).toEqual(ITEMS);
});

test.concurrent('a Retry-After longer than any timer is waited for if `maxWaitMs` allows it', async () => {
  await using at = await lab([failing(429, { 'Retry-After': '9'.repeat(40) }), ok], { maxWaitMs: Number.MAX_SAFE_INTEGER });
  expect(await rejectionOf(at.client.listInventory({ totalTimeoutMs: 300 }))).toMatchObject({ name: 'TimeoutError', attempts: 1 });
  expect(at.server.requests).toHaveLength(1);
});

function usedUpFor(seconds: number): Step {
  return (wire) =>
    wire.answer(200, textFor(wire), {
      'X-RateLimit-Limit': '60',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(Math.ceil(Date.now() / 1000) + seconds),
    });
}
