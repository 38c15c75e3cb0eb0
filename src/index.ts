/**
 * A typed client for the pet store's inventory service.
 * @module index
 */
export { PetStoreClient, type ReplyPromise } from './client.ts';
export { API_VERSION } from './contract/http.ts';
export { ErrorBody, type Int64, InventoryItem, InventoryUpdate, isPetStatus, PetId, PetStatus } from './contract/models.ts';
export { PLANS, type PlanLimits, type PlanName } from './contract/plans.ts';
export * from './errors.ts';
export type { CallEvent, ClientEvents, Logger, WaitReason } from './events.ts';
export { InventoryStream } from './inventory-stream.ts';
export type { BaseUrl, Environment } from './options/base-url.ts';
export type { RequestOptions } from './options/call-options.ts';
export type { ApiKeySource, PetStoreClientOptions } from './options/client-options.ts';
export type { Reply } from './pipeline.ts';
export type { Quota, WindowQuota } from './quota/quota.ts';
export type { HeardWindow, LeaseAnswer, LeaseAsk, QuotaStore, SharedQuota, StoreKey } from './quota-store.ts';
export * from './sync/index.ts';
