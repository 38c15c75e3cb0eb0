import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { Emitter } from '../../../src/events.ts';
import { makeCall, makeListCall } from '../../support/call.ts';
import { holdTime, NOW_MS } from '../../support/time.ts';
import { answerNow, makeGate, makeLimits, pass, Visitors } from './gate-kit.ts';

holdTime();

const PLAN = { requestsPerMinute: 60, requestsPerDay: 1_000 };

/** A service, and clients of one key on it; `sent` counts the requests of each since an instant. */
function serviceWith(options: SandboxOptions = {}) {
  const sandbox = createSandbox({ plans: { shared: PLAN }, latency: 20, ...options });
  const requests: { name: string; atMs: number }[] = [];
  const clientOf = (name: string, own: PetStoreClientOptions) => {
    const fetch: typeof globalThis.fetch = (input, init) => {
      requests.push({ name, atMs: Date.now() });
      return sandbox.fetch(input, init);
    };
    return new PetStoreClient({ apiKey: sandbox.keys.shared, baseUrl: sandbox.baseUrl, plan: PLAN, fetch, ...own });
  };
  const sent = (name: string, fromMs = 0, toMs = 59_000) =>
    requests.filter((request) => request.name === name && request.atMs >= NOW_MS + fromMs && request.atMs < NOW_MS + toMs).length;
  return { sandbox, clientOf, sent };
}

/** How a call ended, so far. */
function endOf(call: Promise<unknown>): { value?: unknown; error?: unknown } {
  const end: { value?: unknown; error?: unknown } = {};
  call.then(
    (value) => Object.assign(end, { value }),
    (error: unknown) => Object.assign(end, { error }),
  );
  return end;
}

function listTimes(client: PetStoreClient, count: number, priority: 'normal' | 'low' = 'normal'): void {
  for (let n = 0; n < count; n++) client.listInventory({ priority, maxWaitMs: 3_600_000 }).catch(() => {});
}

describe.each(['fixed-clock', 'fixed-first', 'sliding-log', 'token-bucket'] as const)('If the service counts as %s', (policy) => {
  test('a client keeps to its share of each minute, and another uses the rest', async () => {
    const { sandbox, clientOf, sent } = serviceWith({ policy });
    const [half, rest] = [clientOf('half', { share: 0.5 }), clientOf('rest', {})];
    listTimes(half, 200);
    listTimes(rest, 200);
    await vi.advanceTimersByTimeAsync(180_000);
    const minutes = [0, 60_000, 120_000].map((fromMs) => sent('half', fromMs, fromMs + 60_000));
    expect(Math.max(...minutes)).toBeLessThanOrEqual(30);
    expect(sent('half', 0, 180_000)).toBeGreaterThanOrEqual(60);
    expect(sent('half', 0, 180_000) + sent('rest', 0, 180_000)).toBeGreaterThanOrEqual(160);
    expect(sandbox.requests.filter(({ status }) => status === 429).length).toBeLessThanOrEqual(1);
  });
});

