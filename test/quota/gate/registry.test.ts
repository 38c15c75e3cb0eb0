import { execFileSync } from 'node:child_process';
import { PetStoreClient, RateLimitError } from 'petstore-inventory';
import { describe, expect, test, vi } from 'vitest';
import { Gate } from '../../../src/quota/gate/gate.ts';
import { gateOf } from '../../../src/quota/gate/registry.ts';
import type { QuotaStore } from '../../../src/quota-store.ts';
import { makeListCall } from '../../support/call.ts';
import { freshAddress, KEY, scriptedClient } from '../../support/client.ts';
import { collectGarbage } from '../../support/garbage.ts';
import { rejectionOf } from '../../support/outcome.ts';
import { holdTime, NOW_MS } from '../../support/time.ts';
import { answerNow, FREE, makeLimits, pass } from './gate-kit.ts';

holdTime();

const SETTINGS = { plan: FREE, concurrency: 64, share: 1 };
const SETUP = { settings: SETTINGS, warn: () => {} };

function refusal(retryAfter: string): Response {
  return new Response('[]', { status: 429, headers: { 'retry-after': retryAfter, date: new Date().toUTCString() } });
}

describe('gateOf', () => {
  test('gives one gate for each address and key', () => {
    const [address, other] = [freshAddress(), freshAddress()];
    const gate = gateOf({ address, apiKey: 'key' }, SETUP);
    expect(gateOf({ address, apiKey: 'key' }, SETUP)).toBe(gate);
    expect(gateOf({ address, apiKey: 'key 2' }, SETUP)).not.toBe(gate);
    expect(gateOf({ address: other, apiKey: 'key' }, SETUP)).not.toBe(gate);
  });

  test('shares the gate of a client that has made no call for days, also after all gates were looked at', () => {
    const address = freshAddress();
    const gate = gateOf({ address, apiKey: 'key' }, SETUP);
    for (let day = 0; day < 5; day++) {
      vi.advanceTimersByTime(26 * 3_600_000);
      gateOf({ address, apiKey: `key of day ${day}` }, SETUP);
    }
    expect(gateOf({ address, apiKey: 'key' }, SETUP)).toBe(gate);
  });

  test('keeps what it knows of a key for 25 hours, even if no client has it', async () => {
    const address = freshAddress();
    const gate = new WeakRef(gateOf({ address, apiKey: 'key' }, SETUP));
    vi.advanceTimersByTime(25 * 3_600_000);
    gateOf({ address, apiKey: 'key of another' }, SETUP);
    await collectGarbage();
    expect(gate.deref()).toBeInstanceOf(Gate);
  });

  test('forgets a gate that no client has and that has not been used for more than a day', async () => {
    const address = freshAddress();
    const gate = new WeakRef(gateOf({ address, apiKey: 'key' }, SETUP));
    await collectGarbage();
    expect(gate.deref()).toBeDefined();
    vi.advanceTimersByTime(26 * 3_600_000);
    gateOf({ address, apiKey: 'key of another' }, SETUP);
    await collectGarbage();
    expect(gate.deref()).toBeUndefined();
    expect(gateOf({ address, apiKey: 'key' }, SETUP)).toBeInstanceOf(Gate);
  });

  test('keeps a gate whose key is closed, even if no client has it for days', async () => {
    const address = freshAddress();
    const close = async () => {
      const fetch = async () => refusal('604800');
      await rejectionOf(new PetStoreClient({ apiKey: KEY, baseUrl: address, fetch, maxRetries: 0 }).listInventory());
    };
    await close();
    for (const day of [2, 4]) {
      vi.advanceTimersByTime(48 * 3_600_000);
      gateOf({ address, apiKey: `key of day ${day}` }, SETUP);
      await collectGarbage();
    }
    const later = new PetStoreClient({ apiKey: KEY, baseUrl: address, fetch: async () => new Response('[]') });
    expect(await rejectionOf(later.listInventory())).toBeInstanceOf(RateLimitError);
  });

  test('leaves a gate as it is for a client whose store cannot be used', () => {
    const address = freshAddress();
    const gate = gateOf({ address, apiKey: 'key' }, SETUP);
    const quotaStore: QuotaStore = {
      isCheap: true,
      processes: 2,
      join: () => {
        throw new Error('closed');
      },
    };
    const settings = { ...SETTINGS, plan: { requestsPerMinute: 1, requestsPerDay: 1 } };
    expect(() => gateOf({ address, apiKey: 'key' }, { ...SETUP, settings, quotaStore })).toThrow('closed');
    expect(gate.quotaOf().minute.limit).toBe(60);
  });

  test('keeps a gate while a request is in flight', async () => {
    const address = freshAddress();
    const gate = gateOf({ address, apiKey: 'key' }, SETUP);
    const permit = await gate.enter(makeListCall(), makeLimits(gate));
    vi.advanceTimersByTime(26 * 3_600_000);
    expect(gateOf({ address, apiKey: 'key' }, SETUP)).toBe(gate);
    permit.observe(answerNow());
    permit.release();
  });
});

