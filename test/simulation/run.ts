// Plays stories against the source, one for each seed, and prints those in which something was not as it must be, shrunk:
// npm run simulate -- [--seeds 1-300] [--story '{"seed":1,...}'] [--log] [--lanes 2] [--breaks] [--crashes small|all]
// Or explores all states of the rules of leases, and holds each exchange against a Redis where there is one:
// npm run simulate -- --leases small|all
// Or replays what a client recorded, with other settings where they are given:
// npm run simulate -- --recording incident.jsonl [--plan pro|300/10000] [--share 0.5] [--log]
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { Redis } from 'ioredis';
import { parsePlanLimits } from '../../src/options/client-options.ts';
import { exchangeLease } from '../../src/quota/lease/quota-record.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';
import { BREAKS } from './breaks.ts';
import { compare } from './compare.ts';
import { playCrashes } from './crash-matrix.ts';
import { ALL_SCOPES, type Explored, exploreLeases, SMALL_SCOPES } from './lease-states.ts';
import { type Outcome, Simulator } from './play.ts';
import { readRecording } from './recording.ts';
import { RedisRules } from './redis-rules.ts';
import { replay, type Settings } from './replay.ts';
import { shrink } from './shrink.ts';
import { drawStory, readStory, type Story } from './story.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-300' },
    story: { type: 'string' },
    log: { type: 'boolean', default: false },
    /** Puts known faults into the source, one at a time, and tells the seeds that find them. */
    breaks: { type: 'boolean', default: false },
    /** Kills jobs at every step in place of playing seeds. */
    crashes: { type: 'string' },
    /** Explores the rules of leases in place of playing seeds. */
    leases: { type: 'string' },
    /** A file of `recordCalls` or `--record`. */
    recording: { type: 'string' },
    /** What the client of the recording should have had. */
    plan: { type: 'string' },
    share: { type: 'string' },
    lanes: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    /** Given to the processes that play. */
    lane: { type: 'string' },
  },
});
const [first = 1, last = first] = values.seeds.split('-').map(Number);
const lanes = Math.min(Number(values.lanes), last - first + 1);
/** Stories that went wrong and are shrunk, in one lane; of others the seed is told. */
const MOST_SHRUNK = 3;

async function playLane(lane: number): Promise<number> {
  const simulator = await Simulator.load();
  let failed = 0;
  for (let seed = first + lane; seed <= last; seed += lanes) {
    const outcome = await simulator.play(drawStory(seed));
    if (values.log) console.log(outcome.log.join('\n'));
    if (outcome.violations.length === 0) continue;
    failed += 1;
    console.log(outcome.violations.map(({ truth, what }) => `seed ${seed}: ${truth}: ${what}`).join('\n'));
    if (failed <= MOST_SHRUNK && !values.log) await tellShrunk(simulator, outcome);
  }
  simulator.close();
  return failed;
}

/** The few lines that say what happened, and how to see all of them. */
async function tellShrunk(simulator: Simulator, { story, violations }: Outcome): Promise<void> {
  const truth = violations[0]?.truth ?? '';
  const smallest = await shrink(simulator, story, { truth });
  const { violations: left, log } = await simulator.play(smallest);
  console.log(`  the same in ${log.length} lines:`);
  console.log([...log.slice(0, 60), ...left.map(({ what }) => `     wrong  ${truth}: ${what}`)].map((line) => `  ${line}`).join('\n'));
  console.log(`  npm run simulate -- --log --story '${JSON.stringify(smallest)}'`);
}

async function playOne(story: Story): Promise<number> {
  const simulator = await Simulator.load();
  const { violations, log } = await simulator.play(story);
  simulator.close();
  console.log([...log, ...violations.map(({ truth, what }) => `    wrong  ${truth}: ${what}`)].join('\n'));
  return violations.length;
}

async function playAll(): Promise<number> {
  const startMs = performance.now();
  const children = Array.from({ length: lanes }, (_, lane) =>
    fork(new URL(import.meta.url), [...process.argv.slice(2), '--lane', String(lane)]),
  );
  // A lane that is killed has no code.
  const codes: unknown[] = await Promise.all(children.map(async (child) => (await once(child, 'exit'))[0]));
  const count = last - first + 1;
  const perMinute = Math.round((count * 60_000) / (performance.now() - startMs));
  const failed = codes.filter((code) => code !== 0).length;
  console.log(`${count} stories, ${perMinute} a minute, ${failed === 0 ? 'nothing was wrong' : 'see above what was wrong'}`);
  return failed;
}