describe('share', () => {
  test('of one half for each of two clients gives each its own half', async () => {
    const { clientOf, sent } = serviceWith();
    listTimes(clientOf('one', { share: 0.5 }), 100);
    listTimes(clientOf('other', { share: 0.5 }), 100);
    await vi.advanceTimersByTimeAsync(59_000);
    expect([sent('one'), sent('other')]).toEqual([30, 30]);
  });

  test('counts what a client sent before the other client came', async () => {
    const { clientOf, sent } = serviceWith();
    await vi.advanceTimersByTimeAsync(5_000);
    listTimes(clientOf('one', { share: 0.5 }), 100);
    await vi.advanceTimersByTimeAsync(10_000);
    listTimes(clientOf('other', {}), 100);
    await vi.advanceTimersByTimeAsync(44_000);
    expect([sent('one'), sent('other')]).toEqual([30, 30]);
  });

  test('of low calls alone leaves the whole quota to the normal calls of the client', async () => {
    const { clientOf, sent } = serviceWith();
    const client = clientOf('one', { share: { low: 0.2 } });
    listTimes(client, 100, 'low');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(sent('one')).toBe(12);
    listTimes(client, 100);
    await vi.advanceTimersByTimeAsync(49_000);
    expect(sent('one')).toBe(60);
  });

  test('is shown by the quota: what is left of it, and no more than the key has left', async () => {
    const { clientOf, sent } = serviceWith();
    const [client, other] = [clientOf('one', { share: { low: 0.2 } }), clientOf('other', {})];
    listTimes(client, 5, 'low');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(client.quota.share?.minute).toMatchObject({ limit: 12, remaining: 7, resetAt: new Date(NOW_MS + 60_000) });
    expect(client.quota.share?.day).toMatchObject({ limit: 200, remaining: 195 });
    listTimes(other, 52);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([client.quota.minute.remaining, client.quota.share?.minute.remaining, sent('other')]).toEqual([3, 3, 52]);
    expect(other.quota.share).toBeUndefined();
  });

  test("of a key's only client is its quota, until the key has another client", async () => {
    const { clientOf } = serviceWith();
    const client = clientOf('one', { share: 0.5 });
    expect(client.quota).toMatchObject({ minute: { limit: 30 }, share: undefined });
    clientOf('other', {});
    expect(client.quota).toMatchObject({ minute: { limit: 60 }, share: { minute: { limit: 30 } } });
  });

  test('of low calls alone limits these too if normal ones came first', async () => {
    const { clientOf, sent } = serviceWith();
    const client = clientOf('one', { share: { low: 0.2 } });
    listTimes(client, 5);
    await vi.advanceTimersByTimeAsync(1_000);
    listTimes(client, 100, 'low');
    await vi.advanceTimersByTimeAsync(58_000);
    expect(sent('one')).toBe(5 + 12);
  });

  test('limits the requests of a day', async () => {
    const plan = { requestsPerMinute: 60, requestsPerDay: 100 };
    const { clientOf, sent } = serviceWith({ plans: { shared: plan } });
    listTimes(clientOf('rest', { plan }), 1);
    listTimes(clientOf('tenth', { plan, share: 0.1 }), 100);
    await vi.advanceTimersByTimeAsync(3_000_000);
    expect(sent('tenth', 0, 3_000_000)).toBe(10);
  });

  test('of a client that comes after all others were closed is used up only by itself', async () => {
    const plan = { requestsPerMinute: 60, requestsPerDay: 100 };
    const { clientOf, sent } = serviceWith({ plans: { shared: plan } });
    const first = clientOf('first', { plan });
    listTimes(first, 50);
    await vi.advanceTimersByTimeAsync(59_000);
    first.close();
    listTimes(clientOf('half', { plan, share: 0.5 }), 60);
    await vi.advanceTimersByTimeAsync(121_000);
    expect([sent('first'), sent('half', 0, 180_000)]).toEqual([50, 50]);
  });

  test('of clients that come one after the other is that of all of them', async () => {
    const { clientOf, sent } = serviceWith();
    for (const name of ['one', 'two', 'three']) {
      const client = clientOf(name, { share: 0.5 });
      listTimes(client, 20);
      await vi.advanceTimersByTimeAsync(10_000);
      client.close();
    }
    expect([sent('one'), sent('two'), sent('three')]).toEqual([20, 10, 0]);
  });

  test('is at least one request', async () => {
    const { clientOf, sent } = serviceWith();
    listTimes(clientOf('rest', {}), 1);
    listTimes(clientOf('little', { share: 0.001 }), 5);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(sent('little')).toBe(1);
  });

  test('is named in the error of a call that is refused, while the other client is not refused', async () => {
    const { clientOf } = serviceWith();
    const [half, rest] = [clientOf('half', { share: 0.5 }), clientOf('rest', {})];
    listTimes(half, 30);
    await vi.advanceTimersByTimeAsync(1_000);
    const refused = endOf(half.listInventory({ maxWaitMs: 5_000 }));
    const done = endOf(rest.listInventory({ maxWaitMs: 5_000 }));
    await vi.advanceTimersByTimeAsync(1_000);
    expect([refused.value, done.value]).toEqual([undefined, expect.any(Array)]);
    expect(refused.error).toMatchObject({ kind: 'rate-limit', status: undefined, attempts: 0 });
    expect(String(refused.error)).toContain("this client's share of the quota is used up until 2026-11-21T10:01:00");
  });

  test('refuses only the waiting call of a client whose share of the day is used up', async () => {
    const plan = { requestsPerMinute: 60, requestsPerDay: 100 };
    const { clientOf } = serviceWith({ plans: { shared: plan } });
    const [tenth, rest] = [clientOf('tenth', { plan, share: 0.1 }), clientOf('rest', { plan })];
    const calls = Array.from({ length: 12 }, () => endOf(tenth.listInventory()));
    const other = Array.from({ length: 60 }, () => endOf(rest.listInventory()));
    await vi.advanceTimersByTimeAsync(70_000);
    expect(calls.filter(({ error }) => error !== undefined)).toHaveLength(2);
    expect(other.filter(({ value }) => value !== undefined)).toHaveLength(60);
  });
});

