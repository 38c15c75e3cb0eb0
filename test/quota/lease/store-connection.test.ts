import { PetStoreClient } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import type { LeaseResponse, QuotaStore, SharedQuota } from '../../../src/quota-store.ts';
import { rejectionOf, thrownBy } from '../../support/outcome.ts';
import { holdTime } from '../../support/time.ts';
import { watchUnhandled } from '../../support/unhandled.ts';

holdTime();
const unhandled = watchUnhandled();

const GOOD: LeaseResponse = { granted: 1, expiresInMs: 1000, resetAtMs: 0, waitMs: 0, reason: 'quota', members: 1 };
const { granted: _, ...LACKING } = GOOD;

/** A store that is written without types. */
function storeOf(exchange: () => unknown): QuotaStore {
  const untyped: SharedQuota['exchange'] = Reflect.get({ exchange }, String('exchange'));
  return { processes: 2, isCheap: false, join: () => ({ exchange: untyped }) };
}

/** A store that always grants, and by which another process reports that its gate closed. */
function publishingStore(): { store: QuotaStore; report: (closedForMs: number) => void } {
  const listeners: ((closedForMs: number) => void)[] = [];
  const join: QuotaStore['join'] = (_key, onClosed) => {
    listeners.push(onClosed);
    return { exchange: () => GOOD };
  };
  const report = (closedForMs: number) => {
    for (const listener of listeners) listener(closedForMs);
  };
  return { store: { processes: 2, isCheap: true, join }, report };
}

function clientOf(quotaStore: QuotaStore) {
  const { baseUrl, fetch, keys } = createSandbox({ pets: 2 });
  const warnings: string[] = [];
  const logger = { debug: () => {}, info: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} };
  const client = new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch, quotaStore, logger });
  const states: string[] = [];
  client.on('quotaStore', ({ state }) => states.push(state));
  return { client, states, warnings };
}

/** The result of one call within a second and a half. */
async function oneCall(quotaStore: QuotaStore) {
  const { client, ...seen } = clientOf(quotaStore);
  const items = client.listInventory({ totalTimeoutMs: 1_500 }).then(({ length }) => length);
  items.catch(() => {});
  await vi.advanceTimersByTimeAsync(1_500);
  return { items: await items, ...seen };
}

test('a client whose store cannot be joined throws a ConfigurationError without the key', () => {
  const join: QuotaStore['join'] = ({ apiKey }) => {
    throw new RangeError(`no room for ${apiKey}`);
  };
  expect(thrownBy(() => clientOf({ processes: 2, isCheap: true, join }))).toMatchObject({
    name: 'ConfigurationError',
    option: 'quotaStore',
    message: 'Cannot use this `quotaStore`: no room for ***',
  });
});

const BAD: [string, unknown, RegExp][] = [
  ['undefined', undefined, /it answered undefined$/],
  ['null', null, /it answered null$/],
  ['a text', 'OK', /it answered "OK"$/],
  ['an empty object', {}, /whose `granted` is undefined$/],
  ['an object that lacks a field', LACKING, /whose `granted` is undefined$/],
  ['NaN slots', { ...GOOD, granted: Number.NaN }, /whose `granted` is NaN$/],
  ['less than no slots', { ...GOOD, granted: -1 }, /whose `granted` is -1$/],
  ['half a slot', { ...GOOD, granted: 0.5 }, /whose `granted` is 0\.5$/],
  ['endless slots', { ...GOOD, granted: Number.POSITIVE_INFINITY }, /whose `granted` is Infinity$/],
  ['slots that are over', { ...GOOD, expiresInMs: 0 }, /whose `expiresInMs` is 0$/],
  ['slots for NaN milliseconds', { ...GOOD, expiresInMs: Number.NaN }, /whose `expiresInMs` is NaN$/],
  ['a window as text', { ...GOOD, resetAtMs: 'soon' }, /whose `resetAtMs` is "soon"$/],
  ['a wait into the past', { ...GOOD, granted: 0, waitMs: -5 }, /whose `waitMs` is -5$/],
  ['a wait that no date can hold', { ...GOOD, granted: 0, waitMs: 1e300, reason: 'closed' }, /whose `waitMs` is 1e\+300$/],
  ['a reason of its own', { ...GOOD, reason: 'maybe' }, /whose `reason` is "maybe"$/],
  ['NaN members', { ...GOOD, members: Number.NaN }, /whose `members` is NaN$/],
];

