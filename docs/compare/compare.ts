/**
 * Does three tasks with four clients, in fake time against the sandbox:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings docs/compare/compare.ts'
 *
 * It puts the figures and the code of the clients into docs/compare.md; the same sources give the same page.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { createSandbox, type Sandbox } from '../../src/sandbox/index.ts';
import { FakeTime } from '../fake-time.ts';
import type * as Client from './petstore-inventory.ts';

const CLIENTS = ['fetch', 'ky', 'openapi-fetch', 'petstore-inventory'];
const PETS = Array.from({ length: 150 }, (_, index) => index + 1);
const EARLIER = 40;
const HOUR_MS = 3_600_000;
const FIRST_MS = Date.parse('2026-11-21T12:00:20Z');

type Work = (client: typeof Client) => Promise<number>;

interface Task {
  title: string;
  /** How the service refuses. */
  refuse: (sandbox: Sandbox) => Promise<unknown>;
  /** Does the task, and counts what was lost. */
  work: Work;
}

const answersOnce429 = async ({ faults }: Sandbox) => faults.add({ times: 1, status: 429, headers: { 'retry-after': '2' } });

const TASKS: readonly Task[] = [
  { title: 'List and sum', refuse: answersOnce429, work: ({ sum }) => sum().then(() => 0) },
  { title: 'Set one quantity', refuse: answersOnce429, work: ({ setOne }) => setOne(1, { quantity: 5 }).then(() => 0) },
  {
    title: 'Set 150 quantities',
    refuse: ({ fetch, baseUrl, keys }) => {
      const headers = { authorization: `Bearer ${keys.free}` };
      return Promise.all(Array.from({ length: EARLIER }, () => fetch(`${baseUrl}/inventory`, { headers })));
    },
    work: async ({ setMany }) => {
      const results = await setMany(PETS, { quantity: 5 });
      return results.filter(({ status }) => status === 'rejected').length;
    },
  },
];

/** Plays a task, and gives its row of the table. */
async function play({ title, refuse, work }: Task, name: string, time: FakeTime, startMs: number): Promise<string> {
  time.set(startMs - 15_000);
  const sandbox = createSandbox({ pets: PETS.length, latency: { fromMs: 20, toMs: 200 } });
  globalThis.fetch = sandbox.fetch;
  Object.assign(process.env, { PETSTORE_BASE_URL: sandbox.baseUrl, PETSTORE_API_KEY: sandbox.keys.free });
  await time.run(refuse(sandbox), startMs);
  sandbox.clear();
  time.set(startMs);
  const client: typeof Client = await import(`./${name}.ts?${startMs}`);
  let [lost, doneMs] = [0, startMs];
  const done = work(client)
    .catch(() => 1)
    .then((count) => {
      [lost, doneMs] = [count, Date.now()];
    });
  await time.run(done, startMs + HOUR_MS);
  const statuses = sandbox.requests.map(({ status }) => status);
  const [refused, banned] = [429, 401].map((status) => statuses.filter((one) => one === status).length);
  const seconds = ((doneMs - startMs) / 1000).toFixed(1);
  return `| ${title} | ${name} | ${statuses.length} | ${refused} | ${banned ? 'yes' : 'no'} | ${seconds} | ${lost} |`;
}

async function rows(): Promise<string[]> {
  const time = new FakeTime();
  time.install();
  const table: string[] = [];
  for (const task of TASKS) for (const name of CLIENTS) table.push(await play(task, name, time, FIRST_MS + table.length * 24 * HOUR_MS));
  return table;
}

const page = new URL('../compare.md', import.meta.url);
const HEAD = '| task | client | requests | 429s | banned | seconds | lost |\n|---|---|--:|--:|---|--:|--:|\n';

/** The page with the table and the code made anew. */
async function make(): Promise<string> {
  let text = await readFile(page, 'utf8');
  text = text.replace(/^\| task [\s\S]*?\n(?!\|)/m, `${HEAD}${(await rows()).join('\n')}\n`);
  for (const name of CLIENTS) {
    const code = await readFile(new URL(`${name}.ts`, import.meta.url), 'utf8');
    text = text.replace(
      new RegExp(`^(## With ${name}\n[\\s\\S]*?\`\`\`ts\n)[\\s\\S]*?^\`\`\`$`, 'm'),
      (_, before) => `${before}${code}\`\`\``,
    );
  }
  return text;
}

const { values } = parseArgs({ options: { print: { type: 'boolean' } } });
const made = await make();
if (values.print) process.stdout.write(made);
else await writeFile(page, made);
