// Plays stories, explores the rules of leases, or replays a recording: `npm run simulate -- --help` lists how.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Redis } from 'ioredis';
import * as z from 'zod/mini';
import { UsageError } from '../../src/cli/usage-error.ts';
import { exchangeLease } from '../../src/node/quota-record.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';
import { type Run, readArguments, type Seeds } from './arguments.ts';
import { BREAKS } from './breaks.ts';
import { compare } from './compare.ts';
import { playCrashes } from './crash-matrix.ts';
import { ALL_SCOPES, type Explored, exploreLeases, SMALL_SCOPES } from './lease-states.ts';
import { type Outcome, Simulator } from './play.ts';
import { readRecording } from './recording.ts';
import { RedisRules } from './redis-rules.ts';
import { replay } from './replay.ts';
import { shrink } from './shrink.ts';
import { drawStory, type Story } from './story.ts';

/** Stories that went wrong and are shrunk, in one lane; of others the seed is told. */
const MOST_SHRUNK = 3;

type SeedsRun = Extract<Run, { kind: 'seeds' }>;

/** What a story printed. Lanes send it whole, so that their stories do not mix. */
const Told = z.object({ seed: z.number(), text: z.string() });

/** Plays the seeds of one lane, and tells the parent what to print. */
async function playLane({ seeds: { first, last }, lanes, hasLog }: SeedsRun, lane: number): Promise<number> {
  const simulator = await Simulator.load();
  let failed = 0;
  for (let seed = first + lane; seed <= last; seed += lanes) {
    const outcome = await simulator.play(drawStory(seed));
    const lines = hasLog ? [...outcome.log] : [];
    if (outcome.violations.length > 0) {
      failed += 1;
      lines.push(...outcome.violations.map(({ truth, what }) => `seed ${seed}: ${truth}: ${what}`));
      if (failed <= MOST_SHRUNK && !hasLog) lines.push(...(await linesShrunk(simulator, outcome)));
    }
    await tell({ seed, text: lines.map((line) => `${line}\n`).join('') });
  }
  simulator.close();
  return failed;
}

function tell(told: z.infer<typeof Told>): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(told, undefined, undefined, () => resolve());
    else process.stdout.write(told.text, () => resolve());
  });
}

/** The few lines that say what happened, and how to see all of them. */
async function linesShrunk(simulator: Simulator, { story, violations }: Outcome): Promise<string[]> {
  const truth = violations[0]?.truth ?? '';
  const smallest = await shrink(simulator, story, { truth });
  const { violations: left, log } = await simulator.play(smallest);
  return [
    `  the same in ${log.length} lines:`,
    ...[...log.slice(0, 60), ...left.map(({ what }) => `     wrong  ${truth}: ${what}`)].map((line) => `  ${line}`),
    `  npm run simulate -- --log --story '${JSON.stringify(smallest)}'`,
  ];
}

async function playOne(story: Story): Promise<number> {
  const simulator = await Simulator.load();
  const { violations, log } = await simulator.play(story);
  simulator.close();
  console.log([...log, ...violations.map(({ truth, what }) => `    wrong  ${truth}: ${what}`)].join('\n'));
  return violations.length;
}

async function playAll({ seeds: { first, last }, lanes }: SeedsRun): Promise<number> {
  const startMs = performance.now();
  const printed = new SeedPrinter(first);
  const codes = await Promise.all(Array.from({ length: lanes }, (_, lane) => forkLane(lane, printed)));
  printed.end();
  const count = last - first + 1;
  const perMinute = Math.round((count * 60_000) / (performance.now() - startMs));
  const failed = codes.filter((code) => code !== 0).length;
  console.log(`${count} ${count === 1 ? 'story' : 'stories'}, ${failed === 0 ? 'nothing was wrong' : 'see above what was wrong'}`);
  // Beside the log, which the seeds alone decide.
  console.error(`${perMinute} stories a minute`);
  return failed;
}

