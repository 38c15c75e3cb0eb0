import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Outcome, Simulator } from './play.ts';
import { shrink } from './shrink.ts';
import { drawStory, type Story } from './story.ts';

let simulator: Simulator;
beforeAll(async () => {
  simulator = await Simulator.load();
});
afterAll(() => simulator.close());

/** One process that does this, in a world where all goes well. */
function plainStory(process: Partial<Story['processes'][number]>, changes: Partial<Story> = {}): Story {
  const disk = { writeMs: 1, flushMs: 1, full: undefined };
  const own = { name: 'p1', clock: { aheadMs: 0, rate: 1, steps: [] }, disk, client: {}, crashes: [], acts: [] };
  return {
    seed: 1,
    startsAtMs: Date.parse('2026-11-21T10:00:00Z'),
    perMinute: 60,
    service: { policy: 'fixed-clock', ban: false },
    outages: [],
    failing: [],
    network: { seed: 1, latencyMs: 20, tail: 0, losses: 0, cuts: [] },
    store: undefined,
    processes: [{ ...own, view: { maxAgeMs: 'quota', maxStaleMs: 60_000 }, ...process }],
    ...changes,
  };
}

const ofSeed = (seed: number): Promise<Outcome> => simulator.play(drawStory(seed));

test('no promise is broken in the stories of 60 seeds', async () => {
  const wrong: string[] = [];
  for (let seed = 1; seed <= 60; seed++) {
    const { violations } = await ofSeed(seed);
    wrong.push(...violations.map(({ truth, what }) => `seed ${seed}: ${truth}: ${what}`));
  }
  expect(wrong).toEqual([]);
});

describe('a story', () => {
  test('has the same log, byte for byte, when it is played again', async () => {
    for (const seed of [5, 42, 303, 971]) {
      const { log } = await ofSeed(seed);
      expect(log.length).toBeGreaterThan(5);
      expect((await ofSeed(seed)).log).toEqual(log);
    }
  });

  test('has the same log in a fresh process', async () => {
    const { log } = await ofSeed(303);
    const path = new URL('run.ts', import.meta.url).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [path, '--lane', '0', '--lanes', '1', '--seeds', '303', '--log']);
    expect(stdout.trimEnd().split('\n')).toEqual(log);
  });

  test('continues after a crash: the process that follows finishes the job', async () => {
    const wanted = [
      { petId: 21, quantity: 3 },
      { petId: 22, adjust: -2 },
    ];
    const acts = [{ id: 1, atMs: 0, kind: 'job' as const, wanted, concurrency: 1 }];
    const { violations, log } = await simulator.play(plainStory({ acts, crashes: [{ atMs: 50, backAfterMs: 1_000, isPower: true }] }));
    expect(violations).toEqual([]);
    expect(log.join('\n')).toMatch(/loses its power.*p1 starts.*PATCH \/inventory\/22 8/s);
  });
});

test('shrink() keeps only what is needed to break the promise', async () => {
  const story = drawStory(301);
  const calls = story.processes.map((process) => ({
    ...process,
    client: { ...process.client, attemptTimeoutMs: 2 ** 31 - 1, maxRetries: 0 },
  }));
  const stalled = { ...story, service: { ...story.service, faults: [{ fail: 'stall' as const }] }, processes: calls };
  const smallest = await shrink(simulator, stalled, { truth: 'every call settles' });
  expect(smallest.processes).toHaveLength(1);
  expect(smallest.processes[0]?.acts).toHaveLength(1);
  expect((await simulator.play(smallest)).log.length).toBeLessThan(10);
});
