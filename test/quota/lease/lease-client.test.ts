import { PetStoreClient, type PetStoreClientOptions, PLANS } from 'petstore-inventory';
import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { emptyRecord, exchangeLease, type QuotaRecord } from '../../../src/node/quota-record.ts';
import type { Gate } from '../../../src/quota/gate/gate.ts';
import type { Permit } from '../../../src/quota/gate/permit.ts';
import type { LeaseRequest, LeaseResponse, QuotaStore } from '../../../src/quota-store.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { freshAddress } from '../../support/client.ts';
import { leaseRequestOf } from '../../support/lease-request.ts';
import { rejectionOf, soFar } from '../../support/outcome.ts';
import { holdTime } from '../../support/time.ts';
import { answerNow, makeGate, makeLimits, Visitors } from '../gate/gate-kit.ts';

holdTime();

const PLAN = { requestsPerMinute: 60, requestsPerDay: 1_000 };

const REQUEST_OF_OTHER = leaseRequestOf({ member: 'other', plan: PLAN });

/** A store in this process, which can be made to fail; `leaseRequests` is what it was sent. */
function recordStore(record: QuotaRecord = emptyRecord()): {
  store: QuotaStore;
  leaseRequests: LeaseRequest[];
  fail: (failure?: Error) => void;
} {
  const leaseRequests: LeaseRequest[] = [];
  let failure: Error | undefined;
  const exchange = async (request: LeaseRequest) => {
    leaseRequests.push(request);
    if (failure) throw failure;
    return exchangeLease(record, request, Date.now());
  };
  const store: QuotaStore = { processes: 2, isCheap: false, join: () => ({ exchange }) };
  const fail = (next?: Error) => {
    failure = next;
  };
  return { store, leaseRequests, fail };
}

/** A client with a store, on a sandbox of its own. */
function leasing(quotaStore: QuotaStore, options: PetStoreClientOptions = {}, service: SandboxOptions = {}) {
  const sandbox = createSandbox({ plans: { shared: PLAN }, ...service });
  const warn = vi.fn();
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const { baseUrl, fetch, keys } = sandbox;
  const client = new PetStoreClient({
    apiKey: keys.shared,
    baseUrl,
    fetch,
    plan: PLAN,
    quotaStore,
    logger,
    maxWaitMs: 120_000,
    ...options,
  });
  const send = (count: number) => Array.from({ length: count }, (_, call) => client.updateInventory(1 + (call % 10), { quantity: call }));
  return { sandbox, client, send, warn };
}

/** From now on the gate leases its slots from the store. */
function bringStore(gate: Gate, store: QuotaStore): void {
  gate.share({ store, address: freshAddress(), apiKey: 'key' });
}

/** Enters a call, and lets the store grant it a slot. */
async function enter(gate: Gate): Promise<Permit> {
  const entering = gate.enter(makeListCall(), makeLimits(gate));
  await vi.advanceTimersByTimeAsync(10);
  return entering;
}

test('a client with a store uses only leased slots, and reports what the headers said', async () => {
  const { store, leaseRequests } = recordStore();
  const { sandbox, send } = leasing(store);
  const all = Promise.all(send(40));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await all).toHaveLength(40);
  const statuses = sandbox.requests.map(({ status }) => status);
  expect([statuses.length, new Set(statuses)]).toEqual([40, new Set([200])]);
  expect(leaseRequests.length).toBeLessThan(40);
  expect(leaseRequests.some(({ minute }) => minute !== undefined && minute.remaining < 60)).toBe(true);
});

test('requests that were in flight when a second client brought the store count as unanswered until their answers come', async () => {
  const { store, leaseRequests } = recordStore();
  const sandbox = createSandbox({ plans: { shared: PLAN }, latency: 1_000 });
  const { baseUrl, fetch, keys } = sandbox;
  const options = { apiKey: keys.shared, baseUrl, fetch, plan: PLAN };
  const first = new PetStoreClient(options).listInventory();
  await vi.advanceTimersByTimeAsync(1_500);
  const early = new PetStoreClient(options).listInventory();
  await vi.advanceTimersByTimeAsync(500);
  const late = new PetStoreClient({ ...options, quotaStore: store }).listInventory();
  await vi.advanceTimersByTimeAsync(5_000);
  const third = new PetStoreClient(options).listInventory();
  await vi.advanceTimersByTimeAsync(5_000);
  await Promise.all([first, early, late, third]);
  expect(leaseRequests.map(({ unanswered }) => unanswered)).toEqual(leaseRequests.map(({ unanswered }) => Math.max(0, unanswered)));
  expect(leaseRequests[0]?.unanswered).toBe(1);
});

