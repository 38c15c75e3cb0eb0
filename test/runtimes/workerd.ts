import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Miniflare } from 'miniflare';
import { failureOf } from './expect.ts';
import { FILES, HERE, MissingRuntime } from './prepare.ts';
import { parseResults } from './results.ts';
import type { ScenarioName } from './scenarios.ts';
import { type Result, runTest } from './run-test.ts';

/**
 * Before 2024-10-14 a promise that another request resolves never wakes its waiter in workerd; since then it does, but timers still
 * end with the request that started them. Both must not make a call hang.
 */
const COMPATIBILITY_DATES = { new: '2026-04-01', old: '2024-09-01' } as const;

export async function runInWorkerd(origin: string): Promise<Result[]> {
  if (!existsSync(join(HERE, 'node_modules/miniflare'))) throw new MissingRuntime('miniflare is not there: npm ci in test/runtimes brings it');
  const results = await inWorker(COMPATIBILITY_DATES.new, async (worker) => {
    const answer = await ask(worker, `suite?runtime=workerd&origin=${origin}`);
    return parseResults(answer);
  });
  for (const [age, date] of Object.entries(COMPATIBILITY_DATES)) {
    for (const test of SHARED_TESTS) results.push(await inWorker(date, (worker) => runShared(worker, { test, age, origin })));
  }
  return results;
}

interface SharedTest {
  title: string;
  scenario: ScenarioName;
  /** The first request answers while its call is under way. */
  isAbandoned?: boolean;
}

const SHARED_TESTS: readonly SharedTest[] = [
  { title: 'is made while the worker loads', scenario: 'plain' },
  { title: 'waits for a slot in flight that another request frees', scenario: 'one-at-a-time' },
  { title: 'waits for an update of another request', scenario: 'ordered' },
  { title: 'waits for quota together with another request', scenario: 'windowed' },
  { title: 'waits behind the 429 of another request', scenario: 'refusing' },
  { title: 'gets the slot in flight of a request that was abandoned', scenario: 'abandoned', isAbandoned: true },
  { title: 'gets the turn of a request that was abandoned', scenario: 'abandoned-in-order', isAbandoned: true },
];

function runShared(worker: Miniflare, { test, age, origin }: { test: SharedTest; age: string; origin: string }): Promise<Result> {
  return runTest(`${test.title} (${age} compatibility date)`, async () => {
    const path = `${test.scenario}?origin=${origin}&runtime=workerd-${age}`;
    const first = failureOf(ask(worker, test.isAbandoned ? `${path}&leaves` : path));
    await sleep(100);
    const failure = (await failureOf(ask(worker, path))) ?? (await first);
    if (failure !== undefined) throw failure;
  });
}

async function inWorker<T>(compatibilityDate: string, work: (worker: Miniflare) => Promise<T>): Promise<T> {
  const { Miniflare } = await import('miniflare');
  const modules = [{ type: 'ESModule' as const, path: 'worker.mjs', contents: await readFile(FILES.worker, 'utf8') }];
  const worker = new Miniflare({ modules, compatibilityDate });
  try {
    await worker.ready;
    return await work(worker);
  } finally {
    await worker.dispose();
  }
}

async function ask(worker: Miniflare, path: string): Promise<string> {
  const response = await fetch(new URL(path, await worker.ready));
  const text = await response.text();
  if (!response.ok) throw new Error(`the worker answered ${response.status}: ${text}`);
  return text;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
