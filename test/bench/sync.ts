/**
 * What `petstore sync` costs on large stocks, against a sandbox over HTTP (Linux: memory is read from /proc):
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings test/bench/sync.ts'
 */
import { spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { serveSandbox } from '../../src/node/serve.ts';
import { buildCli } from '../cli/support/build-cli.ts';

interface Scenario {
  name: string;
  pets: number;
  changed: number;
  dryRun?: boolean;
  journal?: boolean;
}

interface Figures {
  requests: number;
  peakMB: number;
  seconds: string;
  /** From the end of the list to the first update; undefined where none is sent. */
  firstUpdateMs: number | undefined;
  code: number | null;
}

const SCENARIOS: Scenario[] = [
  { name: '900 pets, 30 changed', pets: 900, changed: 30 },
  { name: '50,000 pets, all changed, dry run', pets: 50_000, changed: 50_000, dryRun: true },
  { name: '100,000 pets, 200 changed', pets: 100_000, changed: 200 },
  { name: '1,000,000 rows, 200 changed', pets: 1_000_000, changed: 200 },
  { name: '1,000,000 rows with a journal, 200 changed', pets: 1_000_000, changed: 200, journal: true },
];

const { folder, file } = await buildCli();
for (const scenario of SCENARIOS) console.log(scenario.name.padEnd(46), await measure(scenario));
await rm(folder, { recursive: true });

async function measure({ pets, changed, dryRun = false, journal = false }: Scenario): Promise<Figures> {
  const csv = join(folder, `${pets}.csv`);
  await writeCsv(csv, pets, changed);
  const served = await serveSandbox({
    pets: Array.from({ length: pets }, (_, index) => ({ petId: index + 1, quantity: 5 })),
    plans: { business: { requestsPerMinute: 1_000_000 } },
  });
  const started = performance.now();
  const words = ['sync', csv, ...(journal ? ['--journal', join(folder, 'journal')] : []), ...(dryRun ? ['--dry-run'] : [])];
  const child = spawn(process.execPath, [file, ...words], {
    env: {
      ...process.env,
      PETSTORE_BASE_URL: served.url,
      PETSTORE_API_KEY: served.keys.business,
      PETSTORE_PLAN: 'unlimited',
      PETSTORE_LOG: 'debug',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let peakKB = 0;
  const watch = setInterval(() => {
    peakKB = Math.max(peakKB, peakOf(child.pid));
  }, 10);
  const marks: { listEnd?: number; firstUpdate?: number } = {};
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (/inventory ends after/.test(text)) marks.listEnd ??= performance.now();
    if (/update pet \d+ sends attempt 1/.test(text)) marks.firstUpdate ??= performance.now();
  });
  const code = await new Promise<number | null>((resolve) => child.once('exit', resolve));
  clearInterval(watch);
  const requests = served.sandbox.requests.length;
  await served.close();
  return {
    requests,
    peakMB: Math.round(peakKB / 1024),
    seconds: ((performance.now() - started) / 1000).toFixed(1),
    firstUpdateMs: marks.firstUpdate && marks.listEnd ? Math.round(marks.firstUpdate - marks.listEnd) : undefined,
    code,
  };
}

async function writeCsv(path: string, pets: number, changed: number): Promise<void> {
  const output = createWriteStream(path);
  output.write('petId,quantity,adjust\n');
  const step = pets / changed;
  for (let petId = 1; petId <= pets; petId++) {
    const isLast = petId % step === 0;
    if (!output.write(isLast ? `${petId},,+2\n` : `${petId},5,\n`)) await new Promise((resolve) => output.once('drain', resolve));
  }
  output.end();
  await finished(output);
}

function peakOf(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}