test('two windows are filled one after the other, without a 429', async () => {
  const { store } = recordStore();
  const { sandbox, send } = leasing(store);
  const all = Promise.all(send(100));
  await vi.advanceTimersByTimeAsync(130_000);
  expect(await all).toHaveLength(100);
  expect(sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
});

test('a store is not asked for slots while the minute is used up', async () => {
  const { store } = recordStore();
  const refused: LeaseResponse[] = [];
  const join: QuotaStore['join'] = (...joining) => {
    const shared = store.join(...joining);
    const exchange = async (request: LeaseRequest) => {
      const response = await shared.exchange(request);
      if (request.wanted > 0 && response.granted === 0 && response.reason === 'quota') refused.push(response);
      return response;
    };
    return { exchange };
  };
  const { sandbox, send } = leasing({ ...store, join });
  for (const call of send(70)) call.catch(() => {});
  await vi.advanceTimersByTimeAsync(40_000);
  expect([sandbox.requests.length, refused]).toEqual([60, []]);
});

test('a client with a store leaves no timer behind when its calls are done', async () => {
  const { store } = recordStore();
  const { send } = leasing(store);
  const all = Promise.all(send(3));
  await vi.advanceTimersByTimeAsync(10_000);
  await all;
  expect(vi.getTimerCount()).toBe(0);
});

/** A gate with a request that is not answered yet, in a window that ends in five seconds. */
async function withLateRequest() {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  bringStore(gate, store);
  const probe = await enter(gate);
  probe.observe(answerNow({ remaining: 59, resetAtMs: Date.now() + 5_000 }));
  probe.release();
  return { gate, leaseRequests, late: await enter(gate) };
}

test('an answer that comes after the window of its request is reported as late', async () => {
  const { gate, leaseRequests, late } = await withLateRequest();
  await vi.advanceTimersByTimeAsync(7_000);
  const answer = answerNow({ remaining: 41 });
  late.observe(answer);
  late.release();
  await enter(gate);
  expect(leaseRequests.at(-1)?.lateAnswers).toEqual([{ remaining: 41, resetAtMs: answer.resetAtMs }]);
});

test('an answer that comes after the window of its request is reported as late also while the probe of the next window is out', async () => {
  const { gate, leaseRequests, late } = await withLateRequest();
  await vi.advanceTimersByTimeAsync(5_100);
  const next = await enter(gate);
  const resetAtMs = Date.now() + 60_000;
  late.observe(answerNow({ remaining: 41, resetAtMs }));
  late.release();
  next.observe(answerNow({ remaining: 42, resetAtMs }));
  expect(leaseRequests.at(-1)).toMatchObject({ isProbeAnswered: true, lateAnswers: [{ remaining: 41, resetAtMs }] });
});

test('an answer to a slow probe is not reported as late if it comes in the window of its request', async () => {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  bringStore(gate, store);
  const first = await enter(gate);
  first.observe(answerNow({ remaining: 59, resetAtMs: Date.now() + 5_000 }));
  first.release();
  (await enter(gate)).cancel();
  await vi.advanceTimersByTimeAsync(7_000);
  const slow = await enter(gate);
  await vi.advanceTimersByTimeAsync(1_000);
  await enter(gate);
  slow.observe(answerNow({ remaining: 41 }));
  slow.release();
  await enter(gate);
  expect(leaseRequests.at(-1)).toMatchObject({ minute: { remaining: 41 }, lateAnswers: [] });
});

test('an answered request whose body is not read yet does not count as unanswered for a store that comes then', async () => {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  const answered = await gate.enter(makeListCall(), makeLimits(gate));
  answered.observe(answerNow());
  await gate.enter(makeListCall(), makeLimits(gate));
  bringStore(gate, store);
  void gate.enter(makeListCall(), makeLimits(gate));
  await vi.advanceTimersByTimeAsync(10);
  expect(leaseRequests[0]?.unanswered).toBe(1);
});

test('slots that are not used go back to the store, also that of a request that was not sent', async () => {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  bringStore(gate, store);
  const entering = gate.enter(makeListCall(), makeLimits(gate));
  await vi.advanceTimersByTimeAsync(10);
  const permit = await entering;
  await vi.advanceTimersByTimeAsync(100);
  permit.cancel();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(leaseRequests.map(({ wanted, returned, unanswered }) => [wanted, returned, unanswered])).toEqual([
    [1, 0, 0],
    [0, 1, 0],
  ]);
});

test.each([
  ['are given back when a store is used again', 0],
  ['of a local lease are not given back to a store that is lost', 1],
])('slots of requests that never left %s', async (_what, isLost) => {
  const record = emptyRecord();
  const { store, fail } = recordStore(record);
  const isOffline = Object.assign(new TypeError('fetch failed'), { cause: Object.assign(new Error('x'), { code: 'ENOTFOUND' }) });
  const { client } = leasing(store, { fetch: () => Promise.reject(isOffline), maxRetries: 0 });
  record.daySlots = { [Math.floor(Date.now() / 600_000)]: 7 };
  if (isLost) fail(new Error('down'));
  for (let n = 0; n < 50; n++) {
    void client.listInventory().catch(() => {});
    await vi.advanceTimersByTimeAsync(9_000);
  }
  fail(undefined);
  void client.listInventory().catch(() => {});
  await vi.advanceTimersByTimeAsync(120_000);
  expect(Object.values(record.daySlots)).toEqual([expect.toSatisfy((sent: number) => sent >= 7 && sent <= 9)]);
});

test('slots of probes that a service that is down answered with a 500 do not count for the day', async () => {
  const record = emptyRecord();
  const { client } = leasing(recordStore(record).store, { fetch: async () => new Response('', { status: 500 }), maxRetries: 0 });
  for (let n = 0; n < 30; n++) {
    void client.listInventory().catch(() => {});
    await vi.advanceTimersByTimeAsync(9_000);
  }
  await vi.advanceTimersByTimeAsync(120_000);
  const sent = Object.values(record.daySlots).reduce((total, granted) => total + granted, 0);
  expect(sent).toBeLessThan(6);
});

test('a store is asked for no more slots than a client may use at once, if it has calls of both priorities too', async () => {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  bringStore(gate, { ...store, isCheap: true });
  const visitors = new Visitors(gate, makeLimits(gate, { concurrency: 3 }));
  visitors.ask('probe');
  await vi.advanceTimersByTimeAsync(10);
  visitors.askTimes(5);
  visitors.askTimes(5, () => makeListCall({ priority: 'low' }));
  visitors.answer();
  await vi.advanceTimersByTimeAsync(10);
  expect(leaseRequests.map(({ wanted }) => wanted)).toEqual([1, 2, 1]);
});

test('a store that costs little is told once no request is in flight any more', async () => {
  const { store, leaseRequests } = recordStore();
  const { send } = leasing({ ...store, isCheap: true });
  const all = Promise.all(send(20));
  await vi.advanceTimersByTimeAsync(5_000);
  await all;
  const reports = leaseRequests.filter(({ wanted }) => wanted === 0);
  expect([reports.at(-1), new Set(reports.map(({ unanswered }) => unanswered))]).toMatchObject([leaseRequests.at(-1) ?? {}, new Set([0])]);
});

test('if the store fails from the start, the process keeps to its part of what the first answer says is left', async () => {
  const { store, fail } = recordStore();
  const { sandbox, send } = leasing(store);
  fail(new Error('the store is down'));
  const { baseUrl, fetch, keys } = sandbox;
  const headers = { authorization: `Bearer ${keys.shared}` };
  for (let request = 0; request < 50; request++) await fetch(`${baseUrl}/inventory`, { headers });
  for (const call of send(20)) call.catch(() => {});
  await vi.advanceTimersByTimeAsync(3_000);
  expect(sandbox.requests.length - 50).toBe(1 + 4);
});

test('if the store fails, requests in flight count towards the part of the process', async () => {
  const { store, fail } = recordStore();
  const { sandbox, send } = leasing(store, {}, { latency: 700 });
  const first = send(1);
  await vi.advanceTimersByTimeAsync(1_000);
  const all = [...first, ...send(60)];
  await vi.advanceTimersByTimeAsync(100);
  fail(new Error('the store is down'));
  await vi.advanceTimersByTimeAsync(50_000);
  // Two were answered before the store failed; seven of the others were in flight.
  expect(sandbox.requests).toHaveLength(2 + (PLAN.requestsPerMinute - 2) / 2);
  await vi.advanceTimersByTimeAsync(200_000);
  expect(await Promise.all(all)).toHaveLength(61);
});

test('if the store fails, the process keeps to its part, reports this once, and shares again when the store works', async () => {
  const { store, fail } = recordStore();
  const { sandbox, client, send, warn } = leasing(store);
  const states: string[] = [];
  client.on('quotaStore', ({ state }) => states.push(state));
  fail(new Error('the store is down'));
  const all = Promise.all(send(50));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(sandbox.requests.length).toBeLessThanOrEqual(PLAN.requestsPerMinute / 2);
  fail();
  await vi.advanceTimersByTimeAsync(130_000);
  expect(await all).toHaveLength(50);
  expect(warn.mock.calls.filter(([message]) => String(message).includes('the store is down'))).toHaveLength(1);
  expect(states).toEqual(['local', 'shared']);
  expect(sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
});

test('a 429 of another process closes the gate of this one', async () => {
  const record = emptyRecord();
  const { store, leaseRequests } = recordStore(record);
  const { sandbox, send } = leasing(store);
  exchangeLease(record, { ...REQUEST_OF_OTHER, closedForMs: 30_000 }, Date.now());
  const all = Promise.all(send(2));
  await vi.advanceTimersByTimeAsync(29_000);
  expect([sandbox.requests.length, leaseRequests.length > 0]).toEqual([0, true]);
  await vi.advanceTimersByTimeAsync(31_000);
  expect(await all).toHaveLength(2);
});

test('a closure that another process reports is an event of the first call that waits for its end, and of the one after it', async () => {
  const record = emptyRecord();
  const { store } = recordStore(record);
  const { client, send } = leasing(store);
  const told: string[] = [];
  client.on('gate', ({ callId, state, until }) =>
    told.push(`${state} by call ${callId}${until ? `, ${until.getTime() - startMs} ms` : ''}`),
  );
  const startMs = Date.now();
  exchangeLease(record, { ...REQUEST_OF_OTHER, closedForMs: 30_000 }, startMs);
  const all = Promise.all(send(2));
  await vi.advanceTimersByTimeAsync(60_000);
  await all;
  expect(told).toEqual(['closed by call 1, 30000 ms', 'open by call 1']);
});

test.each([
  ['stays in the queue', undefined],
  ['is aborted by a listener', 'aborted'],
])('a store that reports a closure while it is asked leaves no timer behind when the call %s', async (_what, reason) => {
  const store: QuotaStore = {
    processes: 2,
    isCheap: true,
    join: (_key, onClosed) => ({
      exchange: (request) => {
        if (request.wanted > 0 && ++asked > 1) onClosed(30_000);
        return { granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs: 100, reason: 'quota', members: 2 };
      },
    }),
  };
  let asked = 0;
  const gate = makeGate();
  bringStore(gate, store);
  const emitter = new Emitter();
  const call = makeCall({ emitter });
  emitter.on('gate', () => reason && call.abort(reason));
  const rejection = rejectionOf(Promise.resolve(gate.enter(call, makeLimits(gate))));
  await vi.advanceTimersByTimeAsync(200);
  call.abort('done');
  expect([asked, await rejection, vi.getTimerCount()]).toEqual([2, reason ?? 'done', 0]);
});

test('if the processes have used up the day, a call is refused at once, with the end of the day, while the minute lasts', async () => {
  const record = emptyRecord();
  const { store } = recordStore(record);
  const plan = { requestsPerMinute: 60, requestsPerDay: 5 };
  const { send } = leasing(store, { plan, maxWaitMs: 1_000 }, { plans: { shared: plan } });
  await Promise.all([...send(1), vi.advanceTimersByTimeAsync(3_000)]);
  for (let lease = 0; lease < 8; lease++) exchangeLease(record, { ...REQUEST_OF_OTHER, plan, wanted: 1 }, Date.now());
  const refusal = rejectionOf(Promise.all(send(1)));
  await vi.advanceTimersByTimeAsync(100);
  expect(await refusal).toSatisfy(({ kind, retryAt }) => kind === 'rate-limit' && Number(retryAt) - Date.now() > 3_600_000);
});

test('a process that waits for the end of a day finds out after 65 seconds that the store has forgotten the day', async () => {
  const record = emptyRecord();
  const { store } = recordStore(record);
  const plan = { requestsPerMinute: 60, requestsPerDay: 5 };
  exchangeLease(record, { ...REQUEST_OF_OTHER, plan, wanted: 1 }, Date.now() - 3_600_000);
  for (let lease = 0; lease < 8; lease++)
    exchangeLease(record, { ...REQUEST_OF_OTHER, plan, wanted: 1 }, Date.now() - 60_000 + 2_000 * lease);
  const { send } = leasing(store, { plan }, { plans: { shared: plan } });
  const refusal = rejectionOf(Promise.all(send(1)));
  await vi.advanceTimersByTimeAsync(100);
  expect(await refusal).toMatchObject({ kind: 'rate-limit' });
  Object.assign(record, emptyRecord());
  await vi.advanceTimersByTimeAsync(65_000);
  const [list] = await Promise.all([Promise.all(send(1)), vi.advanceTimersByTimeAsync(1_000)]);
  expect(list).toHaveLength(1);
});

test('if the store fails while the probe of another process is out, the part is that of the last lease', async () => {
  const startMs = Date.now();
  const answers: (() => LeaseResponse)[] = [
    () => ({ granted: 1, expiresInMs: 1_000, resetAtMs: 0, waitMs: 0, reason: 'probe', members: 1 }),
    () => ({ granted: 1, expiresInMs: startMs + 60_000 - Date.now(), resetAtMs: startMs + 60_000, waitMs: 0, reason: 'quota', members: 4 }),
    () => ({ granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs: 25, reason: 'probe', members: 1 }),
  ];
  const exchange = async ({ wanted }: LeaseRequest) => {
    const answer =
      wanted > 0 ? answers.shift() : () => ({ granted: 0, expiresInMs: 0, resetAtMs: 0, waitMs: 0, reason: 'quota' as const, members: 1 });
    if (!answer) throw new Error('the store is down');
    return answer();
  };
  const { sandbox, send } = leasing({ processes: undefined, isCheap: false, join: () => ({ exchange }) });
  await Promise.all([...send(1), vi.advanceTimersByTimeAsync(500)]);
  await Promise.all([...send(1), vi.advanceTimersByTimeAsync(500)]);
  const all = Promise.allSettled(send(50));
  await vi.advanceTimersByTimeAsync(40_000);
  expect([answers.length, sandbox.requests.length]).toEqual([0, 2 + 14]);
  await vi.advanceTimersByTimeAsync(600_000);
  await all;
});

test.each([
  ["another process's probe is out", { reason: 'probe', waitMs: 25 }, 100],
  ['the day is used up', { reason: 'quota', waitMs: 3_600_000 }, 65_100],
] as const)('if the store fails after it said that %s, the next slot comes at the end of the minute', async (_what, said, lostMs) => {
  const answers: LeaseResponse[] = [{ granted: 0, expiresInMs: 0, resetAtMs: 0, members: 2, ...said }];
  const exchange = async () => {
    const answer = answers.shift();
    if (!answer) throw new Error('unreachable');
    return answer;
  };
  const gate = makeGate();
  bringStore(gate, { processes: 10, isCheap: true, join: () => ({ exchange }) });
  const visitors = new Visitors(gate);
  visitors.ask('first', makeListCall({ maxWaitMs: 7_200_000 }));
  await vi.advanceTimersByTimeAsync(lostMs);
  visitors.answer(answerNow({ remaining: 10 }));
  visitors.ask('second');
  await vi.advanceTimersByTimeAsync(10);
  visitors.answer(answerNow({ remaining: 9 }));
  visitors.ask('third', makeListCall({ maxWaitMs: 1_000 }));
  await vi.advanceTimersByTimeAsync(10);
  const isUntilEnd = ({ retryAt }: { retryAt: Date }) => Math.abs(retryAt.getTime() - Date.now() - 60_000) < 1_000;
  expect([visitors.log.length, visitors.failures]).toEqual([3, [expect.toSatisfy(isUntilEnd)]]);
});

test('the loss of a store is told to the logger of the client whose request is the first without it', async () => {
  const { store, fail } = recordStore();
  const { baseUrl, fetch, keys } = leasing(store, { logger: undefined }).sandbox;
  const warn = vi.fn();
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const client = new PetStoreClient({ apiKey: keys.shared, baseUrl, fetch, plan: PLAN, quotaStore: store, logger });
  fail(new Error('the store is down'));
  await Promise.all([client.listInventory(), vi.advanceTimersByTimeAsync(1_000)]);
  expect(warn.mock.calls.flat()).toEqual([expect.stringContaining('the store is down')]);
});

test('a client without a daily limit is not limited by that of an old plan', async () => {
  const record = emptyRecord();
  exchangeLease(record, { ...REQUEST_OF_OTHER, wanted: 1, plan: { requestsPerMinute: 60, requestsPerDay: 1 } }, Date.now());
  const { client } = leasing(recordStore(record).store, { plan: 'unlimited' });
  await vi.advanceTimersByTimeAsync(60_000);
  const items = client.listInventory();
  items.catch(() => {});
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await items).not.toHaveLength(0);
});

test.each([
  ['a second client with a smaller plan', [PLANS.pro, PLANS.free], [true, true]],
  ['a second client with a larger plan', [PLANS.free, PLANS.pro], [true, true]],
  ['a second client that brings the store', [PLANS.free, PLANS.pro], [false, true]],
])('a store gets the stricter plan of %s', async (_what, plans, haveStore) => {
  const { store, leaseRequests } = recordStore();
  const { baseUrl, fetch, keys } = createSandbox();
  const clients = plans.map(
    (plan, at) => new PetStoreClient({ apiKey: keys.pro, baseUrl, fetch, plan, quotaStore: haveStore[at] === true ? store : undefined }),
  );
  const items = clients[1]?.listInventory();
  await vi.advanceTimersByTimeAsync(1_000);
  await items;
  expect(leaseRequests[0]?.plan).toEqual(PLANS.free);
});

test('one answer of a server whose clock is an hour ahead does not hold the shared quota for an hour', async () => {
  const { store } = recordStore();
  const sentIn = new Map<number, number>();
  let aheadMs = 3_600_000;
  const fetch = async () => {
    const minute = Math.floor(Date.now() / 60_000);
    sentIn.set(minute, (sentIn.get(minute) ?? 0) + 1);
    const dateMs = Date.now() + aheadMs;
    aheadMs = 0;
    const reset = String((Math.floor(dateMs / 60_000) + 1) * 60);
    const limits = {
      'x-ratelimit-limit': '60',
      'x-ratelimit-remaining': String(60 - (sentIn.get(minute) ?? 0)),
      'x-ratelimit-reset': reset,
    };
    return new Response('[]', { headers: { date: new Date(dateMs).toUTCString(), ...limits } });
  };
  const client = new PetStoreClient({ apiKey: 'psk_clock', baseUrl: 'https://clock.test/v1', fetch, plan: PLAN, quotaStore: store });
  const calls = Promise.all(Array.from({ length: 200 }, () => client.listInventory()));
  calls.catch(() => {});
  await vi.advanceTimersByTimeAsync(5 * 60_000);
  expect(await soFar(calls)).toHaveLength(200);
  expect([...sentIn.values()].filter((sent) => sent > 60)).toEqual([]);
});

test.each([0, 100])("a call that may wait for %d ms waits for the store's answer", async (maxWaitMs) => {
  const { store } = recordStore();
  const { sandbox, client } = leasing(store);
  const items = client.listInventory({ maxWaitMs });
  items.catch(() => {});
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await items).not.toHaveLength(0);
  expect(sandbox.requests).toHaveLength(1);
});

