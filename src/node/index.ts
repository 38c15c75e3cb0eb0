/**
 * What needs Node: journals and quotas in files, and the sandbox on a port.
 * @module petstore-inventory/node
 */
export type { LeaseRequest, LeaseResponse, ObservedWindow, QuotaStore, SharedQuota, StoreKey } from '../quota-store.ts';
export { fileJournal } from './file-journal.ts';
export { type FileQuotaStore, fileQuotaStore } from './file-quota-store.ts';
export { type ServedSandbox, type ServeSandboxOptions, serveSandbox } from './serve.ts';
