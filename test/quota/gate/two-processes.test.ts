import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test, vi } from 'vitest';
import { importAnew } from '../../support/other-process.ts';
import { holdTime } from '../../support/time.ts';

holdTime();

test.each([0, 13_000, 31_000, 47_500, 59_200])(
  'a program that lists once a second and a bulk job of another process, %i ms after a full minute, get no ban for their key',
  async (afterMs) => {
    const { baseUrl, fetch, keys, requests } = createSandbox({ latency: 20 });
    const options = { apiKey: keys.pro, baseUrl, fetch, plan: 'pro' } as const;
    const lister = new (await importAnew()).PetStoreClient(options);
    const job = new (await importAnew()).PetStoreClient(options);
    await vi.advanceTimersByTimeAsync(afterMs);
    const failures: unknown[] = [];
    const note = (failure: unknown) => failures.push(failure);
    const stop = setInterval(() => lister.listInventory().catch(note), 1_000);
    let left = 1_500;
    const worker = async () => {
      while (left-- > 0) await job.updateInventory(1 + (left % 12), { quantity: left });
    };
    const workers = Promise.all(Array.from({ length: 50 }, worker)).catch(note);
    await vi.advanceTimersByTimeAsync(420_000);
    clearInterval(stop);
    await vi.advanceTimersByTimeAsync(60_000);
    await workers;
    const statuses = requests.map(({ status }) => status);
    expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(15);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(statuses.length).toBeGreaterThanOrEqual(1_900);
    expect(failures).toEqual([]);
  },
);

test('two processes with more calls than a small token bucket has slots use all of them, and stop meeting 429s', async () => {
  const plans = { tiny: { requestsPerMinute: 2 } };
  const { baseUrl, fetch, requests } = createSandbox({ plans, keys: { key: 'tiny' }, policy: 'token-bucket', latency: 60 });
  const options = { apiKey: 'key', baseUrl, fetch, plan: plans.tiny, maxWaitMs: 3_600_000 };
  const clients = [await importAnew(), await importAnew()].map(({ PetStoreClient }) => new PetStoreClient(options));
  const calls = clients.flatMap((client) => Array.from({ length: 20 }, () => client.listInventory().catch(() => undefined)));
  await vi.advanceTimersByTimeAsync(900_000);
  const statuses = requests.map(({ status }) => status);
  for (const client of clients) client.close();
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all(calls);
  // One slot comes back each half minute, and two are there at the start.
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(30);
  expect(statuses.filter((status) => status === 429).length).toBeLessThanOrEqual(3);
});