/** How many requests have told the store that the answer to their process's probe came. */
const answeredProbes = (leaseRequests: readonly LeaseRequest[]) => leaseRequests.filter(({ isProbeAnswered }) => isProbeAnswered).length;

test("a probe without an answer is not reported as answered, and another one follows after the store's timeout", async () => {
  const { store, leaseRequests } = recordStore();
  const sandbox = createSandbox({ plans: { shared: PLAN }, faults: [{ at: 1, delayMs: 500 }] });
  const { baseUrl, fetch, keys } = sandbox;
  const client = new PetStoreClient({ apiKey: keys.shared, baseUrl, fetch, quotaStore: store });
  const lost = client.listInventory({ totalTimeoutMs: 100 }).catch(() => {});
  await vi.advanceTimersByTimeAsync(150);
  await lost;
  const next = client.listInventory();
  await vi.advanceTimersByTimeAsync(750);
  expect([answeredProbes(leaseRequests), sandbox.requests.length]).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([(await next).length > 0, answeredProbes(leaseRequests)]).toEqual([true, 1]);
});

test('an answer to an earlier request is not reported as the answer to the probe', async () => {
  const { store, leaseRequests } = recordStore();
  const { baseUrl, fetch, keys } = createSandbox({
    plans: { shared: PLAN },
    pets: 10,
    faults: [
      { at: 2, delayMs: 61_000 },
      { at: 3, delayMs: 5_000 },
    ],
  });
  const client = new PetStoreClient({ apiKey: keys.shared, baseUrl, fetch, quotaStore: store, attemptTimeoutMs: 300_000 });
  const first = client.listInventory();
  await vi.advanceTimersByTimeAsync(1_000);
  const late = client.listInventory();
  await vi.advanceTimersByTimeAsync(60_500);
  const probing = client.listInventory();
  await vi.advanceTimersByTimeAsync(3_000);
  expect([(await first).length, (await late).length, answeredProbes(leaseRequests)]).toEqual([10, 10, 1]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect([(await probing).length, answeredProbes(leaseRequests)]).toEqual([10, 2]);
});

test("a call that may wait for 10 ms waits for the answer to another process's probe", async () => {
  const record = emptyRecord();
  exchangeLease(record, { ...REQUEST_OF_OTHER, wanted: 1 }, Date.now());
  const { client } = leasing(recordStore(record).store);
  const items = client.listInventory({ maxWaitMs: 10 });
  items.catch(() => {});
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await items).not.toHaveLength(0);
});

