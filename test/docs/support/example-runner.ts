import { format } from 'node:util';
import { serveSandbox } from 'petstore-inventory/node';

/**
 * Runs the files that it is given, one after the other in this process, and writes what each printed or how it failed. A process
 * for each would start Node a hundred times.
 */
const told: { printed: string[]; error?: string }[] = [];
for (const path of process.argv.slice(2)) told.push(await runExample(path));
process.stdout.write(JSON.stringify(told));

async function runExample(path: string): Promise<(typeof told)[number]> {
  await using served = await serveSandbox({ policy: 'fixed-first' });
  process.env.PETSTORE_BASE_URL = served.url;
  process.env.PETSTORE_API_KEY = served.keys.business;
  const printed: string[] = [];
  console.log = (...shown: unknown[]) => printed.push(...format(...shown).split('\n'));
  try {
    await import(path);
    return { printed };
  } catch (error) {
    return { printed, error: String(error) };
  }
}
