/**
 * One quota for many processes, kept in Redis.
 * @module petstore-inventory/redis
 */
export type { LeaseRequest, LeaseResponse, ObservedWindow, QuotaStore, SharedQuota, StoreKey } from '../quota-store.ts';
export type { IoredisClient, NodeRedisClient, RedisClient, ScriptArguments } from './redis-client.ts';
export { type RedisQuotaStoreOptions, redisQuotaStore } from './redis-quota-store.ts';
export type { IoredisSubscriber, NodeRedisSubscriber, RedisSubscriber } from './redis-subscriber.ts';
