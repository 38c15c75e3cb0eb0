import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
import { freshAddress } from '../../support/client.ts';
import { holdTime } from '../../support/time.ts';

holdTime();

const FIVE = { requestsPerMinute: 5, requestsPerDay: 7_200 };

/** Makes calls at once on a key for five requests a minute, and gives how each has ended after ten minutes. */
async function endsOf(calls: number, service: SandboxOptions, options: PetStoreClientOptions): Promise<string[]> {
  const { keys, baseUrl, fetch } = createSandbox({ plans: { five: FIVE }, latency: 40, ...service });
  const petstore = new PetStoreClient({ apiKey: keys.five, baseUrl, fetch, maxWaitMs: 3_600_000, ...options });
  const ends = Array.from({ length: calls }, () => 'waits');
  ends.forEach((_, call) => {
    const note = (end: string) => () => {
      ends[call] = end;
    };
    petstore.listInventory().then(note('done'), note('failed'));
  });
  await vi.advanceTimersByTimeAsync(600_000);
  return ends;
}

test('every call of a client with `plan: "unlimited"` ends on a token bucket, without a timer that fires all the time', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  const ends = await endsOf(8, { policy: 'token-bucket' }, { plan: 'unlimited' });
  expect(ends).toEqual(Array.from({ length: 8 }, () => 'done'));
  expect(timers.mock.calls.length).toBeLessThan(200);
});

const SOME_WITHOUT_LIMITS = {
  rate: 0.2,
  headers: { 'x-ratelimit-limit': null, 'x-ratelimit-remaining': null, 'x-ratelimit-reset': null },
};

test.each(Array.from({ length: 24 }, (_, n) => n + 1))(
  'every call of a client that has sent more than the limit that it learns later ends (seed %i)',
  async (seed) => {
    const ends = await endsOf(9, { policy: 'token-bucket', seed, faults: [SOME_WITHOUT_LIMITS] }, {});
    expect(ends).toEqual(Array.from({ length: 9 }, () => 'done'));
  },
);

const HOUR_MS = 3_600_000;

/** Headers of an answer that is given now. */
function headersNow(limit: number, remaining: number, endsInMs = 60_000): Record<string, string> {
  const endsAt = Math.ceil((Date.now() + endsInMs) / 1000);
  const date = new Date().toUTCString();
  return { date, 'x-ratelimit-limit': `${limit}`, 'x-ratelimit-remaining': `${remaining}`, 'x-ratelimit-reset': `${endsAt}` };
}

