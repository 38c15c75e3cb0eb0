/**
 * Two command lines that synchronise and an application that updates, all on one key, and what the service saw of them.
 *
 *     npm exec -c 'node test/fleet/command-lines.ts --store none --runs 20 --at-once 5 --policy sliding-log --counts-refused'
 *
 * `none`: the command lines share what they keep by themselves, and the application shares nothing.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type ServeSandboxOptions, serveSandbox } from 'petstore-inventory/node';
import { RedisServer } from './redis-server.ts';
import { startWorker, stopAll } from './workers.ts';

const LIMIT = 60;
const ROWS = 90;
const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

const STORES = ['file', 'redis', 'none'] as const;
const POLICIES = ['fixed-clock', 'fixed-first', 'sliding-log', 'token-bucket', 'sliding-counter'] as const;

type Store = (typeof STORES)[number];

/** What the service saw of a run. */
export interface SeenRun {
  /** Exit codes of the command lines. */
  codes: (number | null)[];
  admitted: number;
  refused: number;
  bans: number;
  /** Calls of the application that succeeded. */
  served: number;
}

/** How the service counts and bans, and how long its window is. */
export interface CountedBy extends Pick<ServeSandboxOptions, 'policy' | 'counting' | 'ban'> {
  windowMs: number;
}

/** Runs all three until the command lines have ended. */
export async function runTogether(store: Store, { windowMs, ...counted }: CountedBy): Promise<SeenRun> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-fleet-'));
  const redis = store === 'redis' ? await RedisServer.start() : undefined;
  const served = await serveSandbox({
    ...counted,
    pets: ROWS * 2 + 1,
    window: windowMs,
    plans: { fleet: { requestsPerMinute: LIMIT } },
  });
  const place = { file: `file:${join(folder, 'q.db')}`, redis: redis?.url, none: undefined }[store];
  const apiKey = served.keys.fleet;
  // More than the headers allow where the window is shorter than the plan's own minute.
  const plan = { requestsPerMinute: Math.ceil((LIMIT * 60_000) / windowMs) };
  const order = { baseUrl: served.url, apiKey, plan, petId: ROWS * 2 + 1, callers: 2 };
  const application = startWorker({
    ...order,
    ...(store === 'file' && { file: join(folder, 'q.db') }),
    ...(redis && { redisUrl: redis.url }),
  });
  const sync = (from: number): Promise<number | null> => {
    const csv = join(folder, `${from}.csv`);
    const rows = Array.from({ length: ROWS }, (_, index) => `${from + index},777`);
    writeFileSync(csv, `petId,quantity\n${rows.join('\n')}\n`);
    const words = ['sync', csv, '--plan', String(plan.requestsPerMinute), ...(place ? ['--quota-store', place] : [])];
    const env = { ...process.env, PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: apiKey, XDG_STATE_HOME: folder };
    const child = spawn(process.execPath, [CLI, ...words], { env, stdio: 'ignore' });
    return new Promise((resolve) => child.once('exit', resolve));
  };
  try {
    const codes = await Promise.all([sync(1), sync(ROWS + 1)]);
    const [report] = await stopAll([application]);
    const { rateLimited, bans, byStatus } = served.sandbox.report();
    return { codes, admitted: byStatus[200] ?? 0, refused: rateLimited, bans, served: report?.succeeded ?? 0 };
  } finally {
    application.child.kill('SIGKILL');
    await redis?.kill();
    await served.close();
    rmSync(folder, { recursive: true });
  }
}

function readArguments() {
  const { values } = parseArgs({
    options: {
      store: { type: 'string', default: 'file' },
      runs: { type: 'string', default: '1' },
      'at-once': { type: 'string', default: '1' },
      'window-ms': { type: 'string', default: '60000' },
      'ban-after': { type: 'string', default: '10' },
      policy: { type: 'string', default: 'fixed-clock' },
      'counts-refused': { type: 'boolean', default: false },
    },
  });
  const store = STORES.find((name) => name === values.store);
  const policy = POLICIES.find((name) => name === values.policy);
  if (!store || !policy) throw new Error(`--store is one of ${STORES.join(', ')}, --policy one of ${POLICIES.join(', ')}`);
  const ban = { after: Number(values['ban-after']), forMs: 600_000 };
  const counted: CountedBy = { windowMs: Number(values['window-ms']), policy, ban, counting: { refused: values['counts-refused'] } };
  return { store, counted, runs: Number(values.runs), atOnce: Number(values['at-once']) };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { store, counted, runs, atOnce } = readArguments();
  const seen: SeenRun[] = [];
  let left = runs;
  const work = async () => {
    while (left-- > 0) seen.push(await runTogether(store, counted));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  console.table(seen.map(({ codes, ...rest }) => ({ codes: codes.join(' '), ...rest })));
}
