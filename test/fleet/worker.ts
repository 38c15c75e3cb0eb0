import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { PetStoreClient } from '../../src/index.ts';

import { fileQuotaStore } from '../../src/node/index.ts';
import type { QuotaStore } from '../../src/quota-store.ts';
import { redisQuotaStore } from '../../src/redis/index.ts';
import type { WorkerOrder, WorkerReport } from './workers.ts';

/** One process of a fleet: it updates its own pet until its time is over, and tells what became of the calls. */
const order: WorkerOrder = JSON.parse(process.argv[2] ?? '{}');

interface Opened {
  quotaStore?: QuotaStore;
  close(): void;
}

async function openIoredis(url: string): Promise<Opened> {
  const client = new Redis(url, { retryStrategy: () => 50 });
  client.on('error', () => {});
  const subscriber = order.subscribes ? new Redis(url, { retryStrategy: () => 50 }) : undefined;
  const close = () => {
    client.disconnect();
    subscriber?.disconnect();
  };
  return { quotaStore: redisQuotaStore(client, { processes: order.processes, subscriber }), close };
}

async function openNodeRedis(url: string): Promise<Opened> {
  const client = createClient({ url, socket: { reconnectStrategy: 50 } });
  client.on('error', () => {});
  await client.connect();
  return { quotaStore: redisQuotaStore(client, { processes: order.processes }), close: () => client.destroy() };
}

async function open(): Promise<Opened> {
  if (order.file) return { quotaStore: fileQuotaStore(order.file), close: () => {} };
  if (!order.redisUrl) return { close: () => {} };
  return order.library === 'redis' ? openNodeRedis(order.redisUrl) : openIoredis(order.redisUrl);
}

const report: WorkerReport = { succeeded: 0, failed: {}, events: [], warnings: [], latenciesMs: [] };
const store = await open();
const client = new PetStoreClient({
  apiKey: order.apiKey,
  baseUrl: order.baseUrl,
  ...(order.plan && { plan: order.plan }),
  ...(store.quotaStore && { quotaStore: store.quotaStore }),
  ...(order.maxWaitMs !== undefined && { maxWaitMs: order.maxWaitMs }),
  logger: { debug: () => {}, info: () => {}, error: () => {}, warn: (message) => report.warnings.push(message) },
});
client.on('quotaStore', ({ state }) => report.events.push(state));

async function callOnce(signal: AbortSignal): Promise<void> {
  const startedAtMs = performance.now();
  try {
    await client.updateInventory(order.petId, { quantity: 1 }, { signal });
    report.succeeded++;
  } catch (error) {
    const name = error instanceof Error ? error.name : String(error);
    if (!signal.aborted) report.failed[name] = (report.failed[name] ?? 0) + 1;
    if (error instanceof Error) report.lastMessage = error.message;
  }
  report.latenciesMs.push(performance.now() - startedAtMs);
}

async function callUntilStopped(stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) await callOnce(stopped);
}

/** Aborts at the first message of whoever started this process. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  process.once('message', () => {
    process.disconnect();
    controller.abort();
  });
  return controller.signal;
}

if (order.calls === undefined) {
  const stopped = stopSignal();
  await Promise.all(Array.from({ length: order.callers ?? 1 }, () => callUntilStopped(stopped)));
} else for (let made = 0; made < order.calls; made++) await callOnce(new AbortController().signal);
client.close();
store.close();
process.stdout.write(`${JSON.stringify(report)}\n`);
