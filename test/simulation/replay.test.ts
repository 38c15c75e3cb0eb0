import { describe, expect, test } from 'vitest';
import type { PetStoreClient } from '../../src/index.ts';
import type { SandboxOptions } from '../../src/sandbox/index.ts';
import { ownWorkMs } from '../support/own-work.ts';
import { VirtualTime } from '../worlds/virtual-time.ts';
import { compare, figuresOf } from './compare.ts';
import { type Incident, mostAtOnce, readIncident, recordIncident, statusesOf } from './record-incident.ts';
import { RecordedService } from './recorded-service.ts';
import type { Recording } from './recording.ts';
import { type Replayed, replay, type Settings } from './replay.ts';

/** What was then, and its replay. */
async function playAgain(incident: Incident, settings?: Settings): Promise<{ then: Recording; again: Replayed }> {
  const then = readIncident(await recordIncident(incident));
  return { then, again: await replay(then, settings) };
}

async function lists(client: PetStoreClient, count: number): Promise<void> {
  for (let call = 0; call < count; call++) await client.listInventory();
}

async function batches(client: PetStoreClient): Promise<void> {
  for (let batch = 0; batch < 6; batch++) await Promise.all(Array.from({ length: 10 }, () => client.listInventory()));
}

describe('a replay of batches', () => {
  const slower = { plan: { requestsPerMinute: 20 } };

  test('has no more calls under way with a smaller plan than the recording', async () => {
    const { then, again } = await playAgain({ client: { plan: 'free' }, work: batches }, slower);
    expect([mostAtOnce(then), mostAtOnce(again.now)]).toEqual([10, 10]);
  });

  test('keeps them apart from other calls at the same time', async () => {
    const beside = (client: PetStoreClient) => Promise.all([batches(client), lists(client, 7)]);
    const { then, again } = await playAgain(
      { service: { latency: { fromMs: 30, toMs: 60 } }, client: { plan: 'free' }, work: beside },
      slower,
    );
    expect([mostAtOnce(then), mostAtOnce(again.now)]).toEqual([11, 11]);
  });

  test('has no more calls under way where workers take turns', async () => {
    const workers = (client: PetStoreClient) => Promise.all(Array.from({ length: 5 }, () => lists(client, 8)));
    const { then, again } = await playAgain(
      { service: { latency: { fromMs: 30, toMs: 60 } }, client: { plan: 'free' }, work: workers },
      slower,
    );
    expect([mostAtOnce(then), mostAtOnce(again.now)]).toEqual([5, 5]);
  });
});

