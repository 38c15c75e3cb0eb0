// What a worker takes in workerd, from its start to the end of its first request, which lists three items: each a process of its own.
import { build } from 'esbuild';
import { Miniflare } from 'miniflare';
import { median, startService } from './processes.ts';

const ROUNDS = 15;
const authorization = "{ headers: { authorization: 'Bearer bench-key' } }";

/** What each worker has before its handler, and the list that it answers with. */
const WORKERS: Record<string, [head: string, list: string]> = {
  fetch: ['', `await (await fetch(env.BASE_URL + '/inventory', ${authorization})).json()`],
  'petstore-inventory': [
    `import { PetStoreClient } from '../../dist/index.js'; let client;`,
    `await (client ??= new PetStoreClient({ apiKey: 'bench-key', baseUrl: env.BASE_URL })).listInventory()`,
  ],
  ky: [`import ky from 'ky';`, `await ky(env.BASE_URL + '/inventory', ${authorization}).json()`],
};

/** Milliseconds, or their ratios to those of fetch: of the first request alone, and with the start of the worker before it. */
export interface WorkerStart {
  whole: number;
  request: number;
}

/** The medians of the rounds, as milliseconds and as ratios to fetch in the same round. */
export async function measureWorkers(): Promise<Record<string, { ms: WorkerStart; ratio: WorkerStart }>> {
  const service = await startService();
  const scripts = await Promise.all(Object.entries(WORKERS).map(async ([name, worker]) => [name, await bundle(...worker)] as const));
  const rounds: Record<string, WorkerStart>[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const measured: Record<string, WorkerStart> = {};
    for (const [name, script] of scripts) measured[name] = await start(script, service.baseUrl);
    // The first one reads the files from the disk.
    if (round > 0) rounds.push(measured);
  }
  service.stop();
  const of = (name: string, field: keyof WorkerStart, base?: string) =>
    median(rounds.map((round) => (round[name]?.[field] ?? Number.NaN) / (base === undefined ? 1 : (round[base]?.[field] ?? Number.NaN))));
  const both = (name: string, base?: string) => ({ whole: of(name, 'whole', base), request: of(name, 'request', base) });
  return Object.fromEntries(scripts.map(([name]) => [name, { ms: both(name), ratio: both(name, 'fetch') }]));
}

async function bundle(head: string, list: string): Promise<string> {
  const contents = `${head} export default { async fetch(request, env) { return Response.json(${list}); } };`;
  const stdin = { contents, resolveDir: import.meta.dirname };
  const conditions = ['workerd', 'worker', 'browser'];
  const { outputFiles } = await build({ stdin, bundle: true, minify: true, write: false, format: 'esm', conditions, external: ['node:*'] });
  return outputFiles[0]?.text ?? '';
}

async function start(script: string, baseUrl: string): Promise<WorkerStart> {
  const startedAtMs = performance.now();
  const modules = [{ type: 'ESModule' as const, path: 'worker.mjs', contents: script }];
  const worker = new Miniflare({ modules, compatibilityDate: '2026-04-01', bindings: { BASE_URL: baseUrl } });
  const url = await worker.ready;
  const askedAtMs = performance.now();
  const response = await fetch(url);
  const text = await response.text();
  if (!response.ok) throw new Error(`the worker answered ${response.status}: ${text}`);
  const endedAtMs = performance.now();
  await worker.dispose();
  return { whole: endedAtMs - startedAtMs, request: endedAtMs - askedAtMs };
}
