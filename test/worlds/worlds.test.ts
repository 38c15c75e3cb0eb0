import { createSandbox } from 'petstore-inventory/sandbox';
import { afterAll, describe, expect, test } from 'vitest';
import { compareInWorlds, tableOf } from './compare.ts';
import { drawWorld } from './draw.ts';
import { faultsOf, hardFaultsOf, summarize } from './judge.ts';
import { idealMs } from './oracle.ts';
import { Player } from './play.ts';
import { playWorlds, rerunOf } from './play-worlds.ts';
import { RetryAfterWatch } from './retry-after-watch.ts';
import { World } from './world.ts';

const player = new Player();
afterAll(() => player.close());

const START_MS = Date.parse('2026-11-21T10:00:45Z');

/** A world without anything odd. */
function plainWorld(changes: Partial<World> = {}): World {
  const rest = { odd: [], clientAheadMs: 0, spent: 0, clients: 1, aborted: 0, low: 0, lists: 0, missing: 0, client: {} };
  const load = { kind: 'burst', calls: 5 } as const;
  return { seed: 1, plan: { requestsPerMinute: 2 }, startsAtMs: START_MS, service: { latency: 100 }, load, ...rest, ...changes };
}

test('in 300 random worlds calls settle, no wait is cut short, and refusals, bans and lost time stay within limits', async () => {
  const outcomes = await playWorlds(player, { first: 1, last: 300 });
  const broken = outcomes.filter((outcome) => hardFaultsOf(outcome).length > 0).map(rerunOf);
  const { lines, isGood } = summarize(outcomes);
  const odd = outcomes.filter((outcome) => faultsOf(outcome).length > 0).map(rerunOf);
  expect(broken, broken.join('\n')).toEqual([]);
  expect(isGood, [...lines, ...odd].join('\n')).toBe(true);
});

test('of several clients that wait and retry, this one gets the fewest 429s, and all complete their calls if no key is banned', async () => {
  const fared = await compareInWorlds(player, { first: 1, last: 6 });
  const refusals = fared.map(({ outcomes }) => outcomes.reduce((total, { rateLimited }) => total + rateLimited, 0));
  const [ours = Number.NaN, ...others] = refusals;
  expect(Math.min(...others)).toBeGreaterThan(ours);
  expect(fared.map(({ withoutBans }) => withoutBans.flatMap(({ failed }) => failed))).toEqual([[], [], [], []]);
  const { table, timed } = tableOf(fared);
  expect(timed).toBeGreaterThan(3);
  expect(table.split('\n').map((line) => line.split('|')[1]?.trim())).toEqual(['', '---', ...fared.map(({ name }) => name)]);
});

describe('a world', () => {
  test('is the same for the same seed, and ends the same when it is read from its JSON', async () => {
    const world = drawWorld(42);
    const first = await player.play(world);
    const again = await player.play(World.parse(JSON.parse(JSON.stringify(drawWorld(42)))));
    expect(first.ledger.length).toBeGreaterThan(0);
    expect(again.ledger).toEqual(first.ledger);
  });

  test('is played to its end, and judged by what the service saw', async () => {
    const { ending, early, bans, rateLimited, failed, slowness, ledger } = await player.play(plainWorld());
    expect({ ending, early, bans, rateLimited, failed }).toEqual({ ending: 'done', early: 0, bans: 0, rateLimited: 0, failed: [] });
    expect(ledger).toHaveLength(5);
    expect(ledger[0]).toBe('    0.050 s  200  PATCH /inventory/2');
    expect(slowness).toBeCloseTo(1, 1);
  });

  test('whose calls never get an answer is reported as one that never settled', async () => {
    const stalled = plainWorld({ service: { faults: [{ fail: 'stall' }] }, client: { attemptTimeoutMs: 2 ** 31 - 1, maxRetries: 0 } });
    const outcome = await player.play(stalled);
    expect(faultsOf(outcome)).toEqual(['calls hung']);
    expect(rerunOf(outcome)).toContain(`npm run worlds -- --world '{"seed":1,`);
  });

  test('with a key that others have got banned fails the summary', async () => {
    const banned = plainWorld({
      service: { ban: { after: 0, forMs: 60_000 } },
      plan: { requestsPerMinute: 1 },
      spent: 1,
      other: { perMinute: 60, atOnce: 5 },
    });
    const outcome = await player.play(banned);
    expect(faultsOf(outcome)).toContain(`banned ${outcome.bans} times`);
    expect(summarize([outcome]).isGood).toBe(false);
  });
});

describe('idealMs', () => {
  test('makes each request as soon as the service admits it', () => {
    expect(idealMs(plainWorld(), { requests: 5, othersAtMs: [] })).toBe(75_050);
  });

  test('counts the requests of others in between', () => {
    expect(idealMs(plainWorld(), { requests: 2, othersAtMs: [START_MS, START_MS + 15_000, START_MS + 15_000] })).toBe(75_050);
  });

  test("keeps to the client's plan, share and concurrency", () => {
    const plan = { requestsPerMinute: 100 };
    const burst = { requests: 5, othersAtMs: [] };
    expect(idealMs(plainWorld({ plan }), burst)).toBe(100);
    expect(idealMs(plainWorld({ plan, client: { concurrency: 2 } }), burst)).toBe(300);
    expect(idealMs(plainWorld({ plan, client: { share: 0.02 } }), burst)).toBe(75_050);
    expect(idealMs(plainWorld({ plan, client: { plan: { requestsPerMinute: 2 } } }), burst)).toBe(75_050);
  });

  test('waits for calls that come later', () => {
    const plan = { requestsPerMinute: 100 };
    const steady = { kind: 'steady', calls: 5, everyMs: 1_000 } as const;
    const bursts = { kind: 'bursts', calls: 5, bursts: 2, pauseMs: 7_000 } as const;
    expect(idealMs(plainWorld({ plan, load: steady }), { requests: 5, othersAtMs: [] })).toBe(4_100);
    expect(idealMs(plainWorld({ plan, load: bursts }), { requests: 5, othersAtMs: [] })).toBe(7_100);
  });
});

test('RetryAfterWatch counts requests that are sent before the wait is over, and none after it', async () => {
  let nowMs = START_MS;
  const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1 } }, clock: () => nowMs });
  const watch = new RetryAfterWatch({ sandbox, serviceNow: () => nowMs });
  const ask = () => watch.fetch(`${sandbox.baseUrl}/inventory`, { headers: { authorization: `Bearer ${sandbox.keys.free}` } });
  const counts: number[] = [];
  const askAfter = async (ms: number) => {
    nowMs += ms;
    await ask();
    counts.push(watch.early);
  };
  await askAfter(0);
  await askAfter(0);
  await askAfter(14_999);
  await askAfter(1_000);
  expect(counts).toEqual([0, 0, 1, 1]);
});
