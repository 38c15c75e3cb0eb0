import { setTimeout as sleep } from 'node:timers/promises';
import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { HAS_REDIS, RedisServer } from './redis-server.ts';
import { type SeenWindow, windowsSeen } from './windows-seen.ts';
import { firstTurnOfAll, startWorker, stopAll, type Worker, type WorkerOrder } from './workers.ts';

const WINDOW_MS = 2000;
const LIMIT = 240;
const PROCESSES = 3;
/** One lease of every process. */
const LEASES = PROCESSES * (LIMIT / 20);
// More than the headers allow, since the plan's own minute is longer than the window.
const plan = { requestsPerMinute: LIMIT * 30 };

describe.skipIf(!HAS_REDIS && !process.env.CI)('processes that share a key through Redis', () => {
  let redis: RedisServer;
  let served: ServedSandbox<'fleet'>;
  let firstTurnMs: number;
  let workers: Worker[];

  beforeEach(async () => {
    redis = await RedisServer.start();
    served = await serveSandbox({ pets: PROCESSES, window: WINDOW_MS, plans: { fleet: { requestsPerMinute: LIMIT } }, ban: false });
  });

  afterEach(async () => {
    for (const { child } of workers) child.kill('SIGKILL');
    await redis.kill();
    await served.close();
  });

  /** Starts a fleet; resolves when all of it is at work. */
  async function start(order: Partial<WorkerOrder> = {}): Promise<void> {
    const common = {
      baseUrl: served.url,
      apiKey: served.keys.fleet,
      plan,
      redisUrl: redis.url,
      processes: PROCESSES,
      callers: 16,
      ...order,
    };
    workers = Array.from({ length: PROCESSES }, (_, index) => startWorker({ ...common, petId: index + 1 }));
    firstTurnMs = await firstTurnOfAll(served, PROCESSES, WINDOW_MS);
  }

  function fullWindows(): SeenWindow[] {
    return windowsSeen(served.sandbox, WINDOW_MS).filter(({ startsAtMs }) => startsAtMs >= firstTurnMs);
  }

  const untilWindow = (windows: number) => sleep(Math.max(0, firstTurnMs + windows * WINDOW_MS - Date.now()));

  // How even they are is the scheduler's as much as ours: fleet.ts measures it over longer windows.
  test('use every window to 97 %, without a 429, and none of them starves', async () => {
    await start({ library: 'redis' });
    await untilWindow(2);
    const reports = await stopAll(workers);
    const seen = windowsSeen(served.sandbox, WINDOW_MS);
    expect(reports.map((report) => report?.failed)).toEqual([{}, {}, {}]);
    expect(seen.reduce((sum, { refused }) => sum + refused, 0)).toBe(0);
    const full = fullWindows().slice(0, 2);
    expect(Math.min(...full.map(({ admitted }) => admitted))).toBeGreaterThanOrEqual(0.97 * LIMIT);
    const shares = [1, 2, 3].map(
      (pet) => full.reduce((sum, { byPet }) => sum + (byPet[pet] ?? 0), 0) / (full.length * (LIMIT / PROCESSES)),
    );
    expect(Math.min(...shares)).toBeGreaterThan(0.3);
  });

  test('survive that Redis is killed and comes back empty', async () => {
    await start({ library: 'ioredis' });
    await untilWindow(0.1);
    await redis.kill();
    await sleep(WINDOW_MS / 2);
    await redis.restart();
    await untilWindow(3);
    const reports = await stopAll(workers);
    const [killed, ...after] = fullWindows();
    expect(reports.map((report) => report?.failed)).toEqual([{}, {}, {}]);
    expect((killed?.admitted ?? 0) + (killed?.refused ?? 0)).toBeLessThanOrEqual(LIMIT + LEASES);
    expect(reports.flatMap((report) => report?.events ?? [])).toContain('local');
    expect(reports.flatMap((report) => report?.warnings ?? [])).toContainEqual(expect.stringContaining('the quota store cannot be used'));
    expect(after[1]?.admitted).toBeGreaterThanOrEqual(0.97 * LIMIT);
  });

  test('get back the slots of a killed process in the next window', async () => {
    await start();
    await untilWindow(0.05);
    workers[0]?.child.kill('SIGKILL');
    await untilWindow(2);
    const reports = await stopAll(workers);
    const [, next] = fullWindows();
    expect(reports.map((report) => report?.failed)).toEqual([undefined, {}, {}]);
    expect(next).toMatchObject({ admitted: LIMIT, refused: 0 });
  });
});
