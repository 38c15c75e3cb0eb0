/**
 * One quota for many processes, kept in Redis.
 *
 * @module redis
 */
export type { HeardWindow, LeaseAnswer, LeaseAsk, QuotaStore, SharedQuota, StoreKey } from '../quota/store.ts';
export type { IoredisClient, NodeRedisClient, RedisClient } from './redis-client.ts';
export { type RedisQuotaStoreOptions, redisQuotaStore } from './redis-quota-store.ts';
export type { RedisSubscriber } from './redis-subscriber.ts';
