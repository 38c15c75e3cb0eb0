// One worker of a fleet that shares a key through Redis: REDIS_URL=redis://127.0.0.1:6379 fleet.ts [petId ...]
import { Redis } from 'ioredis';
import { PetStoreClient } from 'petstore-inventory';
import { redisQuotaStore } from 'petstore-inventory/redis';
import { service } from './service.ts';

const { REDIS_URL } = process.env;
if (!REDIS_URL) throw new Error('usage: REDIS_URL=redis://127.0.0.1:6379 fleet.ts [petId ...]');
const petIds = process.argv.slice(2);

const redis = new Redis(REDIS_URL);
// A second connection hears at once when the service closes the key for another worker.
const subscriber = new Redis(REDIS_URL);
const petstore = new PetStoreClient({ ...service(), quotaStore: redisQuotaStore(redis, { processes: 8, subscriber }) });
petstore.on('quotaStore', ({ state, reason }) => console.log(`the quota is ${state}${reason ? `: ${reason}` : ''}`));

const updates = (petIds.length > 0 ? petIds : ['1', '2', '3']).map((petId) => petstore.updateInventory(BigInt(petId), { quantity: 10 }));
for (const { petId, quantity } of await Promise.all(updates)) console.log(`pet ${petId} stands at ${quantity}`);

const { minute } = petstore.quota;
console.log(`${minute.remaining} of ${minute.limit} requests left in this minute, for all workers together`);

// The connections are ours: without this the process would stay.
redis.disconnect();
subscriber.disconnect();
