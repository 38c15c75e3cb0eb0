/**
 * Writes the log lines of docs/limits.md, which a client writes in fake time against the sandbox:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings docs/limits.log.ts'
 *
 * It puts them into the two blocks of the section "The log"; the same sources give the same lines.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { type Logger, PetStoreClient } from '../src/index.ts';
import { createSandbox, type Sandbox } from '../src/sandbox/index.ts';
import { FakeTime } from './fake-time.ts';

const START_MS = Date.parse('2026-11-21T12:00:20Z');
const HOUR_MS = 3_600_000;
const CALLS = 150;
const EARLIER = 40;

type Level = keyof Logger;
const LEVELS: readonly Level[] = ['debug', 'info', 'warn', 'error'];

/** A service whose key has sent some requests in this minute already. */
async function serve(time: FakeTime): Promise<Sandbox> {
  time.set(START_MS - 15_000);
  const sandbox = createSandbox({ pets: CALLS, latency: { fromMs: 20, toMs: 200 } });
  const headers = { authorization: `Bearer ${sandbox.keys.free}` };
  const earlier = Array.from({ length: EARLIER }, () => sandbox.fetch(`${sandbox.baseUrl}/inventory`, { headers }));
  await time.run(Promise.all(earlier), START_MS);
  time.set(START_MS);
  return sandbox;
}

function connect({ keys, baseUrl, fetch }: Sandbox, logger: Logger): PetStoreClient {
  return new PetStoreClient({ apiKey: keys.free, baseUrl, fetch, plan: 'free', logger });
}

/** Keeps lines from a level on, each with its time and level. */
function keep(from: Level): { logger: Logger; lines: string[] } {
  const lines: string[] = [];
  const at = (level: Level) => (message: string) => {
    if (LEVELS.indexOf(level) < LEVELS.indexOf(from)) return;
    lines.push(`${new Date(Date.now()).toISOString().slice(11, 23)} ${level.padEnd(5)} ${message}`);
  };
  return { lines, logger: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') } };
}

/** Many updates at once; later a key that the service closes, and a service that is down. */
async function busyHour(time: FakeTime): Promise<string[]> {
  const sandbox = await serve(time);
  const { logger, lines } = keep('info');
  const petstore = connect(sandbox, logger);
  const updates = Array.from({ length: CALLS }, (_, index) => petstore.updateInventory(index + 1, { quantity: 1 }));
  await time.run(Promise.all(updates), START_MS + HOUR_MS);
  sandbox.faults.add({ times: 1, status: 429, headers: { 'retry-after': '7' } });
  await time.run(petstore.updateInventory(7, { quantity: 2 }), START_MS + HOUR_MS);
  sandbox.faults.add({ times: 4, status: 503 });
  await time.run(petstore.listInventory(), START_MS + HOUR_MS);
  return lines;
}

/** One update that waits for the next minute, and is tried again. */
async function oneCall(time: FakeTime): Promise<string[]> {
  const sandbox = await serve(time);
  const { logger, lines } = keep('debug');
  const petstore = connect(sandbox, logger);
  const before = Array.from({ length: 60 - EARLIER }, () => petstore.listInventory());
  await time.run(Promise.all(before), START_MS + HOUR_MS);
  sandbox.faults.add({ times: 1, status: 500 });
  lines.length = 0;
  await time.run(petstore.updateInventory(42, { quantity: 12 }), START_MS + HOUR_MS);
  return lines;
}

const time = new FakeTime();
time.install();
const guide = new URL('limits.md', import.meta.url);
const blocks = [await busyHour(time), await oneCall(time)].map((lines) => `\`\`\`\n${lines.join('\n')}\n\`\`\``);
const [before = '', section = ''] = (await readFile(guide, 'utf8')).split(/(?=^## The log$)/m);
const written = section.replace(/^```\n[^`]*^```$/gm, () => blocks.shift() ?? '');
if (process.argv.includes('--print')) process.stdout.write(before + written);
else await writeFile(guide, before + written);
process.exit();
