// Installs the packed package into fresh projects, and checks what people do with it there: npm run test:consumers
// `--update` writes the public types anew.
import { apiChecks } from './api.ts';
import { bundleChecks } from './bundles.ts';
import type { Check } from './check.ts';
import { loadChecks } from './loads.ts';
import { makeProjects, type Projects } from './projects.ts';
import { recipeChecks } from './recipes.ts';
import { tarballChecks } from './tarball.ts';
import { typeChecks } from './types.ts';

const AT_ONCE = 2;

async function main(): Promise<boolean> {
  const projects = await makeProjects();
  try {
    const checks = await collect(projects);
    const left = [...checks];
    const failed: string[] = [];
    const work = async () => {
      for (let next = left.shift(); next; next = left.shift()) if (!(await runCheck(next))) failed.push(next.title);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    console.log(`\nconsumers: ${checks.length - failed.length} passed, ${failed.length} failed`);
    return failed.length === 0;
  } finally {
    await projects.remove();
  }
}

async function collect(projects: Projects): Promise<Check[]> {
  const update = process.argv.includes('--update');
  const groups = [tarballChecks, apiChecks, loadChecks, typeChecks, bundleChecks, recipeChecks];
  return (await Promise.all(groups.map((group) => group(projects, { update })))).flat();
}

async function runCheck({ title, run }: Check): Promise<boolean> {
  const startedAtMs = Date.now();
  try {
    const found = await run();
    console.log(`ok    ${title}${found ? ` (${found})` : ''}, ${Date.now() - startedAtMs} ms`);
    return true;
  } catch (error) {
    console.log(`FAIL  ${title}\n${describe(error)}`);
    return false;
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const output = ['stdout', 'stderr'].map((name) => Reflect.get(error, name)).filter((text) => typeof text === 'string' && text !== '');
  return [error.message, ...output].join('\n');
}

if (!(await main())) process.exitCode = 1;
