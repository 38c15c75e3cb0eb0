import { type ChildProcess, spawn } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type ServedSandbox, serveSandbox } from '../../../src/node/serve.ts';
import { buildCli } from './build-cli.ts';

/** Pets in every job; each has a row, and some have two. */
const PETS = 60;
const DROPPED = 0.05;

export interface CrashResult {
  /** Processes that were killed. */
  killed: number;
  /** Jobs that were brought to their end. */
  jobs: number;
  /** Updates that the sandbox applied and whose answer it dropped. */
  dropped: number;
  /** What was wrong; empty when nothing was. */
  faults: string[];
}

interface Job {
  served: ServedSandbox;
  /** What is killed and started again. */
  words: string[];
  journal: string;
  expected: ReadonlyMap<number, number>;
}

/**
 * Kills `petstore sync`, or the undo of one that was killed before, at random instants, `kills` times in all, starting it again each
 * time, and judges the stock of every job.
 */
export async function crashRuns(command: 'sync' | 'undo', kills: number, random: () => number): Promise<CrashResult> {
  const { folder, file } = await buildCli();
  const result: CrashResult = { killed: 0, jobs: 0, dropped: 0, faults: [] };
  try {
    while (result.killed < kills) {
      const created = await createJob(folder, result.jobs, random);
      const job = command === 'sync' ? created.job : { ...created.job, words: ['undo', created.job.journal], expected: created.before };
      try {
        // Before its first request its journal may hold no job yet.
        if (command === 'undo')
          await runOnce(created.job, { file, killWhen: { ...killPoint(PETS, random), requests: 1 + Math.floor(random() * PETS) } });
        await runToTheEnd(job, { file, kills, random, result });
      } finally {
        await job.served.close();
      }
    }
  } finally {
    await rm(folder, { recursive: true });
  }
  return result;
}

async function createJob(folder: string, number: number, random: () => number): Promise<{ job: Job; before: Map<number, number> }> {
  const draw = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
  const pets = Array.from({ length: PETS }, (_, index) => ({ petId: index + 1, quantity: draw(20, 90) }));
  const before = new Map(pets.map(({ petId, quantity }) => [petId, quantity]));
  const expected = new Map(before);
  const rows = Array.from({ length: PETS + 10 }, (_, index) => {
    const petId = (index % PETS) + 1;
    const isRelative = random() < 0.6;
    const amount = isRelative ? draw(-9, 9) : draw(0, 99);
    expected.set(petId, isRelative ? (expected.get(petId) ?? 0) + amount : amount);
    return isRelative ? `${petId},,${amount}` : `${petId},${amount},`;
  });
  const csv = join(folder, `job-${number}.csv`);
  await writeFile(csv, `petId,quantity,adjust\n${rows.join('\n')}\n`);
  const served = await serveSandbox({
    pets,
    plans: { business: { requestsPerMinute: 1_000_000 } },
    latency: { fromMs: 0, toMs: 6 },
    seed: number + 1,
    faults: [{ rate: DROPPED, when: ({ method }) => method === 'PATCH', fail: 'lost' }],
  });
  const journal = join(folder, `job-${number}.journal`);
  return { job: { served, words: ['sync', csv, '--journal', journal, '--allow-negative'], journal, expected }, before };
}

/** After so many requests at most, and how many milliseconds later. */
function killPoint(requests: number, random: () => number): { requests: number; ms: number } {
  return { requests: Math.floor(random() * requests), ms: random() * 40 };
}

interface Campaign {
  file: string;
  kills: number;
  random: () => number;
  result: CrashResult;
}

async function runToTheEnd(job: Job, { file, kills, random, result }: Campaign): Promise<void> {
  for (let code: number | null = null; code === null; ) {
    const isLast = result.killed >= kills;
    code = await runOnce(job, { file, killWhen: isLast ? undefined : killPoint(14, random) });
    if (code === null) result.killed += 1;
    else if (code !== 0) result.faults.push(`job ${result.jobs} ended with exit code ${code}`);
  }
  const { sandbox } = job.served;
  result.jobs += 1;
  result.dropped += sandbox.requests.filter(({ fault }) => fault?.includes('lost')).length;
  for (const [petId, quantity] of job.expected) {
    const stands = sandbox.inventory.get(petId)?.quantity;
    if (stands !== quantity) result.faults.push(`job ${result.jobs}: pet ${petId} stands at ${stands}, not at ${quantity}`);
  }
  const before = sandbox.requests.length;
  await runOnce(job, { file, killWhen: undefined });
  // The killed job may have left updates in doubt: then its undo looks whether they came late.
  const most = job.words[0] === 'undo' ? ['GET'] : [];
  const sent = sandbox.requests.slice(before).map(({ method }) => method);
  if (sent.length > most.length || sent.some((method) => !most.includes(method)))
    result.faults.push(`job ${result.jobs}: a finished job sent ${sent.join(', ')}`);
}

/** Gives the exit code, or null for a process that was killed. */
function runOnce(
  job: Job,
  { file, killWhen }: { file: string; killWhen: { requests: number; ms: number } | undefined },
): Promise<number | null> {
  const child = spawn(process.execPath, [file, ...job.words, '--concurrency', '4'], {
    env: {
      ...process.env,
      PETSTORE_BASE_URL: job.served.url,
      PETSTORE_API_KEY: job.served.keys.business,
      PETSTORE_PLAN: 'unlimited',
      XDG_STATE_HOME: dirname(job.journal),
    },
    stdio: 'ignore',
  });
  const stopWatching = killWhen ? killLater(child, job, killWhen) : () => {};
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      stopWatching();
      resolve(code);
    });
  });
}

/** Kills the process some milliseconds after the sandbox has seen some of its requests. */
function killLater(child: ChildProcess, { served }: Job, { requests, ms }: { requests: number; ms: number }): () => void {
  const seenBefore = served.sandbox.requests.length;
  let killTimer: NodeJS.Timeout | undefined;
  const watch = setInterval(() => {
    if (served.sandbox.requests.length - seenBefore < requests || killTimer) return;
    killTimer = setTimeout(() => child.kill('SIGKILL'), requests === 0 ? ms * 8 : ms);
  }, 1);
  return () => {
    clearInterval(watch);
    clearTimeout(killTimer);
  };
}
