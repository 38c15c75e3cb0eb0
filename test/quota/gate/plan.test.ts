import { PetStoreClient, type PetStoreClientOptions } from 'petstore-inventory';
import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test, vi } from 'vitest';
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
