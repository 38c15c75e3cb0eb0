import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../../src/contract/limits.ts';
import { POLICIES } from '../../../src/sandbox/windows.ts';
import { FUZZ } from '../../support/fuzz.ts';
import { mostWithin, play } from './model.ts';

const NOON_MS = Date.parse('2026-11-21T12:00:00Z');

const worlds = fc.record({
  policy: fc.constantFrom(...POLICIES.filter((policy) => policy !== 'sliding-counter')),
  plan: fc.record({ requestsPerMinute: fc.integer({ min: 2, max: 60 }), requestsPerDay: fc.constant(10_000) }),
  calls: fc.integer({ min: 1, max: 150 }),
  startMs: fc.integer({ min: 0, max: 60_000 }).map((ms) => NOON_MS + ms),
  skewMs: fc.integer({ min: -200_000_000, max: 200_000_000 }),
  delaysMs: fc.array(fc.integer({ min: 1, max: 3_000 }), { minLength: 1, maxLength: 30 }),
});
/** Answers come within a second: if they took longer, a second probe would be sent. */
const quick = fc.array(fc.integer({ min: 1, max: 490 }), { minLength: 1, maxLength: 30 });
const windows = fc
  .record({ world: worlds, policy: fc.constantFrom(...POLICIES.slice(0, 3)), delaysMs: quick })
  .map(({ world, ...rest }) => ({ ...world, ...rest }));

const DRAWN = 300;

/** The same worlds in every run. */
function drawn<Drawn>(of: fc.Arbitrary<Drawn>): Drawn[] {
  return fc.sample(of, { seed: 20_261_122, numRuns: DRAWN });
}

/** The time that a perfectly informed client would need at most, and a little for probes and answers. */
function fairMs(calls: number, perMinute: number, slowestMs: number): number {
  return (Math.ceil(calls / perMinute) + 1) * (60_000 + 10 * slowestMs + 3_000);
}

describe('Ledger, alone on its key,', () => {
  test('meets no 429 on windows in 99 of 100 worlds, whatever the clocks, delays and order of answers are', () => {
    const refused = drawn(windows).filter((world) => play(world).refusals.length > 0);
    expect(refused.length).toBeLessThanOrEqual(DRAWN / 100);
  });

  test('meets few 429s on windows that turn as a whole even when answers take seconds', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const plan = { requestsPerMinute: world.plan.requestsPerMinute + 20 };
        const { refusals, passages } = play({ ...world, plan, policy: world.policy === 'fixed-clock' ? 'fixed-clock' : 'fixed-first' });
        expect(refusals.length).toBeLessThanOrEqual(1 + passages.length / 5);
      }),
      FUZZ,
    );
  });

  test('meets at most one 429 on a token bucket in 99 of 100 worlds', () => {
    const stories = drawn(worlds).map((world) => play({ ...world, policy: 'token-bucket' }));
    expect(stories.filter(({ refusals }) => refusals.length > 1).length).toBeLessThanOrEqual(DRAWN / 100);
  });

  test('meets at most two 429s on a weighted counter, which can be recognized only at its first turn', () => {
    const counters = worlds.map((world) => ({
      ...world,
      delaysMs: world.delaysMs.map((ms) => ms / 10),
      policy: 'sliding-counter' as const,
    }));
    const stories = drawn(counters).map(play);
    expect(stories.filter(({ unfinished }) => unfinished > 0)).toEqual([]);
    expect(stories.filter(({ refusals }) => refusals.length > 2).length).toBeLessThanOrEqual(DRAWN / 100);
  });

  test('lets every call go, in 99 of 100 worlds in about the time that the plan allows', () => {
    const slow = drawn(worlds).filter((world) => {
      const { unfinished, tookMs } = play(world);
      expect(unfinished).toBe(0);
      return tookMs > fairMs(world.calls, world.plan.requestsPerMinute, Math.max(...world.delaysMs));
    });
    expect(slow.length).toBeLessThanOrEqual(DRAWN / 100);
  });

  test('learns the plan from the headers, in 99 of 100 worlds without a 429', () => {
    const stories = drawn(windows.map((world) => ({ ...world, told: undefined }))).map(play);
    expect(stories.filter(({ unfinished }) => unfinished > 0)).toEqual([]);
    expect(stories.filter(({ refusals }) => refusals.length > 0).length).toBeLessThanOrEqual(DRAWN / 100);
  });

  test('sends at most twice its share in any minute, wherever the windows turn', () => {
    fc.assert(
      fc.property(windows, fc.constantFrom(0.3, 0.5, 0.7), (world, share) => {
        const { passages } = play({ ...world, share });
        const most = mostWithin(
          50_000,
          passages.map(({ sentAtMs }) => sentAtMs),
        );
        expect(most).toBeLessThanOrEqual(2 * Math.max(1, Math.floor(world.plan.requestsPerMinute * share)));
      }),
      FUZZ,
    );
  });

  test('sends no more than its share of the plan in any minute of the server', () => {
    fc.assert(
      fc.property(worlds, fc.constantFrom(0.3, 0.5, 0.7), (world, share) => {
        const { passages } = play({ ...world, policy: 'fixed-clock', share });
        const minutes = passages.map(({ arrivedAtMs }) => Math.floor(arrivedAtMs / 60_000));
        const most = Math.max(...Object.values(Object.groupBy(minutes, String)).map((each) => each?.length ?? 0));
        expect(most).toBeLessThanOrEqual(Math.max(1, Math.floor(world.plan.requestsPerMinute * share)) + slack(world.delaysMs));
      }),
      FUZZ,
    );
  });
});

