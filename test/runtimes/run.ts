// Runs one suite in every runtime and prints which test held where: npm run test:runtimes
// With CI=true a runtime that this machine lacks is a failure; else it is only reported. Names as arguments choose runtimes, and
// `--install` only installs them.
import { BROWSERS, runInBrowser } from './browsers.ts';
import { bundleSuite, install, MissingRuntime } from './prepare.ts';
import { PROCESS_RUNTIMES, runInProcess } from './process.ts';
import type { Result } from './run-test.ts';
import { runInWorkerd } from './workerd.ts';

interface Column {
  runtime: string;
  results: readonly Result[];
  /** Why it did not run. */
  missing?: string;
}

type Run = (origin: string) => Promise<Result[]>;

const RUNS: Record<string, Run> = {
  ...Object.fromEntries(PROCESS_RUNTIMES.map((runtime) => [runtime.name, (origin: string) => runInProcess(runtime, origin)])),
  workerd: runInWorkerd,
  ...Object.fromEntries(BROWSERS.map((browser) => [browser.name, (origin: string) => runInBrowser(browser, origin)])),
};

const AT_ONCE = 2;

async function main(chosen: readonly string[]): Promise<boolean> {
  await install();
  if (chosen.includes('--install')) return true;
  await bundleSuite();
  // The service is the package's own sandbox, which is there only now.
  const { startService } = await import('./service.ts');
  const service = await startService();
  const left = Object.entries(RUNS).filter(([name]) => chosen.length === 0 || chosen.includes(name));
  const columns: Column[] = [];
  const work = async () => {
    for (let next = left.shift(); next; next = left.shift()) columns.push(await runColumn(...next, service.origin));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await service.close();
  const order = Object.keys(RUNS);
  columns.sort((a, b) => order.indexOf(a.runtime) - order.indexOf(b.runtime));
  print(columns);
  return columns.every(isGood);
}

async function runColumn(runtime: string, run: Run, origin: string): Promise<Column> {
  try {
    return { runtime, results: await run(origin) };
  } catch (error) {
    if (error instanceof MissingRuntime) return { runtime, results: [], missing: error.message };
    return { runtime, results: [{ title: 'runs the suite', ms: 0, error: String(error instanceof Error ? error.stack : error) }] };
  }
}

function isGood({ results, missing }: Column): boolean {
  if (missing !== undefined) return process.env.CI !== 'true';
  return results.every(({ error }) => error === undefined);
}

function print(columns: readonly Column[]): void {
  const titles = [...new Set(columns.flatMap(({ results }) => results.map(({ title }) => title)))];
  const widest = Math.max(...titles.map((title) => title.length));
  const row = (title: string, cells: readonly string[]) =>
    [title.padEnd(widest), ...cells.map((cell, index) => cell.padEnd(columns[index]?.runtime.length ?? 0))].join('  ').trimEnd();
  console.log(
    row(
      '',
      columns.map(({ runtime }) => runtime),
    ),
  );
  for (const title of titles)
    console.log(
      row(
        title,
        columns.map((column) => cellOf(column, title)),
      ),
    );
  for (const { runtime, results, missing } of columns) {
    if (missing !== undefined) console.log(`\n${runtime} did not run: ${missing}`);
    for (const { title, error } of results) if (error !== undefined) console.log(`\n${runtime}: ${title}\n${error}`);
  }
  const all = columns.flatMap(({ results }) => results);
  const failed = all.filter(({ error }) => error !== undefined).length;
  console.log(`\n${columns.length} runtimes: ${all.length - failed} passed, ${failed} failed`);
}

function cellOf({ results }: Column, title: string): string {
  const result = results.find((known) => known.title === title);
  if (!result) return '-';
  return result.error === undefined ? 'ok' : 'FAIL';
}

if (!(await main(process.argv.slice(2)))) process.exitCode = 1;
