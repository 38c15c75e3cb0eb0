import { LifeSign } from './clock/life-sign.ts';
import { LightSignal } from './clock/light-signal.ts';
import { monotonicMs } from './clock/monotonic.ts';
import { isRequestBound } from './clock/request-bound.ts';
import { startTimeLimit } from './clock/timer.ts';
import type { Int64, InventoryItem, PetId } from './contract/models.ts';
import { duration } from './duration.ts';
import { type FailureDetails, type OperationName, type PetStoreError, TimeoutError, type UpdateOutcome } from './errors.ts';
import type { CallEvent, ClientEvents, Emitter } from './events.ts';
import type { CallOptions } from './options/call-options.ts';

/** What holds a call up, such as `this key's quota is used up until ...`, and until when, if that is known. */
export interface Holdup {
  why: string;
  until: Date | undefined;
}

const VERBS = {
  listInventory: 'list the inventory',
  streamInventory: 'read the inventory',
  updateInventory: 'update pet',
  fetch: 'fetch',
} as const;

/** The purpose of a call, such as `update pet 42`. */
export function purposeOf({ operation, petId }: { operation: OperationName; petId?: PetId | undefined }): string {
  return petId === undefined ? VERBS[operation] : `${VERBS[operation]} ${petId}`;
}

/** A request that the caller made with `fetch`. */
export interface OwnRequest {
  /** `POST /store/orders`, without its query. */
  target: string;
  /** Whether the request may be sent again even if it may have been received (RFC 9110 section 9.2.2). */
  isIdempotent: boolean;
}

/** What a new call is made from. */
export interface CallStart {
  id: number;
  operation: OperationName;
  petId: PetId | undefined;
  own?: OwnRequest | undefined;
  options: CallOptions;
  emitter: Emitter;
}

/** One call of a caller, from its start until it settles: the record that every step of the pipeline reads. */
export class Call {
  readonly startedAtMs = monotonicMs();
  /** Aborts with the caller's reason, or with the reason why the client ended the call. */
  readonly signal = new LightSignal();
  /** Requests that were sent so far. */
  attempts = 0;
  /** Milliseconds spent waiting for quota, order and backoff. */
  waitedMs = 0;
  /** Items of a stream that were handed to its iterator. */
  delivered = 0;
  /** Tells how many of them the caller has not taken yet. */
  untaken: (() => number) | undefined;
  /** The item of an update, once the service has confirmed it. */
  confirmed: InventoryItem<Int64> | undefined;
  /** The failure of the latest attempt, while another one is due. */
  lastFailure: PetStoreError | undefined;
  /** The later update of the same pet that was sent in place of this one. */
  supersededBy: number | undefined;
  /** Whether the latest attempt ended before its request was sent. */
  isUnsent = false;
  /** Whether the retry budget has paid for a retry that has not been sent yet. */
  hasPaidRetry = false;
  /** Tells what the call waits for, while it does: in the queue of the gate or of its pet, or in a backoff. */
  holdup: (() => Holdup) | undefined;
  /** Raised from low to normal when a normal update of the same pet waits behind the call. */
  priority: 'normal' | 'low';
  #lifeSign = isRequestBound() ? new LifeSign() : undefined;
  // Whether the incoming request had ended before the call did.
  #wasGone = false;
  // Once a request may have arrived, no later answer shows that it did not: it stays `unknown`.
  #outcome: UpdateOutcome = 'not-sent';
  // The outcome before the current attempt.
  #before: UpdateOutcome = 'not-sent';
  readonly #stops: (() => void)[] = [];
  readonly #emitter: Emitter;

  readonly id: number;
  readonly operation: OperationName;
  readonly petId: PetId | undefined;
  readonly options: CallOptions;
  readonly #own: OwnRequest | undefined;

  constructor({ id, operation, petId, own, options, emitter }: CallStart) {
    this.id = id;
    this.operation = operation;
    this.petId = petId;
    this.#own = own;
    this.options = options;
    this.#emitter = emitter;
    this.priority = options.priority;
    const { signal, totalTimeoutMs } = options;
    this.#endOnAbort(signal);
    if (totalTimeoutMs !== undefined) this.#stops.push(startTimeLimit(totalTimeoutMs, () => this.abort(this.#outOfTime(totalTimeoutMs))));
  }