describe('Gate of clients with their own limits:', () => {
  test('a call whose client has all its requests in flight holds up no other client, and order and priority are kept', async () => {
    const gate = makeGate();
    const [narrow, wide] = [new Visitors(gate, makeLimits(gate, { concurrency: 1 })), new Visitors(gate)];
    wide.ask('probe');
    wide.answer();
    narrow.ask('a');
    narrow.ask('b');
    narrow.ask('c');
    wide.ask('d');
    await pass(10);
    expect([narrow.log, wide.log]).toEqual([['0 a'], ['0 probe', '0 d']]);
    narrow.answer();
    await pass(10);
    expect(narrow.log).toEqual(['0 a', '0 b']);
  });

  test('a call that only its own client holds up says so in its `wait` event, even if the key has a single request left', async () => {
    const emitter = new Emitter();
    const told: unknown[] = [];
    emitter.on('wait', ({ reason, ms }) => told.push([reason, ms]));
    const gate = makeGate();
    const [narrow, little] = [
      new Visitors(gate, makeLimits(gate, { concurrency: 1 })),
      new Visitors(gate, makeLimits(gate, { share: 0.01 })),
    ];
    little.ask('probe');
    little.answer(answerNow({ remaining: 2 }));
    narrow.ask('in flight');
    expect(gate.quotaOf().minute.remaining).toBe(1);
    narrow.ask('concurrency', makeCall({ emitter }));
    little.ask('share', makeCall({ emitter }));
    await pass(0);
    expect(told).toEqual([
      ['in-flight', 0],
      ['quota', expect.closeTo(60_000, -2)],
    ]);
  });

  test("a call that would wait too long for its client's share is refused alone", async () => {
    const gate = makeGate();
    const [tenth, narrow] = [
      new Visitors(gate, makeLimits(gate, { share: 0.1 })),
      new Visitors(gate, makeLimits(gate, { concurrency: 1 })),
    ];
    narrow.ask('probe');
    narrow.answer();
    narrow.ask('in flight');
    narrow.permits[0]?.observe(answerNow());
    narrow.ask('waits', makeListCall({ maxWaitMs: 1_000 }));
    for (let request = 1; request <= 6; request++) {
      tenth.ask(`${request}`);
      await pass(10);
    }
    tenth.ask('7', makeListCall({ maxWaitMs: 1_000 }));
    while (tenth.permits.length > 0) tenth.answer();
    await pass(100);
    expect([tenth.log.at(-1), narrow.log]).toEqual([expect.stringContaining('7 refused'), ['0 probe', '0 in flight']]);
  });

  test('a low call whose share a smaller limit has overdrawn holds up no normal call', async () => {
    const gate = makeGate();
    const client = new Visitors(gate, makeLimits(gate, { share: { low: 0.1 } }));
    client.ask('probe');
    client.answer();
    client.askTimes(6, () => makeListCall({ priority: 'low' }));
    while (client.permits.length > 0) client.answer(answerNow({ limit: 20, remaining: 12 }));
    client.ask('low', makeListCall({ priority: 'low' }));
    client.ask('normal');
    await pass(10);
    expect(client.log.slice(-2)).toEqual(['0 6', '0 normal']);
  });

  test("a request that was not sent after all does not count towards its client's share", async () => {
    const gate = makeGate();
    const tenth = new Visitors(gate, makeLimits(gate, { share: 0.1 }));
    tenth.ask('probe');
    tenth.answer();
    for (let request = 2; request <= 6; request++) tenth.ask(`${request}`);
    tenth.ask('7');
    await pass(1_000);
    expect(tenth.log).toHaveLength(6);
    tenth.permits.pop()?.cancel();
    await pass(10);
    expect(tenth.log.at(-1)).toBe('1 7');
  });

  test('10,000 waiting calls of a client that has used its share hold up no other client', async () => {
    const { clientOf, sent } = serviceWith({ plans: { shared: { requestsPerMinute: 60_000 } } });
    const plan = { requestsPerMinute: 60_000 };
    const [little, rest] = [clientOf('little', { plan, share: 0.0001 }), clientOf('rest', { plan })];
    listTimes(little, 10_000);
    listTimes(rest, 1_000);
    await vi.advanceTimersByTimeAsync(30_000);
    expect([sent('little'), sent('rest')]).toEqual([6, 1_000]);
  });
});
