// Makes many small changes to the source, one at a time, and lists those that no test detects:
// npm run mutate -- [folders, files or file:line below src/] [--per-file 10 or 5%] [--seed 1] [--most 0] [--verbose]
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { layerOf, readSource } from '../support/source.ts';
import type { Job, Verdict } from './lane.ts';
import { drawMutants, type Mutant, mutantsOf } from './mutants.ts';

/** The tests beside their own that a folder answers to, the nearest first. Those that begin processes would take minutes. */
const CONCERNED: Record<string, readonly string[]> = {
  call: ['pipeline', 'client.test', 'retry/retry.', 'operations', 'inventory-stream.test', 'quota/gate', 'wire.test'],
  client: ['options/client-options', 'pipeline.test', 'wire.test'],
  events: ['channels.test', 'log-lines.test', 'pipeline.test', 'client.test'],
  pipeline: ['client.test', 'order', 'operations/fetch', 'update-news', 'wire.test'],
  order: ['pipeline.test', 'pipeline.workerd', 'client.test', 'wire.test', 'security'],
  retry: [
    'pipeline.test',
    'pipeline.workerd',
    'wire.test',
    'transport/transport.outage',
    'faults/waits',
    'operations/fetch',
    'client.test',
  ],
  transport: ['operations/fetch.test', 'faults/odd-fetch', 'pipeline.test', 'client.test', 'wire.test'],
  json: ['operations', 'inventory-stream.test'],
  sync: ['node/file-journal', 'cli/sync-command'],
  operations: ['inventory-stream.test', 'client.test', 'pipeline.test', 'wire.test', 'faults/stream'],
  quota: [
    'retry/retry.',
    'transport/transport.outage',
    'worlds/paces',
    'pipeline.test',
    'pipeline.workerd',
    'client.test',
    'simulation/paces',
  ],
};

/** A mutant that takes so many times as long as the source as it is hangs, which is seen: on a busy machine both take longer. */
const HANGS_AFTER = 5;
const LEAST_LIMIT_MS = 120_000;
const MOST_LIMIT_MS = 1_800_000;

const HUNG = 'the time limit, or the end of the process';

interface Judged extends Mutant {
  seenBy: string | undefined;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    'per-file': { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    most: { type: 'string', default: '0' },
    verbose: { type: 'boolean', default: false },
  },
});

/** The mutants of the folders, files and lines that the arguments name, such as `order`, `sync/journal.ts`, `json/item.ts:12`. */
function draw(): Mutant[] {
  const named = positionals.map((name) => name.replace(/^src\/|\/$/g, ''));
  const chosen = named.length === 0 ? Object.keys(CONCERNED) : named;
  const drawn = readSource().flatMap(({ path }) => drawFrom(path));
  const isChosen = ({ path, line }: Mutant) =>
    chosen.some((each) => [path, `${path}:${line}`].includes(`src/${each}`) || path.startsWith(`src/${each}/`));
  return drawn.filter(isChosen).sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line);
}

function drawFrom(path: string): Mutant[] {
  const source = readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8');
  const perFile = values['per-file'];
  const all = () => mutantsOf(`src/${path}`, source).length;
  const count = perFile.endsWith('%') ? Math.ceil((Number.parseFloat(perFile) / 100) * all()) : Number(perFile);
  return drawMutants(`src/${path}`, source, { count, seed: Number(values.seed) });
}

/** The tests of a file's own, those beside them, those of its folder, and the others that it answers to. */
function nearestFirst(path: string): string[] {
  const own = path.replace(/^src\/|\.ts$/g, '');
  const beside = own.includes('/') ? [own.slice(0, own.lastIndexOf('/') + 1)] : [];
  return [`${own}.`, ...beside, ...foldersOf(path)];
}

