// What a program takes from its start to its end that lists three items once: each a process of its own, in turn.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { median, startService } from './processes.ts';

const ROUNDS = 15;

const FETCH = "await (await fetch(baseUrl + '/inventory', { headers: { authorization: 'Bearer bench-key' } })).json();";
const SCRIPTS: Record<string, string> = {
  fetch: FETCH,
  'petstore-inventory': `const { PetStoreClient } = await import('../../dist/index.js');
    await new PetStoreClient({ apiKey: 'bench-key', baseUrl }).listInventory();`,
  ky: "const { default: ky } = await import('ky'); await ky(baseUrl + '/inventory', { headers: { authorization: 'Bearer bench-key' } }).json();",
  openai: `const { default: OpenAI } = await import('openai');
    await new OpenAI({ apiKey: 'bench-key', baseURL: baseUrl }).get('/inventory');`,
  stripe: `const { default: Stripe } = await import('stripe');
    const { hostname: host, port, pathname } = new URL(baseUrl);
    await new Stripe('bench-key', { host, port, protocol: 'http' }).rawRequest('GET', pathname + '/inventory');`,
};

/** Arguments of Node for each program. */
function programs(baseUrl: string): Record<string, readonly string[]> {
  const scripts = Object.entries(SCRIPTS).map(
    ([name, script]) => [name, ['--input-type=module', '-e', `const baseUrl = '${baseUrl}'; ${script}`]] as const,
  );
  return { ...Object.fromEntries(scripts), '`petstore list`': ['../../dist/cli.js', 'list'] };
}

/** Milliseconds of each program, and their ratio to that of fetch, as medians of the rounds. */
export async function measureStarts(): Promise<Record<string, { ms: number; ratio: number }>> {
  const service = await startService();
  const env = { PETSTORE_API_KEY: 'bench-key', PETSTORE_BASE_URL: service.baseUrl };
  const all = Object.entries(programs(service.baseUrl));
  const rounds: Record<string, number>[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const measured: Record<string, number> = {};
    for (const [name, args] of all) {
      const startedAtMs = performance.now();
      await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname, env });
      measured[name] = performance.now() - startedAtMs;
    }
    // The first one reads the files from the disk.
    if (round > 0) rounds.push(measured);
  }
  service.stop();
  const of = (name: string, base: string | undefined) =>
    median(rounds.map((round) => (round[name] ?? Number.NaN) / (base === undefined ? 1 : (round[base] ?? Number.NaN))));
  return Object.fromEntries(all.map(([name]) => [name, { ms: of(name, undefined), ratio: of(name, 'fetch') }]));
}
