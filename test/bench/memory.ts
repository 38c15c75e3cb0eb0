// What is kept while nothing is under way, by the scripts that the budgets are measured with.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Kilobytes of each. */
export async function measureMemory(): Promise<Record<string, number>> {
  const { made = Number.NaN, called = Number.NaN } = await kept('clients.ts');
  const { small = Number.NaN, large = Number.NaN } = await kept('views.ts');
  return {
    'a client with its key, before its first call': made / 1000,
    'the same, idle after a call': called / 1000,
    'a view of 12 pets': small / 1000,
    'a view of 1,000,000 pets': large / 1000,
  };
}

async function kept(script: string): Promise<Record<string, number>> {
  const flags = ['--expose-gc', '--min-semi-space-size=256', '--max-semi-space-size=256', '--no-warnings'];
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, `../budgets/${script}`], { cwd: import.meta.dirname, env: {} });
  return JSON.parse(stdout);
}
