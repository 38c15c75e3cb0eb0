import type { PetId } from '../contract/models.ts';
import { isPetStoreError, type PetStoreFailure, type RateLimit } from '../errors.ts';
import type { ClientEvents, WaitReason } from '../events.ts';
import type { ReviewedChange } from '../sync/index.ts';
import type { Client } from './connect.ts';

/** A period in which calls waited, in milliseconds since 1970. */
export interface RecordedWait {
  reason: WaitReason;
  fromMs: number;
  untilMs: number;
}

/** A change that the run was going to send. */
interface RecordedChange extends ReviewedChange {
  /** When the service confirmed it. */
  at?: Date;
}

/** The quota that one answer reported. */
export interface ObservedQuota extends Partial<RateLimit> {
  atMs: number;
}

/** Shorter waits are not recorded. */
const MIN_WAIT_MS = 1_000;
/** Most waits that are recorded, since an outage may cause any number. */
const KEPT_WAITS = 10_000;

/** Records what a run does: its requests and waits, from the client's events, and when each update was confirmed. */
export class RunRecord {
  readonly beganAtMs: number;
  readonly requests = { sent: 0, lists: 0, updates: 0, retries: 0, refused: 0 };
  /** Updates that the service confirmed. */
  updated = 0;
  readonly waits: RecordedWait[] = [];
  quotaAtStart: ObservedQuota | undefined;
  quotaAtEnd: ObservedQuota | undefined;
  /** The last error with which the service refused the key, or a request beyond the quota. */
  refusal: PetStoreFailure | undefined;
  /** When quota is available again. */
  retryAt: Date | undefined;
  readonly #now: () => number;
  readonly #changes = new Map<string, RecordedChange>();

  constructor(client: Client, now: () => number) {
    this.#now = now;
    this.beganAtMs = now();
    client.on('request', (event) => this.#countRequest(event));
    client.on('response', (event) => this.#observe(event));
    client.on('wait', (event) => this.#wait(event));
    client.on('queue', (event) => this.#wait(event));
    client.on('settled', (event) => this.#settle(event));
  }

  /** Sets the changes that the run is going to send. For a run without a report they are not set, since a job may have millions. */
  plan(changes: Iterable<ReviewedChange>): void {
    for (const change of changes) this.#changes.set(String(change.petId), { ...change });
  }

  /** The service confirmed the new quantity of a pet. */
  confirm(petId: PetId): void {
    this.updated += 1;
    const change = this.#changes.get(String(petId));
    if (change) change.at = new Date(this.#now());
  }

  /** The changes that the run was going to send. */
  changes(): Iterable<RecordedChange> {
    return this.#changes.values();
  }

  #countRequest({ operation, attempt }: ClientEvents['request']): void {
    this.requests.sent += 1;
    if (operation === 'updateInventory') this.requests.updates += 1;
    else this.requests.lists += 1;
    if (attempt > 1) this.requests.retries += 1;
  }

  #observe({ status, rateLimit }: ClientEvents['response']): void {
    if (status === 429) this.requests.refused += 1;
    if (!rateLimit) return;
    this.quotaAtEnd = { ...rateLimit, atMs: this.#now() };
    this.quotaAtStart ??= this.quotaAtEnd;
  }

  #wait({ reason, ms }: Pick<ClientEvents['wait'], 'reason' | 'ms'>): void {
    if (ms < MIN_WAIT_MS) return;
    const fromMs = this.#now();
    const last = this.waits.at(-1);
    if (last?.reason === reason && last.untilMs >= fromMs) last.untilMs = Math.max(last.untilMs, fromMs + ms);
    else if (this.waits.length < KEPT_WAITS) this.waits.push({ reason, fromMs, untilMs: fromMs + ms });
  }

  #settle({ error }: ClientEvents['settled']): void {
    if (!isPetStoreError(error) || (error.kind !== 'rate-limit' && error.kind !== 'authentication')) return;
    // Without a status, the client itself refused and sent nothing.
    if (error.status !== undefined) this.refusal = error;
    if (error.retryAt !== undefined && (this.retryAt === undefined || error.retryAt > this.retryAt)) this.retryAt = error.retryAt;
  }
}