test('a store is joined with the address and the key, even if a function gives the key', async () => {
  const { store } = recordStore();
  const join = vi.spyOn(store, 'join');
  const { baseUrl, fetch, keys } = createSandbox({ plans: { shared: PLAN } });
  const client = new PetStoreClient({ apiKey: async () => keys.shared, baseUrl, fetch, plan: PLAN, quotaStore: store });
  const list = client.listInventory();
  await vi.advanceTimersByTimeAsync(1_000);
  await list;
  expect(join.mock.calls.map(([name]) => name)).toEqual([{ address: expect.stringContaining(new URL(baseUrl).host), apiKey: keys.shared }]);
});

test('a request that is cancelled after another client brought another store gives nothing to that store', async () => {
  const [first, second] = [recordStore(), recordStore()];
  const gate = makeGate();
  bringStore(gate, first.store);
  const entering = gate.enter(makeListCall(), makeLimits(gate));
  await vi.advanceTimersByTimeAsync(100);
  const permit = await entering;
  bringStore(gate, second.store);
  permit.cancel();
  const next = gate.enter(makeListCall(), makeLimits(gate));
  await vi.advanceTimersByTimeAsync(1_000);
  await next;
  expect(second.leaseRequests.map(({ returned }) => returned)).not.toContain(1);
  expect(second.leaseRequests.length).toBeGreaterThan(0);
});