/** Gives the exit code, or null where the lane was killed. */
async function forkLane(lane: number, printed: SeedPrinter): Promise<unknown> {
  const child = fork(new URL(import.meta.url), [...process.argv.slice(2), '--lane', String(lane)]);
  child.on('message', (message) => printed.take(Told.parse(message)));
  // The last messages may come after the exit.
  const [exit] = await Promise.all([once(child, 'exit'), once(child, 'disconnect')]);
  return exit[0];
}

/** Prints what lanes tell in the order of the seeds. */
class SeedPrinter {
  readonly #waiting = new Map<number, string>();
  #next: number;

  constructor(first: number) {
    this.#next = first;
  }

  take({ seed, text }: { seed: number; text: string }): void {
    this.#waiting.set(seed, text);
    for (let told = this.#waiting.get(this.#next); told !== undefined; told = this.#waiting.get(this.#next)) {
      process.stdout.write(told);
      this.#waiting.delete(this.#next++);
    }
  }

  /** Prints what comes after a story that a lane did not end. */
  end(): void {
    for (const [, text] of [...this.#waiting].sort(([one], [other]) => one - other)) process.stdout.write(text);
  }
}

async function playBroken(seeds: Seeds): Promise<number> {
  const found: boolean[] = [];
  for (const [name, fault] of Object.entries(BREAKS)) {
    const simulator = await Simulator.load(fault);
    const { seed, truth } = await firstWrong(simulator, seeds);
    simulator.close();
    console.log(truth === undefined ? `NOT FOUND  ${name}` : `seed ${String(seed).padStart(4)}  ${name}\n           found by: ${truth}`);
    found.push(truth !== undefined);
  }
  return found.filter((isFound) => !isFound).length;
}

async function firstWrong(simulator: Simulator, { first, last }: Seeds): Promise<{ seed: number; truth: string | undefined }> {
  for (let seed = first; seed <= last; seed++) {
    const { violations } = await simulator.play(drawStory(seed));
    if (violations[0]) return { seed, truth: violations[0].truth };
  }
  return { seed: last, truth: undefined };
}

async function playMatrix(isWhole: boolean): Promise<number> {
  const simulator = await Simulator.load();
  const startMs = performance.now();
  const wrong = await playCrashes(simulator, { isWhole, tell: console.log });
  for (const outcome of wrong.slice(0, MOST_SHRUNK)) console.log((await linesShrunk(simulator, outcome)).join('\n'));
  simulator.close();
  console.log(
    `${Math.round((performance.now() - startMs) / 1_000)} s, ${wrong.length === 0 ? 'nothing was wrong' : `${wrong.length} runs went wrong`}`,
  );
  return wrong.length;
}

async function exploreAll(isWhole: boolean): Promise<number> {
  const server = HAS_REDIS ? await RedisServer.start() : undefined;
  const client = server && new Redis(server.url);
  const redis = client && (await RedisRules.load(client));
  if (!redis) console.log('redis-server is not on the PATH: its script is not compared');
  let wrong = 0;
  for (const scope of isWhole ? ALL_SCOPES : SMALL_SCOPES) {
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

async function playRecording({ path, settings, hasLog }: Extract<Run, { kind: 'recording' }>): Promise<number> {
  const then = readRecording(await readText(path), path);
  const replayed = await replay(then, settings);
  console.log(hasLog ? replayed.text.trimEnd() : compare(then, replayed));
  return 0;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new Error(`Cannot replay ${path}, given as --recording: ${error instanceof Error ? error.message : error}`);
  }
}

async function play(run: Run): Promise<number> {
  if (run.kind === 'recording') return playRecording(run);
  if (run.kind === 'crashes') return playMatrix(run.isWhole);
  if (run.kind === 'leases') return exploreAll(run.isWhole);
  if (run.kind === 'breaks') return playBroken(run.seeds);
  if (run.kind === 'story') return playOne(run.story);
  if (run.kind === 'seeds') return run.lane === undefined ? playAll(run) : playLane(run, run.lane);
  console.log(run.usage);
  return 0;
}

let run: Run | undefined;
try {
  run = readArguments(process.argv.slice(2));
  if ((await play(run)) > 0) process.exitCode = 1;
} catch (error) {
  const isExpected = error instanceof UsageError || run?.kind === 'recording';
  console.error(isExpected && error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