async function playBroken(): Promise<number> {
  const found: boolean[] = [];
  for (const [name, fault] of Object.entries(BREAKS)) {
    const simulator = await Simulator.load(fault);
    const { seed, truth } = await firstWrong(simulator);
    simulator.close();
    console.log(truth === undefined ? `NOT FOUND  ${name}` : `seed ${String(seed).padStart(4)}  ${name}\n           found by: ${truth}`);
    found.push(truth !== undefined);
  }
  return found.filter((isFound) => !isFound).length;
}

async function firstWrong(simulator: Simulator): Promise<{ seed: number; truth: string | undefined }> {
  for (let seed = first; seed <= last; seed++) {
    const { violations } = await simulator.play(drawStory(seed));
    if (violations[0]) return { seed, truth: violations[0].truth };
  }
  return { seed: last, truth: undefined };
}

async function playMatrix(): Promise<number> {
  const simulator = await Simulator.load();
  const startMs = performance.now();
  const wrong = await playCrashes(simulator, { isWhole: values.crashes === 'all', tell: console.log });
  for (const outcome of wrong.slice(0, MOST_SHRUNK)) await tellShrunk(simulator, outcome);
  simulator.close();
  console.log(
    `${Math.round((performance.now() - startMs) / 1_000)} s, ${wrong.length === 0 ? 'nothing was wrong' : `${wrong.length} runs went wrong`}`,
  );
  return wrong.length;
}

async function exploreAll(): Promise<number> {
  const server = HAS_REDIS ? await RedisServer.start() : undefined;
  const client = server && new Redis(server.url);
  const redis = client && (await RedisRules.load(client));
  if (!redis) console.log('redis-server is not on the PATH: its script is not compared');
  let wrong = 0;
  for (const scope of values.leases === 'all' ? ALL_SCOPES : SMALL_SCOPES) {
    const explored = await exploreLeases(scope, {
      rules: exchangeLease,
      onExchange: async (exchange) => redis?.compare(exchange),
    });
    await redis?.flush();
    wrong += explored.wrong.length;
    console.log([describeExplored(explored), ...explored.wrong.map((what) => `  wrong  ${what}`)].join('\n'));
  }
  client?.disconnect();
  await server?.kill();
  const different = redis?.different ?? [];
  console.log(`${redis?.compared ?? 0} exchanges in Redis, ${different.length} differ`, ...different.slice(0, MOST_SHRUNK));
  return wrong + different.length;
}

function describeExplored({ scope, states, transitions, exchanges }: Explored): string {
  const { processes, limit, turns, knowsPlan } = scope;
  const of = `${processes} processes, limit ${limit}, ${turns} turns, ${knowsPlan ? 'plan given' : 'plan learned'}`;
  return `${of}: ${states} states, ${transitions} transitions, ${exchanges} exchanges`;
}

async function playRecording(path: string): Promise<number> {
  const then = readRecording(await readFile(path, 'utf8'), path);
  const replayed = await replay(then, settingsOf(values));
  console.log(values.log ? replayed.text.trimEnd() : compare(then, replayed));
  return 0;
}

function settingsOf({ plan, share }: { plan?: string; share?: string }): Settings {
  const named = (['free', 'pro', 'business', 'unlimited'] as const).find((name) => name === plan);
  const limits = plan === undefined ? undefined : (named ?? parsePlanLimits(plan));
  if (plan !== undefined && limits === undefined)
    throw new Error(`Cannot replay with --plan ${plan}: it must be a plan, or such as 300/10000`);
  return { ...(limits && { plan: limits }), ...(share !== undefined && { share: Number(share) }) };
}

async function play(): Promise<number> {
  if (values.recording !== undefined) return playRecording(values.recording);
  if (values.crashes !== undefined) return playMatrix();
  if (values.leases !== undefined) return exploreAll();
  if (values.breaks) return playBroken();
  if (values.story !== undefined) return playOne(readStory(values.story));
  return values.lane === undefined ? playAll() : playLane(Number(values.lane));
}

try {
  if ((await play()) > 0) process.exitCode = 1;
} catch (error) {
  console.error(error instanceof Error && values.recording !== undefined ? error.message : error);
  process.exitCode = 2;
}