describe('gateOf, with thousands of keys,', () => {
  const clients = (keys: (string | (() => string))[]) => {
    const address = freshAddress();
    return keys.map((key) => gateOf({ address, apiKey: key }, SETUP));
  };
  const strings = Array.from({ length: 5_000 }, (_, n) => `key-${n}`);

  test('does not look at all gates for each new client', () => {
    const looks = vi.spyOn(Gate.prototype, 'idleMs', 'get');
    clients([...strings, ...strings.map((key) => () => key)]);
    expect(looks).not.toHaveBeenCalled();
  });

  test('forgets gates that have not been used for more than a day, and looks at each of them once', async () => {
    vi.advanceTimersByTime(100 * 3_600_000);
    clients(strings);
    await collectGarbage();
    vi.advanceTimersByTime(26 * 3_600_000);
    const looks = vi.spyOn(Gate.prototype, 'idleMs', 'get');
    clients(strings);
    expect(looks.mock.calls.length).toBeGreaterThanOrEqual(5_000);
    expect(looks.mock.calls.length).toBeLessThan(6_000);
  });

  test('gives one gate for each function and address', () => {
    const [address, key, other] = [freshAddress(), () => KEY, () => KEY];
    const gate = gateOf({ address, apiKey: key }, SETUP);
    expect(gateOf({ address, apiKey: key }, SETUP)).toBe(gate);
    expect(gateOf({ address, apiKey: other }, SETUP)).not.toBe(gate);
    expect(gateOf({ address: freshAddress(), apiKey: key }, SETUP)).not.toBe(gate);
  });
});

