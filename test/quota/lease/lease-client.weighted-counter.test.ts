import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test, vi } from 'vitest';
import { emptyRecord, exchangeLease } from '../../../src/node/quota-record.ts';
import type { LeaseRequest, QuotaStore } from '../../../src/quota-store.ts';
import { importAnew } from '../../support/other-process.ts';
import { holdTime } from '../../support/time.ts';

holdTime();

test('four processes that share a weighted counter use nearly all of it, and meet one 429 at most', async () => {
  const record = emptyRecord();
  const exchange = async (request: LeaseRequest) => exchangeLease(record, request, Date.now());
  const store: QuotaStore = { processes: 2, isCheap: false, join: () => ({ exchange }) };
  const plan = { requestsPerMinute: 300 };
  const { baseUrl, fetch, requests } = createSandbox({ plans: { plan }, keys: { key: 'plan' }, policy: 'sliding-counter', latency: 20 });
  const processes = [await importAnew(), await importAnew(), await importAnew(), await importAnew()];
  const clients = processes.map((process) => new process.PetStoreClient({ apiKey: 'key', baseUrl, fetch, plan, quotaStore: store }));
  const untilMs = Date.now() + 300_000;
  const loops = clients.map(async (client) => {
    while (Date.now() < untilMs) await client.updateInventory(1, { quantity: 1 });
  });
  await vi.advanceTimersByTimeAsync(300_000);
  const refused = requests.filter(({ status }) => status === 429).length;
  expect([requests.length - refused, refused]).toEqual([expect.toSatisfy((sent: number) => sent > 1_450), expect.toBeOneOf([0, 1])]);
  await vi.advanceTimersByTimeAsync(60_000);
  await Promise.all(loops);
});
