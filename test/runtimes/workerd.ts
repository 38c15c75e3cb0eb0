import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Miniflare } from 'miniflare';
import { equal, failureOf } from './expect.ts';
import { FILES, HERE, MissingRuntime } from './prepare.ts';
import { parseResults } from './results.ts';
import { type Result, runTest } from './run-test.ts';
import { API_KEY, type ScenarioName } from './scenarios.ts';

/**
 * Before 2024-10-14 a promise that another request resolves never wakes its waiter in workerd; since then it does, but timers still
 * end with the request that started them. Both must not make a call hang.
 */
const COMPATIBILITY_DATES = { new: '2026-04-01', old: '2024-09-01' } as const;

export async function runInWorkerd(origin: string): Promise<Result[]> {
  if (!existsSync(join(HERE, 'node_modules/miniflare')))
    throw new MissingRuntime('miniflare is not there: npm ci in test/runtimes brings it');
  const results = await inWorker(COMPATIBILITY_DATES.new, async (worker) => {
    const answer = await ask(worker, `suite?runtime=workerd&origin=${origin}`);
    return parseResults(answer);
  });
  for (const [age, date] of Object.entries(COMPATIBILITY_DATES)) {
    for (const test of SHARED_TESTS) results.push(await inWorker(date, (worker) => runShared(worker, { test, age, origin })));
    results.push(await inWorker(date, (worker) => runClosing(worker, { age, origin })));
    results.push(await runExample(date, { age, origin }));
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

/** Its fetch belongs to the request that made it, and may be ended by nobody else. */
function runClosing(worker: Miniflare, { age, origin }: { age: string; origin: string }): Promise<Result> {
  return runTest(`ends when another request closes the client (${age} compatibility date)`, async () => {
    const path = `stalled?origin=${origin}&runtime=workerd-${age}`;
    const first = failureOf(ask(worker, path));
    await sleep(100);
    await ask(worker, `${path}&closes`);
    equal(String(await first), 'Error: the worker answered 500: AbortError: The client was closed');
  });
}

/** examples/worker.ts: reads a stock, and sets it after it has answered. */
function runExample(date: string, { age, origin }: { age: string; origin: string }): Promise<Result> {
  const env = { PETSTORE_BASE_URL: `${origin}/plain/workerd-example-${age}/v1`, PETSTORE_API_KEY: API_KEY, SCANNER_TOKEN: 'beep' };
  return runTest(`runs examples/worker.ts (${age} compatibility date)`, () =>
    inWorker(date, (worker) => checkExample(worker), { file: FILES.example, env }),
  );
}

async function checkExample(worker: Miniflare): Promise<void> {
  const stock = new URL('stock/3', await worker.ready);
  const headers = { authorization: 'Bearer beep' };
  equal((await fetch(stock, { method: 'PUT', headers, body: '{"quantity":77}' })).status, 202);
  // The update comes after the answer.
  for (let asked = 0; asked < 50 && !(await ask(worker, 'stock/3')).includes('77'); asked++) await sleep(20);
  equal(JSON.parse(await ask(worker, 'stock/3')).quantity, 77);
  equal((await fetch(new URL('stock/999', await worker.ready))).status, 404);
}

/** What a worker is made of; the suite with nothing bound, unless told otherwise. */
interface Script {
  file: string;
  env: Record<string, string>;
}

const SUITE: Script = { file: FILES.worker, env: {} };

async function inWorker<T>(compatibilityDate: string, work: (worker: Miniflare) => Promise<T>, { file, env } = SUITE): Promise<T> {
  const { Miniflare } = await import('miniflare');
  const modules = [{ type: 'ESModule' as const, path: 'worker.mjs', contents: await readFile(file, 'utf8') }];
  const worker = new Miniflare({ modules, compatibilityDate, bindings: env });
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
