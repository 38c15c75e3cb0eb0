/**
 * Short scripts on one key and one file, as cron starts them: fifty one after the other, then twenty at once, on a day that allows fewer.
 *
 *     npm exec -- node test/fleet/scripts.ts
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serveSandbox } from '../../src/node/index.ts';
import { startWorker, type WorkerReport } from './workers.ts';

const WINDOW_MS = 3000;
const folder = mkdtempSync(join(tmpdir(), 'petstore-'));
const limits = { requestsPerMinute: 10, requestsPerDay: 60 };
const served = await serveSandbox({ pets: 1, window: WINDOW_MS, plans: { cron: limits }, ban: false });
const apiKey = served.keys.cron ?? '';
const order = {
  baseUrl: served.url,
  apiKey,
  petId: 1,
  // The minute is shorter than a minute here, so that the headers govern it.
  plan: { requestsPerMinute: 200, requestsPerDay: limits.requestsPerDay },
  file: join(folder, 'quota.db'),
  calls: 1,
};

const oneByOne: (WorkerReport | undefined)[] = [];
const startedAtMs = Date.now();
for (let script = 0; script < 50; script++) oneByOne.push(await startWorker(order).report);
const oneByOneMs = Date.now() - startedAtMs;
tell('one after the other', oneByOne, { ms: oneByOneMs, seenBefore: 0 });
const seenBefore = served.sandbox.requests.length;
const atOnce = await Promise.all(Array.from({ length: 20 }, () => startWorker(order).report));
tell('at once, 10 left of the day', atOnce, { ms: Date.now() - startedAtMs - oneByOneMs, seenBefore });
await served.close();
rmSync(folder, { recursive: true });

function tell(name: string, reports: readonly (WorkerReport | undefined)[], { ms, seenBefore }: { ms: number; seenBefore: number }): void {
  const statuses = served.sandbox.requests.slice(seenBefore).map(({ status }) => status);
  console.log(name, {
    ms,
    scripts: reports.length,
    succeeded: reports.reduce((sum, report) => sum + (report?.succeeded ?? 0), 0),
    requests: statuses.length,
    '429s': statuses.filter((status) => status === 429).length,
    lastMessage: reports.findLast((report) => report?.lastMessage)?.lastMessage,
    warnings: reports.flatMap((report) => report?.warnings ?? ['killed']),
  });
}
