import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { FILES, HERE, MissingRuntime } from './prepare.ts';
import { parseResults } from './results.ts';
import { type Result, runTest } from './run-test.ts';

/** A runtime that is a program of its own. */
interface ProcessRuntime {
  name: string;
  program: string;
  args: readonly string[];
}

const nodeIn = (folder: string) => join(HERE, folder, 'node_modules/.bin/node');
const inBin = (name: string) => join(HERE, 'node_modules/.bin', name);

// Deno may reach the service and nothing else: variables that cannot be read must not harm.
const DENO = ['run', '--no-prompt', '--node-modules-dir=manual', '--no-lock', '--allow-net=127.0.0.1', '--deny-env'];

export const PROCESS_RUNTIMES: readonly ProcessRuntime[] = [
  { name: 'node-22.13', program: nodeIn('node-22-oldest'), args: [] },
  { name: 'node-22', program: nodeIn('node-22'), args: [] },
  { name: 'node-24', program: process.execPath, args: [] },
  // The same with `undiciFetch` for its own fetch.
  { name: 'node-24-undici', program: process.execPath, args: [] },
  { name: 'node-26', program: nodeIn('node-26'), args: [] },
  { name: 'bun', program: inBin('bun'), args: ['run'] },
  { name: 'deno', program: inBin('deno'), args: DENO },
];

const LONGEST_RUN_MS = 90_000;
const LONGEST_EXIT_MS = 3_000;

/** Runs the suite in a process of its own, which must end by itself: after its last call, and not before. */
export async function runInProcess({ name, program, args }: ProcessRuntime, origin: string): Promise<Result[]> {
  if (!existsSync(program)) throw new MissingRuntime(`${program} is not there: npm ci in its folder brings it`);
  const run = await runToEnd(program, [...args, FILES.process, origin, name]);
  return [...parseResults(run.textAfter('results ')), await checkExit(run)];
}

interface ProcessRun {
  textAfter(prefix: string): string;
  /** Milliseconds from the line with this beginning to the end of the process. */
  endedAfter(prefix: string): number;
  code: number | null;
}

function checkExit(run: ProcessRun): Promise<Result> {
  return runTest('stays while a call waits, and exits after it', () => {
    if (run.textAfter('waited ') !== '12') throw new Error('the process ended while a call waited');
    if (run.code !== 0) throw new Error(`the process ended with ${run.code}`);
    const ms = run.endedAfter('waited ');
    if (ms > LONGEST_EXIT_MS) throw new Error(`the process ended ${ms} ms after its last call`);
  });
}

function runToEnd(program: string, args: readonly string[]): Promise<ProcessRun> {
  const lines: { text: string; atMs: number }[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<ProcessRun>();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' };
  const child = execFile(program, args, { env, timeout: LONGEST_RUN_MS, maxBuffer: 1e7 }, (_, stdout, stderr) => {
    const find = (prefix: string) => lines.find(({ text }) => text.startsWith(prefix));
    const textAfter = (prefix: string) => find(prefix)?.text.slice(prefix.length) ?? '';
    if (textAfter('results ') === '') return reject(new Error(`no results from ${program}\n${stdout}\n${stderr}`));
    resolve({ textAfter, endedAfter: (prefix) => Date.now() - (find(prefix)?.atMs ?? 0), code: child.exitCode });
  });
  let rest = '';
  child.stdout?.on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const text of parts) lines.push({ text, atMs: Date.now() });
  });
  return promise;
}