test('once all clients are closed, the store of the next one counts, or none', async () => {
  const { baseUrl, fetch, keys } = createSandbox({ plans: { shared: PLAN } });
  const warn = vi.fn();
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const [first, second] = [recordStore(), recordStore()];
  for (const quotaStore of [first.store, second.store, undefined]) {
    await using client = new PetStoreClient({ apiKey: keys.shared, baseUrl, fetch, plan: PLAN, logger, ...(quotaStore && { quotaStore }) });
    const list = client.listInventory();
    // Beyond the end of the window: a process that knows a window takes a store that knows none for restarted empty.
    await vi.advanceTimersByTimeAsync(61_000);
    await list;
  }
  const granting = [first, second].map(({ leaseRequests }) => leaseRequests.filter(({ wanted }) => wanted > 0).length);
  expect(granting).toEqual([1, 1]);
  expect(warn).not.toHaveBeenCalled();
});

test('a second client gets a warning about another store, but not about the same store or none', () => {
  const { baseUrl, fetch, keys } = createSandbox({ plans: { shared: PLAN } });
  const warn = vi.fn();
  const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
  const options = { apiKey: keys.shared, baseUrl, fetch, plan: PLAN, logger };
  const { store } = recordStore();
  const clients = [new PetStoreClient({ ...options, quotaStore: store }), new PetStoreClient({ ...options, quotaStore: store })];
  clients.push(new PetStoreClient(options));
  expect(warn).not.toHaveBeenCalled();
  clients.push(new PetStoreClient({ ...options, quotaStore: recordStore().store }));
  expect(warn.mock.calls.flat()).toEqual([expect.stringContaining('with another quotaStore: the first one counts')]);
});

