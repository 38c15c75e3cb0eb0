/**
 * The parts that need Node: journals and quotas in files, the sandbox on a port, and a check of the connection to the service.
 * @module petstore-inventory/node
 */

export type { LeaseRequest, LeaseResponse, ObservedWindow, QuotaStore, SharedQuota, StoreKey } from '../quota-store.ts';
export type { CheckName, Finding } from './check/finding.ts';
export { checkService, type ServiceCheck } from './check-service.ts';
export { fileJournal } from './file-journal.ts';
export { type FileQuotaStore, fileQuotaStore } from './file-quota-store.ts';
export { type ServedSandbox, type ServeSandboxOptions, serveSandbox } from './serve.ts';