describe('the requests of others', () => {
  const alone = (service: SandboxOptions): Incident => ({ service, client: { plan: 'free' }, work: (client) => lists(client, 5) });
  const remainingOf = ({ requests }: Recording) => requests.flatMap(({ rateLimit }) => rateLimit?.remaining ?? []);
  const uncounted = { counting: { uncounted: [503] } };

  test.each([
    ['one failure', { faults: [{ at: 3, status: 503 }] }],
    ['one failure without limit headers', { faults: [{ at: 3, status: 503, headers: { 'x-ratelimit-remaining': null } }] }],
    ['answers that get lost', { faults: [{ at: [2, 4], fail: 'lost' }] }],
    ['connections that break before the service counts', { faults: [{ at: [2, 4], fail: 'reset' }] }],
    ['failures that cost no quota', { ...uncounted, faults: [{ at: [3, 4], status: 503 }] }],
    ['failures that cost no quota, by a sliding log', { ...uncounted, policy: 'sliding-log', faults: [{ at: [3, 4], status: 503 }] }],
    ['failures, by a sliding log', { policy: 'sliding-log', faults: [{ at: [3, 4], status: 503 }] }],
  ] satisfies [string, SandboxOptions][])('are none where a client alone meets %s', async (_, service) => {
    const { then, again } = await playAgain(alone(service));
    expect(again.service.others).toEqual([]);
    expect(remainingOf(again.now).at(-1)).toBe(remainingOf(then).at(-1));
  });

  test('are none where a client alone meets an outage', async () => {
    const { then, again } = await playAgain(alone({ faults: [{ at: [3, 4, 5, 6], status: 503 }] }));
    expect([again.service.others, again.service.failures.size]).toEqual([[], 4]);
    expect(compare(then, again)).toContain('counted as fixed-clock, 4 of the failed requests counted, 0 requests of others');
  });

  test.each([
    ['counts', {}],
    ['does not count', { counting: { uncounted: [429] } }],
  ] satisfies [string, SandboxOptions][])(
    'are none where a 429 that the service %s says itself that quota is left, and it comes again',
    async (_, service) => {
      const { then, again } = await playAgain(alone({ ...service, faults: [{ at: 3, status: 429, headers: { 'retry-after': '2' } }] }));
      expect(again.service.others).toEqual([]);
      expect([statusesOf(then)[2], statusesOf(again.now)]).toEqual([[429, 200], statusesOf(then)]);
    },
  );

  test('are those that neither calls nor failures of the client explain', async () => {
    const { again } = await playAgain({
      service: { faults: [{ at: 3, status: 503 }] },
      client: { plan: 'free' },
      work: async (client, { sandbox }) => {
        await lists(client, 3);
        const headers = { authorization: `Bearer ${sandbox.keys.free}` };
        await Promise.all([1, 2, 3].map(() => sandbox.fetch(`${sandbox.baseUrl}/inventory`, { headers })));
        await lists(client, 2);
      },
    });
    expect(again.service.others.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  });
});

test('compare() names a share of low priority as --share takes it', async () => {
  const { then, again } = await playAgain({ work: (client) => lists(client, 1) }, { share: { low: 0.5 } });
  expect(compare(then, again)).toContain('with share low:0.5\n');
});

test('compare() speaks of one call', async () => {
  const { then, again } = await playAgain({ work: (client) => lists(client, 1) });
  expect(compare(then, again)).toMatch(/^1 call, recorded by version /);
});

test('RecordedService does not look at the whole recording for each answer, since a long one would take minutes', async () => {
  const { then } = await playAgain({ service: { latency: 0, date: false, limitHeaders: { rate: 0 } }, work: (client) => lists(client, 1) });
  const requests = Array.from({ length: 100_000 }, () => then.requests).flat();
  const service = new RecordedService({ ...then, requests }, new VirtualTime());
  const beganMs = ownWorkMs();

  await Promise.all(Array.from({ length: 1_000 }, () => service.fetch('https://recorded.example/v1/inventory')));

  expect(ownWorkMs() - beganMs).toBeLessThan(2_000);
});

describe('a replay with an unchanged plan', () => {
  test.each(['cut', 'malformed', 'stall-body'] as const)('repeats a body that breaks: %s', async (fail) => {
    const { then, again } = await playAgain({
      service: { faults: [{ at: 2, fail }] },
      client: { plan: 'free', attemptTimeoutMs: 5_000 },
      work: (client) => Promise.allSettled([lists(client, 3)]),
    });
    expect(statusesOf(then)[1]?.[0]).toBe(200);
    expect(statusesOf(again.now)).toEqual(statusesOf(then));
    expect(figuresOf(again.now)).toEqual({ ...figuresOf(then), longestCallMs: expect.any(Number), tookMs: expect.any(Number) });
  });

  test.each([
    ['one request', [2], 3],
    ['an outage', [3, 4, 5, 6], 7],
  ])('leaves %s that a call gave up without an answer', async (_, at, count) => {
    const { then, again } = await playAgain({
      service: { faults: [{ at, fail: 'stall' }] },
      client: { plan: 'free' },
      work: async (client, { time }) => {
        for (let call = 0; call < count; call++) {
          const leave = new AbortController();
          void time.wait(500).then(() => leave.abort());
          await client.listInventory({ signal: leave.signal }).catch(() => {});
        }
      },
    });
    expect(figuresOf(then)).toMatchObject({ unanswered: at.length, succeeded: count - at.length });
    expect(figuresOf(again.now)).toMatchObject({ unanswered: at.length, succeeded: count - at.length, callsFailed: at.length });
    expect(figuresOf(again.now).longestCallMs).toBe(figuresOf(then).longestCallMs);
  });

  const endsOf = ({ calls }: Recording) => calls.map(({ settled, requests }) => [settled?.kind ?? settled?.outcome, requests.length]);

  test('does not retry a request by fetch() that was not retried, and retries one that was', async () => {
    const { then, again } = await playAgain({
      service: { faults: [{ at: [2, 4], status: 503 }] },
      client: { plan: 'free' },
      work: async (client) => {
        for (const method of ['GET', 'POST', 'GET', 'GET']) await (await client.fetch('/inventory', { method })).text();
      },
    });
    expect(endsOf(then).map(([, requests]) => requests)).toEqual([1, 1, 1, 2]);
    expect(endsOf(again.now)).toEqual(endsOf(then));
  });

  test('repeats a 501 in the call that met it, even if a smaller plan makes others come later', async () => {
    const work = async (client: PetStoreClient) => {
      await lists(client, 3);
      await client.fetch('/pets/1');
      await lists(client, 1);
    };
    const { again } = await playAgain({ client: { plan: 'free' }, work }, { plan: { requestsPerMinute: 2 } });
    expect(statusesOf(again.now)).toEqual([[200], [200], [200], [501], [200]]);
  });

  test('repeats an answer that may have no body', async () => {
    const { then, again } = await playAgain({
      service: { faults: [{ at: 2, status: 304 }] },
      client: { plan: 'free' },
      work: async (client) => {
        for (let call = 0; call < 3; call++) await (await client.fetch('/inventory')).text();
      },
    });
    expect(statusesOf(then)).toEqual([[200], [304], [200]]);
    expect(statusesOf(again.now)).toEqual(statusesOf(then));
  });

  test('retries a call as often as it was retried', async () => {
    const { then, again } = await playAgain({
      service: { faults: [{ at: [2, 4, 5], status: 503 }] },
      client: { plan: 'free', maxRetries: 1 },
      work: async (client) => {
        await client.listInventory();
        await client.listInventory({ maxRetries: 0 }).catch(() => {});
        await client.listInventory();
        await client.listInventory().catch(() => {});
      },
    });
    expect(endsOf(then)).toEqual([
      ['succeeded', 1],
      ['server', 1],
      ['succeeded', 1],
      ['server', 2],
    ]);
    expect(endsOf(again.now)).toEqual(endsOf(then));
  });

  test.each([
    ['a Retry-After', { limitHeaders: { omit: ['limit', 'remaining', 'reset'] } }, 'business'],
    ['the end of the minute', {}, 'free'],
  ] satisfies [string, SandboxOptions, 'business' | 'free'][])('refuses calls that did not wait for %s', async (_, service, plan) => {
    const { then, again } = await playAgain({
      service,
      client: { plan, maxWaitMs: 4_000 },
      work: async (client, { time }) => {
        for (let call = 0; call < 90; call++) await Promise.all([client.listInventory().catch(() => {}), time.wait(500)]);
      },
    });
    expect(endsOf(then)).toContainEqual(['rate-limit', 0]);
    const expected = figuresOf(then);
    expect(figuresOf(again.now)).toEqual({ ...expected, longestCallMs: expect.closeTo(expected.longestCallMs, -1) });
  });
});
