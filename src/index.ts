/**
 * A typed client for the pet store's inventory service.
 *
 * In all examples `sandbox` is a sandbox and `petstore` a client of it, so that each example runs without a key:
 *
 * ```ts
 * const sandbox = createSandbox();
 * const petstore = new PetStoreClient({ apiKey: sandbox.keys.business, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });
 * ```
 *
 * In examples that use `apiKey` and `baseUrl`, these are your own.
 * @module petstore-inventory
 */
export type { InventoryItems, PetStoreApi } from './api.ts';
export { PetStoreClient, type PetStoreFetch } from './client.ts';
export { API_VERSION } from './contract/http.ts';
export { ErrorBody, type Int64, InventoryItem, InventoryUpdate, PetId, PetStatus } from './contract/models.ts';
export { isPetStatus } from './contract/pet-status.ts';
export { PLANS, type PlanLimits, type PlanName } from './contract/plans.ts';
export * from './errors.ts';
export type { CallEvent, ClientEvents, Logger, WaitReason } from './events.ts';
export type { InventoryStream } from './inventory-stream.ts';
export type { ListSink } from './operations/item-batches.ts';
export type { BaseUrl, Environment } from './options/base-url.ts';
export type { RequestOptions } from './options/call-options.ts';
export type { ApiKeySource, PetStoreClientOptions } from './options/client-options.ts';
export type { Quota, RetryBudgetState, WindowQuota } from './quota/ledger/quota.ts';
export type { LeaseRequest, LeaseResponse, ObservedWindow, QuotaStore, SharedQuota, StoreKey } from './quota-store.ts';
export { type CallRecording, type RecordOptions, recordCalls } from './record-calls.ts';
export { type Reply, type ReplyPromise, reply } from './reply.ts';
export { isRetryable } from './retry/policy.ts';
export * from './sync/index.ts';
export * from './view/index.ts';
