// One worker of a fleet: it takes pets from a list in Redis, sets each to the quantity that a hash wants, and shares the quota of the
// key with the other workers, 429s included.
//
//     npm install petstore-inventory ioredis
//     redis-cli HSET wanted 1 10 2 11 && redis-cli RPUSH updates 1 2
//     REDIS_URL=redis://127.0.0.1:6379 PETSTORE_BASE_URL=https://shop.example/v1 PETSTORE_API_KEY=your-key node fleet.ts
//
// Start as many as you like, on as many machines as you like. SIGTERM ends one, and puts the pet that it was working on back on the list.
// A pet that cannot be updated, such as one that the service does not know, goes to the list `updates:failed`.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { isPetStoreError, isRetryable, PetStoreClient } from 'petstore-inventory';
import { redisQuotaStore } from 'petstore-inventory/redis';

const { REDIS_URL = 'redis://127.0.0.1:6379' } = process.env;
/** Pets and their quantities. In a list of changes, one that failed and was put back could overwrite a newer one. */
const WANTED = 'wanted';
const QUEUE = 'updates';
/** The pets that workers are working on. If a worker was killed, its pet stays here and can be put back on the list. */
const TAKEN = 'updates:taken';
/** The pets whose updates would fail again. When the cause is mended, they can be put back on the list. */
const FAILED = 'updates:failed';

const redis = new Redis(REDIS_URL);
// It learns at once when the service closes the key for another worker.
const subscriber = redis.duplicate();
// Waiting for work blocks a connection, so it has one of its own.
const taker = redis.duplicate();
// Without `int64`, the answer for a pet whose id is beyond 2^53 could not be read.
const petstore = new PetStoreClient({ int64: 'bigint', quotaStore: redisQuotaStore(redis, { processes: 8, subscriber }) });
petstore.on('quotaStore', ({ state, reason }) => console.log(`the quota is ${state}${reason ? `: ${reason}` : ''}`));

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
process.once('SIGINT', () => stop.abort());

console.log(`waiting for work in ${QUEUE}`);
while (!stop.signal.aborted) {
  const petId = await taker.blmove(QUEUE, TAKEN, 'LEFT', 'RIGHT', 0.5);
  if (petId !== null) await work(petId);
}

petstore.close();
// This program opened the connections: without this the process would not exit.
for (const connection of [redis, subscriber, taker]) connection.disconnect();

async function work(petId: string): Promise<void> {
  try {
    await bringToWanted(petId);
    await redis.lrem(TAKEN, 1, petId);
  } catch (error) {
    console.error(`${petId}: ${error instanceof Error ? error.message : error}`);
    const list = mayHelpLater(error) ? QUEUE : FAILED;
    await redis.multi().lrem(TAKEN, 1, petId).rpush(list, petId).exec();
    if (list === QUEUE) await pauseAfter(error);
  }
}

/** The wanted quantity may change while it is sent, and another worker may send the new one: so it is read again afterwards. */
async function bringToWanted(petId: string): Promise<void> {
  let sent: string | undefined;
  for (let wanted = await redis.hget(WANTED, petId); wanted && wanted !== sent; wanted = await redis.hget(WANTED, petId)) {
    // BigInt keeps every digit of an int64.
    const item = await petstore.updateInventory(BigInt(petId), { quantity: Number(wanted) }, { signal: stop.signal });
    console.log(`pet ${item.petId} stands at ${item.quantity}`);
    sent = wanted;
  }
}

/** An outage, a used-up day and our own stop are temporary. A refused key or certificate concerns every pet, and somebody will replace it. */
function mayHelpLater(error: unknown): boolean {
  if (!isPetStoreError(error)) return stop.signal.aborted;
  return isRetryable(error) || ['authentication', 'configuration', 'connection'].includes(error.kind);
}

/** Waits until the service accepts requests again: until then, the next pet would fail as this one did. */
async function pauseAfter(error: unknown): Promise<void> {
  const untilMs = (isPetStoreError(error) && error.retryAt?.getTime()) || Date.now() + 10_000;
  await sleep(untilMs - Date.now(), undefined, { signal: stop.signal }).catch(() => {});
}