function foldersOf(path: string): string[] {
  const layer = layerOf(path.replace(/^src\//, ''));
  return [layer, ...(CONCERNED[layer] ?? ['pipeline.test', 'client.test', 'wire.test'])];
}

/** A lane that a mutant hung is ended, and another one started for the next mutant. */
class Lane {
  #process: ChildProcess | undefined;

  async judge(job: Job, limitMs: number): Promise<Verdict> {
    this.#process ??= fork(new URL('lane.ts', import.meta.url));
    const child = this.#process;
    const judged = new AbortController();
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
    child.send(job);
    try {
      const [verdict] = await Promise.race([once(child, 'message', judged), once(child, 'exit', judged)]);
      if (child.exitCode === null && child.signalCode === null) return verdict;
      this.#process = undefined;
      return { seenBy: HUNG };
    } finally {
      judged.abort();
      clearTimeout(limit);
    }
  }

  close(): void {
    this.#process?.kill('SIGKILL');
    this.#process = undefined;
  }
}

/** Without a break every test holds; else each mutant would count as seen. Gives the time limit of the mutants in each folder. */
async function checkUnbroken(mutants: readonly Mutant[], lane: Lane): Promise<Map<string, number>> {
  const paths = new Map(mutants.map(({ path }) => [String(foldersOf(path)), path]));
  const limits = new Map<string, number>();
  for (const [folders, path] of paths) {
    const sinceMs = performance.now();
    const { seenBy } = await lane.judge({ path, source: undefined, folders: foldersOf(path) }, MOST_LIMIT_MS);
    if (seenBy !== undefined) throw new Error(`Cannot judge ${path}: the source as it is fails ${seenBy}`);
    limits.set(folders, Math.max(LEAST_LIMIT_MS, HANGS_AFTER * (performance.now() - sinceMs)));
  }
  return limits;
}

async function judgeAll(mutants: readonly Mutant[]): Promise<Judged[]> {
  const lanes = Array.from({ length: Math.min(2, availableParallelism()) }, () => new Lane());
  const judged: Judged[] = [];
  const left = [...mutants];
  const work = async (lane: Lane, limits: Map<string, number>) => {
    for (let mutant = left.shift(); mutant; mutant = left.shift()) {
      const { path, source } = mutant;
      const limitMs = limits.get(String(foldersOf(path))) ?? MOST_LIMIT_MS;
      judged.push({ ...mutant, ...(await lane.judge({ path, source, folders: nearestFirst(path) }, limitMs)) });
      tell(judged.at(-1), `${judged.length}/${mutants.length}`);
    }
  };
  try {
    const [limits = new Map()] = await Promise.all(lanes.slice(0, 1).map((lane) => checkUnbroken(mutants, lane)));
    await Promise.all(lanes.map((lane) => work(lane, limits)));
  } finally {
    for (const lane of lanes) lane.close();
  }
  return judged;
}

function tell(judged: Judged | undefined, count: string): void {
  if (!judged || (judged.seenBy !== undefined && !values.verbose)) return;
  const { path, line, mutator, before, after, source, seenBy } = judged;
  console.log(`${count} ${path}:${line} ${mutator}: ${seenBy === undefined ? 'detected by no test' : `detected by ${seenBy}`}`);
  const broken = source.split('\n')[line - 1]?.trim();
  console.log(`    - ${before}\n    + ${after}\n      in ${broken}`);
}

function printTable(judged: readonly Judged[]): void {
  const folders = Object.groupBy(judged, ({ path }) => layerOf(path.replace(/^src\//, '')));
  const row = (list: readonly Judged[] = []) => ({
    mutants: list.length,
    'not detected': list.filter(isUnseen).length,
    hung: list.filter(({ seenBy }) => seenBy === HUNG).length,
  });
  console.table(Object.fromEntries(Object.entries(folders).map(([folder, list]) => [folder, row(list)])));
}

const isUnseen = ({ seenBy }: Judged) => seenBy === undefined;

const judged = await judgeAll(draw());
printTable(judged);
process.exitCode = judged.filter(isUnseen).length > Number(values.most) ? 1 : 0;