test('a call that a listener aborts, because the store is lost, gives its permit back', async () => {
  const { store, fail } = recordStore();
  fail(new Error('unreachable'));
  const gate = makeGate();
  bringStore(gate, store);
  const emitter = new Emitter();
  const call = makeCall({ emitter });
  emitter.on('quotaStore', () => call.abort('the store is lost'));
  const rejection = rejectionOf(Promise.resolve(gate.enter(call, makeLimits(gate))));
  await vi.advanceTimersByTimeAsync(10);
  expect([await rejection, gate.idleMs]).toEqual(['the store is lost', Number.POSITIVE_INFINITY]);
});

test('without the store, a process keeps to its part of a minute that no header describes, and asks the store again after it', async () => {
  const { store, leaseRequests, fail } = recordStore();
  fail(new Error('unreachable'));
  const gate = makeGate();
  bringStore(gate, store);
  const visitors = new Visitors(gate);
  visitors.askTimes(40);
  for (let second = 0; second < 55; second++) {
    await vi.advanceTimersByTimeAsync(1_000);
    for (const _ of [...visitors.permits]) visitors.answer({ status: 200, receivedAtMs: Date.now() });
  }
  const inMinute = visitors.log.length;
  await vi.advanceTimersByTimeAsync(10_000);
  expect([inMinute, leaseRequests.length]).toEqual([30, 2]);
});