describe('a store whose answer is not a lease counts as failed, and calls continue without it', () => {
  test.each(BAD)('%s, at once', async (_what, answer, why) => {
    const { items, states, warnings } = await oneCall(storeOf(() => answer));
    expect([items, states, warnings]).toEqual([2, ['local'], [expect.stringMatching(why)]]);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test.each(BAD)('%s, later', async (_what, answer, why) => {
    const { items, states, warnings } = await oneCall(storeOf(async () => answer));
    expect([items, states, warnings]).toEqual([2, ['local'], [expect.stringMatching(why)]]);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('a promise that never settles', async () => {
    const timers = vi.spyOn(globalThis, 'setTimeout');
    const { items, states, warnings } = await oneCall(storeOf(() => new Promise(() => {})));
    expect([items, states]).toEqual([2, ['local']]);
    expect(warnings).toEqual([expect.stringMatching(/it gave no answer within 600 ms$/)]);
    expect(timers.mock.calls.length).toBeLessThan(20);
  });

  test.each([
    ['throws what cannot be shown', () => thrower(Object.create(null))],
    ['rejects with what cannot be shown', () => Promise.reject(Object.create(null))],
    [
      'gives an answer that throws when it is read',
      () => ({
        ...GOOD,
        get granted() {
          return thrower(new Error('no getter'));
        },
      }),
    ],
    ['gives a promise of another make that rejects', () => thenable((_resolve, reject) => reject(new Error('no')))],
  ])('one that %s', async (_what, exchange) => {
    const { items, states, warnings } = await oneCall(storeOf(exchange));
    expect([items, states, warnings.length]).toEqual([2, ['local'], 1]);
    expect(unhandled).not.toHaveBeenCalled();
  });
});

test('an answer that comes after a store counts as failed is ignored', async () => {
  let answerLate = (_answer: unknown): void => {};
  const { client, states } = clientOf(
    storeOf(
      () =>
        new Promise((resolve) => {
          answerLate = resolve;
        }),
    ),
  );
  const items = client.listInventory();
  await vi.advanceTimersByTimeAsync(700);
  answerLate({ ...GOOD, granted: 0, reason: 'closed', waitMs: 60_000 });
  await vi.advanceTimersByTimeAsync(10);
  expect(await items).toHaveLength(2);
  expect([states, client.quota.closedUntil]).toEqual([['local'], undefined]);
});

test('a promise of another library is awaited', async () => {
  const { items, states, warnings } = await oneCall(storeOf(() => thenable((resolve) => resolve(GOOD))));
  expect([items, states, warnings]).toEqual([2, [], []]);
});

test.each([0, 0.001])(
  'a store that grants nothing and asks for a wait of %s ms gets its next request only after a pause',
  async (waitMs) => {
    const exchange = vi.fn(() => ({ ...GOOD, granted: 0, waitMs }));
    const { client } = clientOf(storeOf(exchange));
    const items = client.listInventory({ totalTimeoutMs: 1_000 });
    items.catch(() => {});
    await vi.advanceTimersByTimeAsync(1_000);
    await expect(items).rejects.toThrow('totalTimeoutMs');
    expect(exchange.mock.calls.length).toBeLessThan(50);
  },
);

describe.each([
  ['quota', 59_000],
  ['closed', 1_000],
  ['probe', 25],
] as const)('a call that a store refuses for ever, for %s and %d ms each time,', (reason, waitMs) => {
  const store = () => storeOf(() => ({ ...GOOD, granted: 0, reason, waitMs }));

  test('ends after its totalTimeoutMs', async () => {
    const failure = rejectionOf(clientOf(store()).client.listInventory({ totalTimeoutMs: 20_000 }));
    await vi.advanceTimersByTimeAsync(20_000);
    expect(await failure).toMatchObject({ kind: 'timeout', attempts: 0 });
  });

  test('ends with its signal', async () => {
    const controller = new AbortController();
    const failure = rejectionOf(clientOf(store()).client.listInventory({ signal: controller.signal }));
    await vi.advanceTimersByTimeAsync(20_000);
    controller.abort('enough');
    expect(await failure).toBe('enough');
  });
});

test('a store that is back before anything was sent without it is not reported, neither as lost nor as back', async () => {
  let isLost = false;
  const exchange = () => {
    if (isLost) throw new Error('unreachable');
    return GOOD;
  };
  const { client, states, warnings } = clientOf({ processes: 1_000, isCheap: true, join: () => ({ exchange }) });
  const times: number[] = [];
  const list = () => void client.listInventory().then(() => times.push(Date.now()));
  list();
  await vi.advanceTimersByTimeAsync(2_000);
  isLost = true;
  list();
  await vi.advanceTimersByTimeAsync(2_000);
  isLost = false;
  await vi.advanceTimersByTimeAsync(62_000);
  expect([times.length, states, warnings]).toEqual([2, [], []]);
});

test('a store that waits for a probe for more than a minute counts as failed, and again as soon as it says the same', async () => {
  let answer = { ...GOOD, granted: 0, reason: 'probe' };
  const { client, states, warnings } = clientOf(storeOf(() => answer));
  const lists: number[] = [];
  const list = () => void client.listInventory().then(({ length }) => lists.push(length));
  list();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([lists, states]).toEqual([[], []]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect([lists, states]).toEqual([[2], ['local']]);
  await vi.advanceTimersByTimeAsync(120_000);
  list();
  await vi.advanceTimersByTimeAsync(10);
  answer = { ...GOOD, reason: 'quota' };
  await vi.advanceTimersByTimeAsync(120_000);
  list();
  await vi.advanceTimersByTimeAsync(10);
  expect([lists, states]).toEqual([
    [2, 2, 2],
    ['local', 'shared'],
  ]);
  expect(warnings).toEqual([expect.stringMatching(/it still waits for another process's probe$/)]);
});

test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e300, 0, -1, 'long'])(
  'a report that a gate closed for %s is ignored',
  async (closedForMs) => {
    const { store, report } = publishingStore();
    const { client } = clientOf(store);
    Reflect.apply(report, undefined, [closedForMs]);
    expect(client.quota.closedUntil).toBeUndefined();
    expect(await client.listInventory()).toHaveLength(2);
  },
);

test('a report that a gate closed for no time does not make this one probe', async () => {
  const { store, report } = publishingStore();
  const { keys, baseUrl, fetch } = createSandbox({ pets: 2, latency: 100 });
  const sending = vi.fn(fetch);
  const client = new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch: sending, quotaStore: store });
  const lists = [client.listInventory()];
  await vi.advanceTimersByTimeAsync(200);
  report(0);
  lists.push(client.listInventory(), client.listInventory(), client.listInventory());
  await vi.advanceTimersByTimeAsync(50);
  expect(sending).toHaveBeenCalledTimes(4);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await Promise.all(lists)).toHaveLength(4);
});

test('a report that a gate closed closes this one too', async () => {
  const { store, report } = publishingStore();
  const { client } = clientOf(store);
  report(60_000);
  expect(client.quota.closedUntil?.getTime()).toBe(Date.now() + 60_000);
  report(1e15);
  expect(client.quota.closedUntil?.getTime()).toBe(Date.now() + 1e15);
});

test.each([0, -1, 0.5, Number.NaN, '2', null])('a store of %s processes is refused', (processes) => {
  const store = { processes, isCheap: true, join: () => ({ exchange: () => GOOD }) };
  expect(() => Reflect.construct(PetStoreClient, [{ apiKey: 'psk_odd', baseUrl: 'https://odd.test/v1', quotaStore: store }])).toThrow(
    expect.objectContaining({ name: 'ConfigurationError', option: 'quotaStore' }),
  );
});

function thrower(failure: unknown): never {
  throw failure;
}

/** A promise of another library. */
function thenable(then: (resolve: (value: unknown) => void, reject: (why: unknown) => void) => void): object {
  return Object.fromEntries([['then', then]]);
}
