// One worker of a fleet: it takes updates from a list in Redis and shares the quota of the key with the other workers, 429s included.
//
//     npm install petstore-inventory ioredis
//     redis-cli RPUSH updates '{"petId":"1","quantity":10}' '{"petId":"2","quantity":11}'
//     REDIS_URL=redis://127.0.0.1:6379 PETSTORE_BASE_URL=https://shop.example/v1 PETSTORE_API_KEY=your-key node fleet.ts
//
// Start as many as you like, on as many machines as you like; SIGTERM ends one, and what it had in hand goes back to the list.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { isPetStoreError, PetStoreClient } from 'petstore-inventory';
import { redisQuotaStore } from 'petstore-inventory/redis';

const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
const QUEUE = 'updates';
/** What workers have in hand: what stays here after one was killed can be put back, since setting a quantity twice does no harm. */
const TAKEN = 'updates:taken';

const redis = new Redis(REDIS_URL);
// It hears at once when the service closes the key for another worker.
const subscriber = redis.duplicate();
// Waiting for work blocks a connection, so it has one of its own.
const taker = redis.duplicate();
const petstore = new PetStoreClient({ quotaStore: redisQuotaStore(redis, { processes: 8, subscriber }) });
petstore.on('quotaStore', ({ state, reason }) => console.log(`the quota is ${state}${reason ? `: ${reason}` : ''}`));

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

console.log(`waiting for work in ${QUEUE}`);
while (!stop.signal.aborted) {
  const job = await taker.blmove(QUEUE, TAKEN, 'LEFT', 'RIGHT', 0.5);
  if (job !== null) await work(job);
}

petstore.close();
// The connections are ours: without this the process would stay.
for (const connection of [redis, subscriber, taker]) connection.disconnect();

async function work(job: string): Promise<void> {
  try {
    const { petId, quantity } = JSON.parse(job);
    // BigInt keeps every digit of an int64.
    const item = await petstore.updateInventory(BigInt(petId), { quantity }, { signal: stop.signal });
    console.log(`pet ${item.petId} stands at ${item.quantity}`);
    await redis.lrem(TAKEN, 1, job);
  } catch (error) {
    console.error(`${job}: ${error instanceof Error ? error.message : error}`);
    if (!mayHelpLater(error)) return void (await redis.lrem(TAKEN, 1, job));
    await redis.multi().lrem(TAKEN, 1, job).rpush(QUEUE, job).exec();
    await pauseAfter(error);
  }
}

/** An outage, a used-up day and our own stop pass; a pet that is not there and a job that is none do not. */
function mayHelpLater(error: unknown): boolean {
  if (!isPetStoreError(error)) return stop.signal.aborted;
  return !['bad-request', 'not-found', 'invalid-argument'].includes(error.kind);
}

/** Until the service can be asked again: the next job would fail as this one did. */
async function pauseAfter(error: unknown): Promise<void> {
  const untilMs = (isPetStoreError(error) && error.retryAt?.getTime()) || Date.now() + 10_000;
  await sleep(untilMs - Date.now(), undefined, { signal: stop.signal }).catch(() => {});
}