  /** Whether the incoming request that made the call has ended, so that the call never settles by itself (workerd). */
  get isGone(): boolean {
    return this.#lifeSign?.isGone ?? this.#wasGone;
  }

  /** The reason with which a call ends if its incoming request has ended. */
  get goneReason(): unknown {
    return new DOMException('The request that made this call ended', 'AbortError');
  }

  /** What the caller wanted, for messages, such as `update pet 42`. */
  get purpose(): string {
    const taken = this.delivered - (this.untaken?.() ?? 0);
    if (taken > 0) return `read the inventory beyond item ${taken}`;
    return this.#own ? `${purposeOf(this)} ${this.#own.target}` : purposeOf(this);
  }

  /** Whether its request may be sent again even if it may have been received: setting a quantity is safe, as are idempotent methods. */
  get isIdempotent(): boolean {
    return this.#own?.isIdempotent ?? true;
  }

  /** What is known about the effect of its requests so far. */
  get outcome(): UpdateOutcome {
    return this.#outcome;
  }

  /** Ends the call, whatever step it has reached. */
  abort(reason: unknown): void {
    this.signal.abort(reason);
  }

  /** Ends the call from code that may run on behalf of another incoming request (workerd). */
  abortFromOutside(reason: unknown): void {
    if (this.#lifeSign) this.#lifeSign.send(() => this.abort(reason));
    else this.abort(reason);
  }

  /** Raises a low call to normal. Returns whether it was low. */
  raise(): boolean {
    const wasLow = this.priority === 'low';
    this.priority = 'normal';
    return wasLow;
  }

  /** A request is being sent: from now on the change may be applied. */
  sent(): void {
    this.attempts++;
    this.hasPaidRetry = false;
    this.#before = this.#outcome;
    this.started();
  }

  /** The request, which may have waited for a connection, is handed to one. */
  started(): void {
    this.isUnsent = false;
    this.#outcome = 'unknown';
  }

  /** The attempt ended, and changed nothing. */
  refused(by: 'service' | 'connection'): void {
    this.isUnsent = by === 'connection';
    if (this.#before === 'unknown') return;
    this.#outcome = by === 'service' ? 'rejected' : this.#before;
  }

  /** The details of this call for its errors. */
  details(): FailureDetails {
    const mayChange = this.operation === 'updateInventory' || this.operation === 'fetch';
    return {
      operation: this.operation,
      petId: this.petId,
      attempts: this.attempts,
      ...(mayChange ? { outcome: this.outcome } : {}),
    };
  }

  #event(): CallEvent {
    const event = { callId: this.id, operation: this.operation, attempt: this.attempts };
    return this.petId === undefined ? event : { ...event, petId: this.petId };
  }

  /** Emits an event of this call; the event is made only if there is a listener. */
  emit<Name extends keyof ClientEvents>(name: Name, make: (event: CallEvent) => ClientEvents[Name]): void {
    if (this.hasListener(name)) this.#emitter.emit(name, make(this.#event()));
  }

  /** Writes a warning to the client's logger. */
  warn(message: string): void {
    this.#emitter.warn(message);
  }

  /** Whether an event of this name has a listener. */
  hasListener(name: keyof ClientEvents): boolean {
    return this.#emitter.hasListener(name);
  }

  /** Stops what the call started: its timer and its listener. */
  end(): void {
    this.#wasGone = this.isGone;
    this.#lifeSign?.stop();
    this.#lifeSign = undefined;
    for (const stop of this.#stops.splice(0)) stop();
  }

  #endOnAbort(signal: AbortSignal | undefined): void {
    if (!signal) return;
    if (signal.aborted) return this.abort(signal.reason);
    const onAbort = () => this.abortFromOutside(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#stops.push(() => signal.removeEventListener('abort', onAbort));
  }

  #outOfTime(totalTimeoutMs: number): TimeoutError {
    const last = this.lastFailure;
    const tried = last ? `, after attempt ${last.attempts} failed with ${last.code ?? last.name}` : '';
    const holdup = this.holdup?.();
    const limit = `the call was not done within its \`totalTimeoutMs\` of ${duration(totalTimeoutMs)}`;
    const message = `Cannot ${this.purpose}: ${limit}${tried}${holdup ? `; ${holdup.why}` : ''}`;
    return new TimeoutError(message, { ...this.details(), retryAt: holdup?.until, cause: last });
  }
}
