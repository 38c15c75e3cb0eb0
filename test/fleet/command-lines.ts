/**
 * Two command lines that synchronise and an application that updates, all on one key, and what the service saw of them.
 *
 *     npm exec -- node test/fleet/command-lines.ts [file|redis|none] [runs] [ban after] [windowMs]
 *
 * `none`: the command lines share what they keep by themselves, and the application shares nothing.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveSandbox } from 'petstore-inventory/node';
import { RedisServer } from './redis-server.ts';
import { startWorker, stopAll } from './workers.ts';

const LIMIT = 60;
const ROWS = 90;
const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

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

/** Runs all three until the command lines have ended. */
export async function runTogether(
  store: 'file' | 'redis' | 'none',
  { banAfter, windowMs }: { banAfter: number; windowMs: number },
): Promise<SeenRun> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-fleet-'));
  const redis = store === 'redis' ? await RedisServer.start() : undefined;
  const served = await serveSandbox({
    pets: ROWS * 2 + 1,
    window: windowMs,
    plans: { fleet: { requestsPerMinute: LIMIT } },
    ban: { after: banAfter, forMs: 600_000 },
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

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [, , store = 'file', runs = '1', banAfter = '0', windowMs = '60000'] = process.argv;
  const place = store === 'redis' || store === 'none' ? store : 'file';
  const seen: SeenRun[] = [];
  for (let run = 0; run < Number(runs); run++)
    seen.push(await runTogether(place, { banAfter: Number(banAfter), windowMs: Number(windowMs) }));
  console.table(seen.map(({ codes, ...rest }) => ({ codes: codes.join(' '), ...rest })));
}