describe('Two clients with one address and key', () => {
  test.each([
    ['seconds', '30', 30_000],
    ['a fraction of seconds', '1.5', 1_500],
    ['an HTTP-date', new Date(NOW_MS + 20_000).toUTCString(), 20_000],
  ])('a 429 of one holds the other too (Retry-After in %s)', async (_form, retryAfter, waitMs) => {
    const baseUrl = freshAddress();
    const { client, seen } = scriptedClient([() => refusal(retryAfter), () => Response.json([])], { baseUrl });
    const { client: other, seen: seenOfOther } = scriptedClient([() => Response.json([])], { baseUrl });
    const first = client.listInventory();
    await pass(10);
    const second = other.listInventory();
    await pass(waitMs - 30);
    expect([seen.length, seenOfOther.length]).toEqual([1, 0]);
    await pass(2_000);
    await expect(Promise.all([first, second])).resolves.toEqual([[], []]);
  });

  test('the logger of the second client gets a warning about different settings', () => {
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    const baseUrl = freshAddress();
    scriptedClient([], { baseUrl, plan: 'pro' });
    const { client } = scriptedClient([], { baseUrl, plan: 'free', logger });
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('another plan'));
    expect(client.quota.minute.limit).toBe(60);
  });

  test.each([
    ['pro', 300, 10_000],
    [undefined, 60, 1_000],
    ['unlimited', undefined, undefined],
  ] as const)(
    'once all are closed, the plan %s of the next one counts, with what is known of the windows',
    async (plan, perMinute, perDay) => {
      const baseUrl = freshAddress();
      const { client } = scriptedClient([() => Response.json([])], { baseUrl, plan: { requestsPerMinute: 5, requestsPerDay: 5 } });
      const other = scriptedClient([], { baseUrl }).client;
      await client.listInventory();
      other.close();
      client.close();
      const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
      const { quota } = new PetStoreClient({ apiKey: KEY, baseUrl, plan, logger });
      expect([quota.minute.limit, quota.day.limit]).toEqual([perMinute, perDay]);
      expect(quota.minute.remaining).toBe(perMinute && perMinute - 1);
      expect(logger.warn).not.toHaveBeenCalled();
    },
  );

  test.each([undefined, 'business'] as const)(
    'once all are closed (plan %s), a client without a plan has what headers have shown',
    async (plan) => {
      const baseUrl = freshAddress();
      const headers = { 'x-ratelimit-limit': '300', 'x-ratelimit-remaining': '250', 'x-ratelimit-reset': '60' };
      const { client } = scriptedClient([() => Response.json([], { headers })], { baseUrl, ...(plan && { plan }) });
      await client.listInventory();
      client.close();
      const { quota } = scriptedClient([], { baseUrl }).client;
      expect([quota.minute.limit, quota.day.limit, quota.day.remaining]).toEqual([300, 10_000, 9_999]);
    },
  );

  test('a client that is closed twice leaves once: the stricter plan of one that is open still counts', () => {
    const baseUrl = freshAddress();
    scriptedClient([], { baseUrl, plan: { requestsPerMinute: 5 } });
    const { client } = scriptedClient([], { baseUrl });
    client.close();
    client.close();
    expect(scriptedClient([], { baseUrl, plan: 'pro' }).client.quota.minute.limit).toBe(5);
  });

  test('a call of the second is refused at once while the first knows of a wait of hours', async () => {
    const baseUrl = freshAddress();
    const { client } = scriptedClient([() => refusal('7200')], { baseUrl, maxRetries: 0 });
    const first = rejectionOf(client.listInventory());
    await pass(10);
    const other = new PetStoreClient({ apiKey: KEY, baseUrl });
    await expect(rejectionOf(other.listInventory())).resolves.toMatchObject({ kind: 'rate-limit', status: undefined, attempts: 0 });
    await expect(first).resolves.toBeInstanceOf(RateLimitError);
  });
});

describe('A key that is refused', () => {
  test('costs one request for each call: a 401 is not retried', async () => {
    const { client, seen } = scriptedClient([() => Response.json({}, { status: 401 })]);
    const failures = [1, 2, 3].map(() => rejectionOf(client.listInventory()));
    await pass(1_000);
    await Promise.all(failures);
    expect(seen).toHaveLength(3);
  });
});

describe('The process', () => {
  const source = new URL('../../../src/', import.meta.url).href;
  const script = (then: string) => `
    const { Gate } = await import('${source}quota/gate/gate.ts');
    const { Call } = await import('${source}call.ts');
    const { Emitter } = await import('${source}events.ts');
    const { CALL_DEFAULTS } = await import('${source}options/call-options.ts');
    const call = () => new Call({ id: 1, operation: 'listInventory', options: CALL_DEFAULTS, emitter: new Emitter() });
    const gate = new Gate({ plan: undefined, concurrency: 64, share: 1 });
    const limits = gate.limitsOf({ concurrency: 64, share: 1 });
    const permit = await gate.enter(call(), limits);
    permit.observe({ status: 429, receivedAtMs: Date.now(), retryAfterMs: 30 });
    permit.release();
    ${then}`;
  const run = (then: string) =>
    execFileSync(process.execPath, ['--no-warnings', '--input-type=module', '--eval', script(then)], { encoding: 'utf8', timeout: 60_000 });

  test('exits when nothing is left to do, even if the gate is closed', () => {
    expect(run(`console.log('end')`)).toBe('end\n');
  });

  test('stays while a call waits', () => {
    expect(run(`gate.enter(call(), limits).then(() => console.log('admitted'))`)).toBe('admitted\n');
  });
});
