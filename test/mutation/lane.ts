// A process that run.ts starts: it keeps one vitest warm and runs the tests of one mutant after the other. Broken code is handed
// to vitest alone and never written, and whoever ends the process ends the tests with it, also those that loop for ever.
import { readFileSync } from 'node:fs';
import { createVitest } from 'vitest/node';
import config from '../../vitest.config.ts';

/** The tests whose paths begin with one of `folders` are run with `source` in place of the file, folder by folder until one fails. */
export interface Job {
  path: string;
  source: string | undefined;
  folders: readonly string[];
}

/** The test that fell, or none. */
export interface Verdict {
  seenBy: string | undefined;
}

const ROOT = new URL('../../', import.meta.url).pathname;
/** Where simulators, which build the source by themselves, find the mutant. */
const SIMULATED = `${ROOT}test/simulation/mutant.ts`;

let job: Job | undefined;

/** What stands in place of a file of the disk while a mutant is judged; undefined if nothing does. */
function sourceOf(id: string): string | undefined {
  if (!job?.source) return undefined;
  if (id === ROOT + job.path) return job.source;
  if (id !== SIMULATED) return undefined;
  const fault = { path: job.path.replace(/^src\//, ''), before: readFileSync(ROOT + job.path, 'utf8'), after: job.source };
  return `export const MUTANT = ${JSON.stringify(fault)};`;
}

const vitest = await createVitest(
  'test',
  {
    root: ROOT,
    config: false,
    watch: false,
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/preload.ts'],
    reporters: [{}],
    pool: 'threads',
    maxWorkers: 1,
    bail: 1,
    // It would know a module by the content of its file.
    fsModuleCache: false,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    env: { FUZZ_RUNS: '100' },
  },
  {
    resolve: { alias: config.resolve?.alias ?? [] },
    plugins: [{ name: 'mutant', enforce: 'pre', load: sourceOf }],
  },
);
const specifications = await vitest.globTestSpecifications();

async function firstFailure({ folders }: Job): Promise<string | undefined> {
  const passed = new Set<string>();
  for (const folder of folders) {
    const concerned = specifications.filter(({ moduleId }) => moduleId.startsWith(`${ROOT}test/${folder}`) && !passed.has(moduleId));
    if (concerned.length === 0) continue;
    const { testModules, unhandledErrors } = await vitest.runTestSpecifications(concerned);
    const ran = testModules.filter(({ moduleId }) => concerned.some((each) => each.moduleId === moduleId));
    const failed = ran.find((module) => module.state() === 'failed');
    const [test] = failed?.children.allTests('failed') ?? [];
    for (const { moduleId } of concerned) passed.add(moduleId);
    if (failed) return test?.fullName ?? failed.relativeModuleId;
    if (unhandledErrors.length > 0) return `an error that no test awaits in ${folder}`;
  }
  return undefined;
}

process.on('message', async (next: Job) => {
  job = next;
  const changed = [ROOT + job.path, SIMULATED];
  for (const file of changed) vitest.invalidateFile(file);
  const seenBy = await firstFailure(job);
  for (const file of changed) vitest.invalidateFile(file);
  const verdict: Verdict = { seenBy };
  process.send?.(verdict);
});
process.on('disconnect', () => process.exit());
