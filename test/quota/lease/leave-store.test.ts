import { PetStoreClient } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import { gateOf } from '../../../src/quota/gate/registry.ts';
import type { LeaseRequest, LeaseResponse, QuotaStore, SharedQuota } from '../../../src/quota-store.ts';
import { freshAddress } from '../../support/client.ts';
import { holdTime } from '../../support/time.ts';
import { watchUnhandled } from '../../support/unhandled.ts';

holdTime();
const unhandled = watchUnhandled();

const FIVE: LeaseResponse = { granted: 5, expiresInMs: 60_000, resetAtMs: 0, waitMs: 0, reason: 'quota', members: 1 };

/** A store that logs how it is used, and can report that the key is closed to those who have joined. */
function loggedStore({ leave, ...changes }: Partial<SharedQuota> & Partial<QuotaStore> = {}) {
  const log: string[] = [];
  const listeners = new Set<(ms: number) => void>();
  const exchange = async ({ wanted, returned }: LeaseRequest) => {
    log.push(wanted > 0 ? 'lease' : `return ${returned}`);
    return FIVE;
  };
  const join: QuotaStore['join'] = (_key, onClosed) => {
    log.push('join');
    listeners.add(onClosed);
    const stop = () => {
      log.push('leave');
      listeners.delete(onClosed);
      return leave?.();
    };
    return { exchange, leave: stop };
  };
  const store: QuotaStore = { processes: 2, isCheap: false, join, ...changes };
  return { store, log, listeners, close: (ms: number) => listeners.forEach((tell) => void tell(ms)) };
}

/** Makes clients of one key. */
function clientsOf(quotaStore: QuotaStore) {
  const options = { apiKey: 'psk_live', baseUrl: freshAddress(), quotaStore, fetch: async () => Response.json([]) };
  return { make: () => new PetStoreClient(options), options };
}

async function list(client: PetStoreClient): Promise<void> {
  const items = client.listInventory();
  await vi.advanceTimersByTimeAsync(10);
  await items;
}

test('the store is left when the last client of a key is closed, after its slots were given back', async () => {
  const { store, log, listeners } = loggedStore();
  const { make } = clientsOf(store);
  const [first, second] = [make(), make()];
  await list(first);
  first.close();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([log, listeners.size]).toEqual([['join', 'lease', 'return 4'], 1]);
  second.close();
  expect([log, listeners.size]).toEqual([['join', 'lease', 'return 4', 'leave'], 0]);
});

test('a store that grants slots after the last client was closed gets them back, and is left once', async () => {
  const join: QuotaStore['join'] = () => ({
    exchange: async ({ wanted, returned }) => {
      log.push(wanted > 0 ? 'lease' : `return ${returned}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
      return FIVE;
    },
    leave: () => void log.push('leave'),
  });
  const log: string[] = [];
  const client = clientsOf({ processes: 2, isCheap: false, join }).make();
  const items = client.listInventory();
  items.catch(() => {});
  await vi.advanceTimersByTimeAsync(50);
  client.close();
  await expect(items).rejects.toThrow();
  await vi.advanceTimersByTimeAsync(1_000);
  expect([log, vi.getTimerCount()]).toEqual([['lease', 'leave', 'return 5'], 0]);
});

test('a client that comes before the slots were given back keeps the store', async () => {
  const { store, log, close } = loggedStore();
  const { make } = clientsOf(store);
  const first = make();
  await list(first);
  first.close();
  const second = make();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(log).toEqual(['join', 'lease', 'return 4']);
  close(60_000);
  expect(second.quota.closedUntil).toBeInstanceOf(Date);
});

test('the next client joins again, and learns at once that another process closed the key', async () => {
  const { store, log, listeners, close } = loggedStore();
  const { make } = clientsOf(store);
  make().close();
  const next = make();
  expect([log, listeners.size]).toEqual([['join', 'leave', 'join'], 1]);
  close(60_000);
  expect(next.quota.closedUntil).toBeInstanceOf(Date);
});

test('each store is left when the clients of a key, one after the other, bring their own', async () => {
  const stores = Array.from({ length: 20 }, () => loggedStore());
  const { options } = clientsOf(loggedStore().store);
  for (const { store } of stores) {
    const client = new PetStoreClient({ ...options, quotaStore: store });
    await list(client);
    client.close();
  }
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stores.map(({ log }) => log)).toEqual(stores.map(() => ['join', 'lease', 'return 4', 'leave']));
});

test('the store of a key that has been unused for more than 25 hours is left, and joined again by the next call', async () => {
  const { store, log, listeners } = loggedStore();
  const { make } = clientsOf(store);
  const client = make();
  await list(client);
  vi.advanceTimersByTime(26 * 3_600_000);
  gateOf({ address: freshAddress(), apiKey: 'other' }, { settings: { plan: undefined, concurrency: 1, share: 1 }, warn: () => {} });
  expect([log.at(-1), listeners.size]).toEqual(['leave', 0]);
  await list(client);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([log.slice(-4), listeners.size]).toEqual([['leave', 'join', 'lease', expect.stringMatching('return')], 1]);
});

test.each([
  ['throws', () => thrower()],
  ['rejects', async () => thrower()],
])('a `leave` that %s harms nothing', async (_what, leave) => {
  const { store, log } = loggedStore({ leave });
  const { make } = clientsOf(store);
  make().close();
  await list(make());
  expect(log).toEqual(['join', 'leave', 'join', 'lease']);
  expect(unhandled).not.toHaveBeenCalled();
});

test('a store without `leave` is joined once', async () => {
  const { store, log } = loggedStore();
  const join: QuotaStore['join'] = (key, onClosed) => ({ exchange: store.join(key, onClosed).exchange });
  const { make } = clientsOf({ ...store, join });
  make().close();
  await list(make());
  expect(log).toEqual(['join', 'lease']);
});

test('a store that was left and reports a closure all the same closes the gate, and the next store is told so once', async () => {
  let reportToLeft: (closedForMs: number) => void = thrower;
  const left: QuotaStore['join'] = (_key, onClosed) => {
    reportToLeft = onClosed;
    return { exchange: thrower, leave: () => {} };
  };
  const closures: number[] = [];
  const exchange = ({ closedForMs }: LeaseRequest): LeaseResponse => {
    closures.push(closedForMs);
    return closedForMs > 0 ? { ...FIVE, granted: 0, waitMs: closedForMs, reason: 'closed' } : FIVE;
  };
  const { store } = loggedStore();
  const { options } = clientsOf({ ...store, join: left });
  new PetStoreClient(options).close();
  const client = new PetStoreClient({ ...options, quotaStore: { ...store, join: () => ({ exchange }) } });
  await list(client);
  reportToLeft(30_000);
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const waiting = client.listInventory();
  await vi.advanceTimersByTimeAsync(20_000);
  expect([closures, timers.mock.calls.length]).toEqual([[0, 30_000], expect.toSatisfy((count: number) => count < 10)]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await waiting).toEqual([]);
});

test('a store that cannot be joined again is joined by the next exchange', async () => {
  const { store, log } = loggedStore();
  const failing = [false, true, false];
  const join: QuotaStore['join'] = (key, onClosed) => (failing.shift() ? thrower() : store.join(key, onClosed));
  const { make } = clientsOf({ ...store, join });
  make().close();
  await list(make());
  expect(log).toEqual(['join', 'leave', 'join', 'lease']);
});

function thrower(): never {
  throw new Error('gone');
}
