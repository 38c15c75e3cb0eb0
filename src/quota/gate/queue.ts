import type { Call } from '../../call.ts';
import { type Deferred, defer } from '../../clock/deferred.ts';
import type { Permit } from './permit.ts';

interface QueuedCallStart {
  nowMs: number;
  /** When the call began, which may have waited here before. */
  startedAtMs: number;
  onAbort: (queued: QueuedCall) => void;
  /** Called now and then while the call waits, where promises are bound to requests. */
  onLook: () => void;
}

/** One call that waits for its permit, until it is admitted or refused. */
export class QueuedCall {
  readonly call: Call;
  readonly #sinceMs: number;
  readonly #startedAtMs: number;
  readonly #onAbort: () => void;
  readonly #permit: Deferred<Permit>;

  constructor(call: Call, { nowMs, startedAtMs, onAbort, onLook }: QueuedCallStart) {
    this.call = call;
    this.#sinceMs = nowMs;
    this.#startedAtMs = startedAtMs;
    this.#permit = defer(onLook);
    this.#onAbort = () => onAbort(this);
    call.signal.addEventListener('abort', this.#onAbort);
  }

  /** Rejects when the call is refused or aborted. */
  get permit(): Promise<Permit> {
    return this.#permit.promise;
  }

  /** Whether it would take a permit now. */
  get isAwake(): boolean {
    return this.#permit.isAwake();
  }

  admit(permit: Permit, nowMs: number): void {
    this.#end(nowMs);
    this.#permit.resolve(permit);
  }

  refuse(reason: unknown, nowMs: number): void {
    this.#end(nowMs);
    this.#permit.reject(reason);
  }

  /** Until when it waits behind an outage. */
  deadlineMs(outageSinceMs: number): number {
    return deadlineMs(this.call, { startedAtMs: this.#startedAtMs, outageSinceMs });
  }

  #end(nowMs: number): void {
    this.call.signal.removeEventListener('abort', this.#onAbort);
    this.call.waitedMs += nowMs - this.#sinceMs;
  }
}

/** Until when a call waits behind an outage: its `maxWaitMs` counts from the later of both beginnings. */
export function deadlineMs(call: Call, { startedAtMs, outageSinceMs }: { startedAtMs: number; outageSinceMs: number }): number {
  return Math.max(startedAtMs, outageSinceMs) + call.options.maxWaitMs;
}

/** The calls that wait for a permit: first in, first out within a priority, normal before low. Leaving from the middle costs nothing. */
export class Queue {
  // Made when a call first waits. Maps keep the order of insertion and forget in constant time.
  #calls: { normal: Map<Call, QueuedCall>; low: Map<Call, QueuedCall> } | undefined;
  // Lower bound of `maxWaitMs` in the queue; may be stale, since it stays when a call leaves.
  #leastMaxWaitMs = Number.POSITIVE_INFINITY;
  // Lower bound of the deadlines for the outage that began at `#outageSinceMs`; may be stale likewise.
  #firstDeadlineMs = Number.POSITIVE_INFINITY;
  #outageSinceMs: number | undefined;

  get size(): number {
    return this.#calls ? this.#calls.normal.size + this.#calls.low.size : 0;
  }

  /** A lower bound of `maxWaitMs` in the queue. */
  get leastMaxWaitMs(): number {
    return this.#leastMaxWaitMs;
  }

  /** A lower bound of the instants at which queued calls give up an outage. */
  firstDeadlineMs(outageSinceMs: number): number {
    if (outageSinceMs !== this.#outageSinceMs) this.#measure(outageSinceMs);
    return this.#firstDeadlineMs;
  }

  add(queued: QueuedCall): void {
    this.#measureOne(queued);
    this.#calls ??= { normal: new Map(), low: new Map() };
    this.#calls[queued.call.priority].set(queued.call, queued);
  }

  /** A low call becomes a normal one, behind those that are there. */
  raise(call: Call): void {
    const queued = this.#calls?.low.get(call);
    if (!queued) return;
    this.#calls?.low.delete(call);
    this.#calls?.normal.set(call, queued);
  }

  remove({ call }: QueuedCall): void {
    if (!this.#calls?.normal.delete(call)) this.#calls?.low.delete(call);
    if (this.size === 0) this.#measure(undefined);
  }

  /** The next call that would take a permit. */
  get first(): QueuedCall | undefined {
    for (const queued of this.#inOrder()) if (queued.isAwake) return queued;
    return undefined;
  }

  shift(): QueuedCall | undefined {
    const next = this.first;
    if (next) this.remove(next);
    return next;
  }

  removeWhere(isWanted: (queued: QueuedCall) => boolean): QueuedCall[] {
    const removed = [...this.#inOrder()].filter(isWanted);
    for (const queued of removed) this.remove(queued);
    this.#measure(this.#outageSinceMs);
    return removed;
  }

  *#inOrder(): Iterable<QueuedCall> {
    if (!this.#calls) return;
    yield* this.#calls.normal.values();
    yield* this.#calls.low.values();
  }

  #measure(outageSinceMs: number | undefined): void {
    this.#outageSinceMs = outageSinceMs;
    this.#leastMaxWaitMs = Number.POSITIVE_INFINITY;
    this.#firstDeadlineMs = Number.POSITIVE_INFINITY;
    for (const queued of this.#inOrder()) this.#measureOne(queued);
  }

  #measureOne(queued: QueuedCall): void {
    this.#leastMaxWaitMs = Math.min(this.#leastMaxWaitMs, queued.call.options.maxWaitMs);
    if (this.#outageSinceMs === undefined) return;
    this.#firstDeadlineMs = Math.min(this.#firstDeadlineMs, queued.deadlineMs(this.#outageSinceMs));
  }
}