/** Requests that one window sent may arrive in the next one. */
function slack(delaysMs: readonly number[]): number {
  return Math.max(...delaysMs) > 0 ? 8 : 0;
}

describe('Ledger, when answers are lost,', () => {
  test('meets a 429 for four requests at most in 99 of 100 worlds, and lets every call go', () => {
    const lost = fc.array(fc.boolean(), { minLength: 4, maxLength: 40 }).filter((each) => each.includes(false));
    const stories = drawn(fc.record({ world: windows, fates: lost })).map(({ world, fates }) =>
      play({ ...world, isLost: (n) => fates[n % fates.length] ?? false }),
    );
    expect(stories.filter(({ unfinished }) => unfinished > 0)).toEqual([]);
    expect(stories.filter(({ refusals, passages }) => refusals.length > passages.length / 4).length).toBeLessThanOrEqual(DRAWN / 100);
  });
});

describe('Ledger, with another user on its key,', () => {
  const others = fc.array(fc.integer({ min: 0, max: 600_000 }), { maxLength: 200 });

  test('never sends before the instant that a 429 named, and lets every call go', () => {
    fc.assert(
      fc.property(worlds, others, (world, othersMs) => {
        expect(play({ ...world, othersMs })).toMatchObject({ early: 0, unfinished: 0 });
      }),
      FUZZ,
    );
  });
});

describe('Ledger, with senseless headers,', () => {
  const text = fc.string({ maxLength: 20 }).map((any) => any.replace(/[^\x20-\x7e]/g, ''));
  const value = fc.oneof(
    text,
    fc.nat().map(String),
    fc.constantFrom('0', '-1', '1e9', 'NaN', 'Infinity', '9'.repeat(15), '', '60, 60', '1.5'),
    fc.integer({ min: 0, max: 100_000 }).map((s) => String(Math.floor(NOON_MS / 1000) + s)),
    fc.integer({ min: 0, max: 100_000_000 }).map((ms) => String(NOON_MS + ms)),
    fc.integer({ min: -1e9, max: 1e9 }).map((s) => new Date(NOON_MS + s * 1000).toUTCString()),
  );
  const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'date'];
  // A valid Retry-After is waited for, however long it is.
  const retryAfter = fc.oneof(
    text.filter((any) => !/\d/.test(any)),
    fc.nat({ max: 100 }).map(String),
    fc.constant('-5'),
  );
  const nonsense = fc
    .tuple(fc.dictionary(fc.constantFrom(...names), value), retryAfter)
    .map(([headers, wait]) => ({ ...headers, 'retry-after': wait }));
  // A distant Reset makes a Limit that of the day: with a limit of 1 a day, the calls take as many days as there are calls.
  const DAYS = 200;
  // A Limit of the day so large that its Remaining seems to show billions of requests by others: nothing was sent when the day was over.
  const manyOthers = {
    world: {
      policy: 'fixed-clock',
      plan: { requestsPerMinute: 12, requestsPerDay: 10_000 },
      calls: 16,
      startMs: NOON_MS,
      skewMs: 0,
      delaysMs: [1000, 1002, 1],
    },
    headers: [
      { 'retry-after': '0' },
      { 'x-ratelimit-reset': String(NOON_MS), 'retry-after': '0' },
      {
        'x-ratelimit-limit': String(NOON_MS),
        'x-ratelimit-remaining': '11',
        'x-ratelimit-reset': String(NOON_MS + 184_614),
        'retry-after': '',
      },
      { 'retry-after': '0' },
      { 'x-ratelimit-limit': '15', 'x-ratelimit-reset': String(NOON_MS + 186_114), 'retry-after': '' },
      { 'retry-after': '0' },
    ],
  } as const;

  test('does not throw, lets every call end and sends no more than twice the plan in any minute', () => {
    fc.assert(
      fc.property(worlds, fc.array(nonsense, { minLength: 1, maxLength: 10 }), (world, headers) => {
        const { unfinished, passages } = play({
          ...world,
          horizonMs: DAYS * 86_400_000,
          disturb: (honest, n) => readAnswer(honest.status, new Headers(headers[n % headers.length]), honest.receivedAtMs),
        });
        const most = mostWithin(
          50_000,
          passages.map(({ sentAtMs }) => sentAtMs),
        );
        expect({ unfinished, isWithinPlan: most <= 2 * world.plan.requestsPerMinute || most }).toEqual({
          unfinished: 0,
          isWithinPlan: true,
        });
      }),
      { ...FUZZ, examples: [[{ ...manyOthers.world, delaysMs: [...manyOthers.world.delaysMs] }, [...manyOthers.headers]]] },
    );
  });

  test('keeps to the plan in every rolling minute if it cannot read them at all', () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const bare = play({ ...world, disturb: ({ status, receivedAtMs }) => ({ status, receivedAtMs }) });
        const most = mostWithin(
          60_000,
          bare.passages.map(({ sentAtMs }) => sentAtMs),
        );
        expect({ unfinished: bare.unfinished, isWithinPlan: most <= world.plan.requestsPerMinute }).toEqual({
          unfinished: 0,
          isWithinPlan: true,
        });
      }),
      FUZZ,
    );
  });
});
