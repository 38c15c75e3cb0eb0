/**
 * Eight processes on one key over three full windows, and what the service and Redis saw of them.
 *
 *     npm exec -- node test/fleet/fleet.ts [ioredis|redis|none] [processes] [limit] [windowMs] [windows] [kill]
 *
 * `none`: without a store, by the headers alone.
 * `kill`: Redis is killed (SIGKILL) at a quarter of the second window and comes back empty half a window later.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { serveSandbox } from '../../src/node/index.ts';
import { RedisServer } from './redis-server.ts';
import { type SeenWindow, windowsSeen } from './windows-seen.ts';
import { firstTurnOfAll, startWorker, stopAll } from './workers.ts';

const [, , library = 'ioredis', processesText = '8', limitText = '1000', windowText = '6000', windowsText = '3', mode] = process.argv;
const [processes, limit, windowMs, windowCount] = [Number(processesText), Number(limitText), Number(windowText), Number(windowsText)];

const redis = await RedisServer.start();
const served = await serveSandbox({
  pets: processes,
  window: windowMs,
  plans: { fleet: { requestsPerMinute: limit } },
  ban: false,
});
// More than the headers allow in a window, since the plan's own minute is longer than the window.
const plan = { requestsPerMinute: limit * Math.ceil(60_000 / windowMs) };
const workers = Array.from({ length: processes }, (_, index) =>
  startWorker({
    baseUrl: served.url,
    apiKey: served.keys.fleet ?? '',
    petId: index + 1,
    plan,
    ...(library !== 'none' && { redisUrl: redis.url }),
    library: library === 'redis' ? 'redis' : 'ioredis',
    processes,
    callers: 16,
  }),
);
const startedAtMs = Date.now();
const log = (text: string) => console.log(`${((Date.now() - startedAtMs) / 1000).toFixed(2).padStart(6)} s  ${text}`);
log(`${processes} processes, limit ${limit} in ${windowMs} ms`);

const firstTurnMs = await firstTurnOfAll(served, processes, windowMs);
const untilMs = firstTurnMs + windowCount * windowMs;
log('every process is at work');
if (mode === 'kill') {
  await sleep(firstTurnMs + 1.25 * windowMs - Date.now());
  await redis.kill();
  log('Redis killed');
  await sleep(windowMs / 2);
  await redis.restart();
  log('Redis is back, empty');
}
await sleep(Math.max(0, untilMs - Date.now()));
const reports = await stopAll(workers);
log('every process ended by itself');
const scripts = await redis.scriptsRun();
await redis.kill();

const windows = windowsSeen(served.sandbox, windowMs);
const refusedAt = served.sandbox.requests.filter(({ status }) => status === 429).map(({ atMs, petId }) => `${atMs - firstTurnMs}:${petId}`);
if (refusedAt.length > 0) console.log('429s, ms after the first turn, and process:', refusedAt.join(' '));
const full = windows.filter(({ startsAtMs }) => startsAtMs >= firstTurnMs && startsAtMs < untilMs);
console.table(
  full.map((window) => ({
    admitted: window.admitted,
    of: limit,
    used: percent(window.admitted / limit),
    refused: window.refused,
    ...fairness(window),
  })),
);
const total = windows.reduce((sum, window) => sum + window.admitted, 0);
console.table({
  '429s': windows.reduce((sum, window) => sum + window.refused, 0),
  'scripts per request': (scripts / total).toFixed(3),
  'failed calls': JSON.stringify(reports.map((report) => report?.failed ?? 'killed')),
  events: JSON.stringify(reports.map((report) => report?.events ?? [])),
});
console.table({ ...fairness(sumUp(full)) });
await served.close();

function fairness({ byPet }: Pick<SeenWindow, 'byPet'>): { least: number; most: number; spread: string } {
  const counts = Array.from({ length: processes }, (_, index) => byPet[String(index + 1)] ?? 0);
  const mean = counts.reduce((sum, count) => sum + count, 0) / processes;
  const farthest = Math.max(...counts.map((count) => Math.abs(count - mean)));
  return { least: Math.min(...counts), most: Math.max(...counts), spread: percent(farthest / mean) };
}

function sumUp(windows: readonly SeenWindow[]): Pick<SeenWindow, 'byPet'> {
  const byPet: Record<string, number> = {};
  for (const window of windows) for (const [pet, count] of Object.entries(window.byPet)) byPet[pet] = (byPet[pet] ?? 0) + count;
  return { byPet };
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}