describe('the day of a plan', () => {
  /** Gives how many of some calls, one every 30 seconds, succeed. */
  const succeeding = async (client: PetStoreClient, calls: number) => {
    let succeeded = 0;
    for (let n = 0; n < calls; n++) {
      client.listInventory().then(
        () => succeeded++,
        () => {},
      );
      await vi.advanceTimersByTimeAsync(30_000);
    }
    return succeeded;
  };
  const clientOf = (plan: PetStoreClientOptions['plan'], answer: (request: number, path: string) => Response) => {
    let requests = 0;
    const fetch = async (input: string | URL | Request) => answer(++requests, String(input));
    return new PetStoreClient({ apiKey: 'key', baseUrl: freshAddress(), plan, fetch });
  };
  const refusal = (retryAfter: string) => new Response(null, { status: 429, headers: { 'retry-after': retryAfter } });

  test('does not count as used up after two refusals in a row that ask for minutes', async () => {
    const client = clientOf('business', (request) =>
      request === 40 || request === 41 ? refusal('180') : new Response('[]', { headers: headersNow(1_000, 990) }),
    );
    await succeeding(client, 60);
    expect(await succeeding(client, 120)).toBe(120);
  });

  test('is tried again within hours after refusals with some good answers between them', async () => {
    const refused = new Set([40, 44, 48]);
    const client = clientOf('business', (request) =>
      refused.has(request) ? refusal('600') : new Response('[]', { headers: headersNow(1_000, 990) }),
    );
    await succeeding(client, 120);
    expect(await succeeding(client, 240)).toBeGreaterThan(120);
  });

  test('is not that of the minute whose Reset only seems far away, since one answer has an old Date', async () => {
    const anHourAgo = () => new Date(Date.now() - HOUR_MS).toUTCString();
    const client = clientOf(
      'free',
      (request) => new Response('[]', { headers: { ...headersNow(60, 50), ...(request === 2 && { date: anHourAgo() }) } }),
    );
    await succeeding(client, 3);
    expect(client.quota.day.limit).toBe(1_000);
    expect(await succeeding(client, 100)).toBe(100);
  });

  test('has its own Limit even if that of the minute is the same number, as on a plan that is too large', async () => {
    const client = clientOf('business', () => new Response('[]', { headers: headersNow(1_000, 10, 14 * HOUR_MS) }));
    await succeeding(client, 2);
    expect([client.quota.minute.limit, client.quota.day.limit]).toEqual([1_000, 1_000]);
    expect(client.quota.day.remaining).toBeLessThanOrEqual(10);
  });

  test('is not that of a minute if every Date is a minute behind its Reset', async () => {
    const behind = () => new Date(Date.now() - 65_000).toUTCString();
    const endsAt = () => `${(Math.floor(Date.now() / 60_000) + 1) * 60}`;
    let used = { minute: '', requests: 0 };
    const client = clientOf('free', () => {
      used = { minute: endsAt(), requests: used.minute === endsAt() ? used.requests + 1 : 1 };
      const headers = { ...headersNow(60, 60 - used.requests), 'x-ratelimit-reset': endsAt(), date: behind() };
      return new Response('[]', { headers });
    });
    expect(await succeeding(client, 100)).toBe(100);
    expect(client.quota.day.limit).not.toBe(60);
  });

  test.each(['pro', undefined] as const)('has the limit of another endpoint only until that one resets (plan %s)', async (plan) => {
    const client = clientOf(plan, (_request, path) => {
      const headers = path.endsWith('orders') ? headersNow(20, 19, HOUR_MS) : headersNow(300, 290);
      return new Response('[]', { headers });
    });
    await (await client.fetch('/store/orders')).text();
    expect(client.quota.day.limit).toBe(20);
    await vi.advanceTimersByTimeAsync(HOUR_MS + 60_000);
    expect(await succeeding(client, 100)).toBe(100);
    expect(client.quota.day.limit).toBe(10_000);
  });
});

describe('a plan that is larger than what the headers say', () => {
  const warningsOf = async (service: SandboxOptions, options: PetStoreClientOptions) => {
    const { keys, baseUrl, fetch } = createSandbox({ plans: { five: FIVE }, latency: 40, ...service });
    const warn = vi.fn();
    const logger = { debug: () => {}, info: () => {}, warn, error: () => {} };
    const clients = [1, 2].map(() => new PetStoreClient({ apiKey: keys.five, baseUrl, fetch, logger, ...options }));
    const all = Promise.all([...clients, ...clients].map((client) => client.listInventory()));
    await vi.advanceTimersByTimeAsync(2_000);
    await all;
    return warn.mock.calls.flat();
  };

  test('is warned about once for each key', async () => {
    const warnings = await warningsOf({}, { plan: 'pro' });
    expect(warnings).toEqual([expect.stringContaining('plan says 300 requests a minute, the service says 5: the smaller counts')]);
  });

  test('is warned about again by a client that is made after all others were closed', async () => {
    const { keys, baseUrl, fetch } = createSandbox({ plans: { five: FIVE } });
    const warned: string[] = [];
    for (const name of ['first', 'second']) {
      const logger = { debug: () => {}, info: () => {}, warn: () => void warned.push(name), error: () => {} };
      const client = new PetStoreClient({ apiKey: keys.five, baseUrl, fetch, logger, plan: 'pro' });
      for (let call = 0; call < 2; call++) await Promise.all([client.listInventory(), vi.advanceTimersByTimeAsync(1_000)]);
      client.close();
    }
    expect(warned).toEqual(['first', 'second']);
  });

  test.each([
    ['is the same', FIVE],
    ['is smaller', { requestsPerMinute: 4 }],
    ['has no limit', 'unlimited'],
    ['is left to the headers', undefined],
  ] as const)('is not warned about if it %s', async (_what, plan) => {
    expect(await warningsOf({}, { plan })).toEqual([]);
  });

  test('is named as a whole, even if the client uses a share of it', async () => {
    const warnings = await warningsOf({}, { plan: { requestsPerMinute: 300 }, share: 0.5 });
    expect(warnings).toEqual([expect.stringContaining('plan says 300 requests a minute, the service says 5')]);
  });
});