test('a call that a listener makes, because the store is lost, needs a slot of its own', async () => {
  const { store, fail } = recordStore();
  const gate = makeGate();
  bringStore(gate, store);
  const visitors = new Visitors(gate);
  const emitter = new Emitter();
  emitter.on('quotaStore', () => visitors.ask('of the listener'));
  visitors.ask('probe');
  await vi.advanceTimersByTimeAsync(10);
  visitors.answer(answerNow({ remaining: 3 }));
  fail(new Error('unreachable'));
  await vi.advanceTimersByTimeAsync(500);
  visitors.ask('next', makeCall({ emitter }));
  await vi.advanceTimersByTimeAsync(100);
  expect(visitors.log).toEqual(['0 probe', '0.5 next']);
});

/** What the service answers where it closes the key for longer than the minute. */
const closing = () => answerNow({ status: 429, remaining: 0, retryAfterMs: 100_000 });

const isAboutMs = (ms: number): unknown => expect.toSatisfy((value: number) => Math.abs(value - ms) < 1_000);

test('a store that comes while the key is closed is told so with the next call', async () => {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  const visitors = new Visitors(gate);
  visitors.ask('refused');
  visitors.answer(closing());
  await vi.advanceTimersByTimeAsync(10_000);
  bringStore(gate, store);
  visitors.askTimes(2);
  await vi.advanceTimersByTimeAsync(80_000);
  expect(leaseRequests).toEqual([expect.objectContaining({ closedForMs: isAboutMs(90_000) })]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(visitors.log).toHaveLength(2);
});

test('a store that comes while the key is closed is not told so before it has the key', async () => {
  const { store, leaseRequests } = recordStore();
  const gate = makeGate();
  const visitors = new Visitors(gate);
  const emitter = new Emitter();
  const onStore = vi.fn();
  emitter.on('quotaStore', onStore);
  visitors.ask('refused');
  visitors.answer(closing());
  gate.share({ store, address: freshAddress(), apiKey: () => 'key' });
  visitors.ask('early', makeCall({ emitter }));
  await vi.advanceTimersByTimeAsync(10_000);
  gate.takeKey('key');
  visitors.ask('late');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(leaseRequests).toEqual([expect.objectContaining({ closedForMs: isAboutMs(90_000) })]);
  await vi.advanceTimersByTimeAsync(90_000);
  expect([visitors.log.length, onStore.mock.calls]).toEqual([2, []]);
});

test('a store that is lost while the service closes the key is told so as soon as it is asked again', async () => {
  const { store, leaseRequests, fail } = recordStore();
  const gate = makeGate();
  bringStore(gate, store);
  const visitors = new Visitors(gate);
  fail(new Error('unreachable'));
  visitors.ask('refused');
  await vi.advanceTimersByTimeAsync(10);
  visitors.answer(closing());
  visitors.ask('waits');
  await vi.advanceTimersByTimeAsync(10_000);
  fail();
  await vi.advanceTimersByTimeAsync(80_000);
  expect(leaseRequests.map(({ closedForMs }) => closedForMs)).toEqual([0, isAboutMs(40_000)]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(visitors.log).toHaveLength(2);
});

test('a closure whose report fails is reported again with the next call', async () => {
  const { store, leaseRequests, fail } = recordStore();
  const gate = makeGate();
  bringStore(gate, store);
  const visitors = new Visitors(gate);
  visitors.ask('refused');
  await vi.advanceTimersByTimeAsync(10);
  fail(new Error('unreachable'));
  visitors.answer(closing());
  await vi.advanceTimersByTimeAsync(10_000);
  fail();
  visitors.askTimes(2);
  await vi.advanceTimersByTimeAsync(80_000);
  expect(leaseRequests.map(({ closedForMs }) => closedForMs)).toEqual([0, isAboutMs(100_000), isAboutMs(90_000)]);
});

/** The answer to a second call closes the key while a third one waits. */
async function closeWhileOneWaits(visitors: Visitors): Promise<void> {
  visitors.ask('first');
  await vi.advanceTimersByTimeAsync(10);
  visitors.answer();
  visitors.ask('refused');
  await vi.advanceTimersByTimeAsync(10);
  visitors.ask('waits');
  visitors.answer(closing());
}

test('a closure whose report fails while slots are held is reported again with the next call, which gives them back', async () => {
  const leaseRequests: LeaseRequest[] = [];
  const exchange = async (request: LeaseRequest): Promise<LeaseResponse> => {
    leaseRequests.push(request);
    if (request.wanted === 0) throw new Error('unreachable');
    const { closedForMs } = request;
    return { granted: closedForMs > 0 ? 0 : 1, expiresInMs: 60_000, resetAtMs: 0, waitMs: closedForMs, reason: 'closed', members: 1 };
  };
  const gate = makeGate();
  bringStore(gate, { processes: 2, isCheap: true, join: () => ({ exchange }) });
  const visitors = new Visitors(gate);
  await closeWhileOneWaits(visitors);
  await vi.advanceTimersByTimeAsync(10);
  const timers = vi.spyOn(globalThis, 'setTimeout');
  visitors.ask('next');
  await vi.advanceTimersByTimeAsync(50_000);
  expect(leaseRequests.slice(-3).map(({ wanted, returned, closedForMs }) => [wanted, returned, closedForMs])).toEqual([
    [1, 0, 0],
    [0, 0, isAboutMs(100_000)],
    [2, 1, isAboutMs(100_000)],
  ]);
  expect(timers.mock.calls.length).toBeLessThan(10);
});

test('a store that is lost after it was told of a closure is told again as soon as it is asked again', async () => {
  const { store, leaseRequests } = recordStore();
  const lost = Promise.withResolvers<never>();
  const join: QuotaStore['join'] = (...joining) => {
    const shared = store.join(...joining);
    // The third lease is not answered.
    const isThird = ({ wanted }: LeaseRequest) => wanted > 0 && leaseRequests.filter((each) => each.wanted > 0).length === 3;
    const exchange = async (request: LeaseRequest) => {
      const response = await shared.exchange(request);
      return isThird(request) ? lost.promise : response;
    };
    return { exchange };
  };
  const gate = makeGate();
  bringStore(gate, { ...store, isCheap: true, join });
  const visitors = new Visitors(gate);
  await closeWhileOneWaits(visitors);
  await vi.advanceTimersByTimeAsync(100);
  lost.reject(new Error('unreachable'));
  await vi.advanceTimersByTimeAsync(80_000);
  expect(leaseRequests.slice(-3).map(({ wanted, closedForMs }) => [wanted, closedForMs])).toEqual([
    [1, 0],
    [0, isAboutMs(100_000)],
    [1, isAboutMs(40_000)],
  ]);
});

test('processes that take turns to probe a service that does not answer do not take their store for failed', async () => {
  const record = emptyRecord();
  let processes = 0;
  const join: QuotaStore['join'] = () => {
    const member = `process ${++processes}`;
    return { exchange: async (request) => exchangeLease(record, { ...request, member }, Date.now()) };
  };
  const fetch = vi.fn(
    (_input: unknown, init?: RequestInit) =>
      new Promise<Response>((_answer, fail) => init?.signal?.addEventListener('abort', () => fail(init.signal?.reason))),
  );
  const clients = Array.from({ length: 60 }, () => leasing({ processes: 60, isCheap: false, join }, { fetch, maxWaitMs: 600_000 }));
  const lost = vi.fn();
  for (const { client } of clients) client.on('quotaStore', lost);
  const lists = clients.map(({ client }) => client.listInventory().catch(() => {}));
  await vi.advanceTimersByTimeAsync(180_000);
  expect(fetch.mock.calls.length).toBeGreaterThan(100);
  expect(lost.mock.calls).toEqual([]);
  for (const { client } of clients) client.close();
  await Promise.all(lists);
});

describe('slots that a process does not use', () => {
  /** A gate whose store grants three slots at a time, with a request in flight that uses one, and how many slots are given back when. */
  async function holdSlots(settings: Parameters<typeof makeGate>[0] = {}) {
    const startMs = Date.now();
    const returned: [afterMs: number, slots: number][] = [];
    const exchange = (request: LeaseRequest): LeaseResponse => {
      if (request.wanted === 0) returned.push([Date.now() - startMs, request.returned]);
      return { granted: request.wanted && 3, expiresInMs: 60_000, resetAtMs: 0, waitMs: 0, reason: 'quota', members: 1 };
    };
    const gate = makeGate(settings);
    bringStore(gate, { processes: 2, isCheap: false, join: () => ({ exchange }) });
    const visitors = new Visitors(gate);
    visitors.ask('first');
    await vi.advanceTimersByTimeAsync(0);
    return { visitors, returned };
  }

  test('go back to the store after 150 ms', async () => {
    const { visitors, returned } = await holdSlots();
    visitors.answer();
    await vi.advanceTimersByTimeAsync(149);
    expect(returned).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(returned).toEqual([[150, 2]]);
  });

  test('go back after a second while requests are in flight', async () => {
    const { returned } = await holdSlots();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(returned).toEqual([[1_050, 2]]);
  });

  test('do not go back while a call waits that may use them', async () => {
    const { visitors, returned } = await holdSlots({ concurrency: 1 });
    visitors.ask('second');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(returned).toEqual([]);
    visitors.answer();
    await vi.advanceTimersByTimeAsync(5_000);
    expect([visitors.log, returned]).toEqual([['0 first', '5 second'], [[expect.any(Number), 1]]]);
  });
});
