/**
 * The whole service as a function: for a first look without a key, for tests, and to see how a client uses its quota.
 * @module petstore-inventory/sandbox
 */
export type { SandboxClock, TimeSource } from './clock.ts';
export type { DomainRedirect, Domains } from './domains.ts';
export type { Failure, Fault, Faults } from './faults.ts';
export type { Inventory } from './inventory.ts';
export type { Latency } from './latency.ts';
export type { SandboxReport, SandboxRequest } from './ledger.ts';
export type { LimitHeaders, ToldWindow } from './limit-headers.ts';
export type { Ban, Counting, DateHeader, SandboxOptions, SandboxRoutes } from './options.ts';
export type { RetryAfterForm } from './retry-after.ts';
export { createSandbox, type Sandbox } from './sandbox.ts';
export { SandboxError } from './sandbox-error.ts';
export type { StockEntry, StockItem } from './stock.ts';
export type { Policy } from './windows.ts';
