import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { startWorker, type WorkerOrder, type WorkerReport } from '../fleet/workers.ts';

const WINDOW_MS = 2000;
const LIMITS = { requestsPerMinute: 8, requestsPerDay: 16 };

describe('scripts that share a file', () => {
  let folder: string;
  let served: ServedSandbox<'cron'>;
  const run = (order: Partial<WorkerOrder> = {}) =>
    startWorker({
      baseUrl: served.url,
      apiKey: served.keys.cron,
      petId: 1,
      // The minute is shorter than a minute here, so that the headers govern it.
      plan: { requestsPerMinute: 300, requestsPerDay: LIMITS.requestsPerDay },
      file: join(folder, 'quota.db'),
      calls: 1,
      ...order,
    }).report;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    served = await serveSandbox({ pets: 1, window: WINDOW_MS, plans: { cron: LIMITS }, policy: 'fixed-first', ban: false });
  });

  afterEach(async () => {
    await served.close();
    rmSync(folder, { recursive: true });
  });

  test('meet no 429 and never exceed the day, one after the other and at once', async () => {
    const reports: (WorkerReport | undefined)[] = [];
    for (let script = 0; script < 3; script++) reports.push(await run({ calls: 3 }));
    reports.push(...(await Promise.all(Array.from({ length: 10 }, () => run()))));
    const succeeded = reports.reduce((sum, report) => sum + (report?.succeeded ?? 0), 0);
    expect(served.sandbox.report()).toMatchObject({ requests: LIMITS.requestsPerDay, rateLimited: 0 });
    expect(succeeded).toBe(LIMITS.requestsPerDay);
    expect(reports.filter((report) => report?.failed.RateLimitError)).toHaveLength(3);
  });

  test('send nothing during a penalty, and say until when', async () => {
    served.sandbox.faults.add({ status: 429, headers: { 'Retry-After': '3600' }, times: 1 });
    await run({ maxWaitMs: 1000 });
    const report = await run({ maxWaitMs: 1000 });
    expect(served.sandbox.report().requests).toBe(1);
    expect(report).toMatchObject({
      failed: { RateLimitError: 1 },
      lastMessage: expect.stringMatching(/the service closed this key until 20\d\d-/),
    });
  });
});
