import type { Call } from '../../call.ts';
import type { Deferred } from '../../clock/deferred.ts';
import { type Outlook, waitMs } from '../ledger/ledger.ts';
import type { ClientLimits } from './client-limits.ts';
import type { Permit } from './permit.ts';

/** A shorter wait is over before anyone could act on a report of it. */
const LEAST_REPORTED_MS = 1000;

/** A call that has to wait. */
export interface WaitingCall {
  call: Call;
  /** From when its wait counts: its start, also if it waited here before for an earlier attempt; or the end of its backoff. */
  waitsFromMs: number;
}

/** A call in a queue: it gets a permit, or is refused if its wait is longer than it allows. */
export interface QueuedCall extends WaitingCall, Omit<Deferred<Permit>, 'promise'> {
  limits: ClientLimits;
  /** Its place in the order in which calls joined the queue; 0 for one that keeps the place of its first attempt. */
  number: number;
  /** Called when it has left the queue, before it is settled. */
  onLeave(): void;
}

/** Until when a call waits for the end of an outage: `maxWaitMs` counts from the start of the call or of the outage, whichever is later. */
export function deadlineMs({ call, waitsFromMs }: WaitingCall, outageSinceMs: number): number {
  return Math.max(waitsFromMs, outageSinceMs) + call.options.maxWaitMs;
}

/** The queued calls of one client and priority, in their order. */
class Lane {
  readonly limits: ClientLimits;
  readonly priority: Call['priority'];
  /** Lower bound of `maxWaitMs`; may be stale, since it stays when a call leaves. */
  leastMaxWaitMs = Number.POSITIVE_INFINITY;
  // Maps keep the order of insertion and delete in constant time.
  readonly #new = new Map<Call, QueuedCall>();
  // Calls whose first attempt failed: each was sent before all calls that still wait for theirs. After another failure a call is a new one.
  readonly #returned = new Map<Call, QueuedCall>();

  constructor(limits: ClientLimits, priority: Call['priority']) {
    this.limits = limits;
    this.priority = priority;
  }

  /** When to look again, and why, if the client's own limits let none of the calls take a permit. */
  look(nowMs: number): Outlook {
    return this.limits.look(this.priority, nowMs);
  }

  /** How many calls the client's own limits let take a permit. */
  ready(nowMs: number): number {
    return this.size === 0 ? 0 : Math.min(this.size, this.limits.free(this.priority, nowMs));
  }

  get size(): number {
    return this.#returned.size + this.#new.size;
  }

  add(queued: QueuedCall): void {
    (queued.number === 0 ? this.#returned : this.#new).set(queued.call, queued);
    this.leastMaxWaitMs = Math.min(this.leastMaxWaitMs, queued.call.options.maxWaitMs);
  }

  get(call: Call): QueuedCall | undefined {
    return this.#new.get(call) ?? this.#returned.get(call);
  }

  remove(call: Call): boolean {
    return this.#new.delete(call) || this.#returned.delete(call);
  }

  /** In their order; calls may be removed meanwhile. */
  *calls(): Iterable<QueuedCall> {
    yield* this.#returned.values();
    yield* this.#new.values();
  }

  /** The first call that can still use a permit. */
  get first(): QueuedCall | undefined {
    for (const queued of this.calls()) if (queued.isAwake()) return queued;
    return undefined;
  }
}

/**
 * The calls that wait for a permit: first in, first out within a priority, normal before low, and a call keeps its place if its first
 * attempt fails. Calls of a client that has used its concurrency or its share do not hold up other clients. A call is removed from the
 * middle in constant time.
 */
export class Queue {
  // The lanes of clients with queued calls; created when a call first waits.
  #lanes: Map<ClientLimits, Record<Call['priority'], Lane>> | undefined;
  #size = 0;
  #added = 0;
  // Lower bound of the deadlines for the outage that began at `#outageSinceMs`; may be stale.
  #firstDeadlineMs = Number.POSITIVE_INFINITY;
  #outageSinceMs: number | undefined;
  // What was reported last: until when how many calls wait.
  #reportedUntilMs = 0;
  #reportedCalls = 0;

  get size(): number {
    return this.#size;
  }

  /** A lower bound of the deadlines of the queued calls during an outage; infinite if there is none. */
  firstDeadlineMs(outageSinceMs: number | undefined): number {
    if (outageSinceMs === undefined) return Number.POSITIVE_INFINITY;
    if (outageSinceMs !== this.#outageSinceMs) {
      this.#outageSinceMs = outageSinceMs;
      this.#firstDeadlineMs = Number.POSITIVE_INFINITY;
      for (const lane of this.lanes()) for (const queued of lane.calls()) this.#measure(queued);
    }
    return this.#firstDeadlineMs;
  }

  add(queued: QueuedCall): void {
    const lane = this.#laneOf(queued.limits, queued.call.priority);
    queued.number = queued.call.attempts === 1 ? 0 : ++this.#added;
    lane.add(queued);
    this.#size++;
    this.#measure(queued);
  }

  #measure(queued: QueuedCall): void {
    if (this.#outageSinceMs !== undefined) this.#firstDeadlineMs = Math.min(this.#firstDeadlineMs, deadlineMs(queued, this.#outageSinceMs));
  }

  #laneOf(limits: ClientLimits, priority: Call['priority']): Lane {
    this.#lanes ??= new Map();
    const lanes = this.#lanes.get(limits) ?? { normal: new Lane(limits, 'normal'), low: new Lane(limits, 'low') };
    this.#lanes.set(limits, lanes);
    return lanes[priority];
  }

  /** Moves a call from the low lane, after its priority was raised, behind the normal calls that already wait. */
  raise(call: Call): void {
    for (const { low } of this.#lanes?.values() ?? []) {
      const queued = low.get(call);
      if (!queued) continue;
      this.#take(queued);
      this.add(queued);
      return;
    }
  }

  remove(queued: QueuedCall): void {
    if (this.#take(queued)) queued.onLeave();
  }

  #take({ call, limits }: QueuedCall): boolean {
    const lanes = this.#lanes?.get(limits);
    if (!lanes?.normal.remove(call) && !lanes?.low.remove(call)) return false;
    this.#size--;
    if (lanes.normal.size + lanes.low.size === 0) this.#lanes?.delete(limits);
    if (this.#size === 0) this.#outageSinceMs = undefined;
    return true;
  }

  /** How many calls the limits of their clients let take a permit. */
  ready(nowMs: number): number {
    if (!this.#lanes) return 0;
    let ready = 0;
    // A client's slots are for both its lanes, and its normal calls may use each of them.
    for (const { normal, low } of this.#lanes.values())
      ready += Math.min(normal.ready(nowMs) + low.ready(nowMs), normal.limits.free('normal', nowMs));
    return ready;
  }

  /** When the first client may send, and why not before, if no client may now. */
  look(nowMs: number): Outlook {
    const outlooks = [...this.lanes()].filter(({ size }) => size > 0).map((lane) => lane.look(nowMs));
    return outlooks.reduce((first, next) => (next.at < first.at ? next : first));
  }

  /** Takes the next call whose client may send. */
  shift(nowMs: number): QueuedCall | undefined {
    const next = this.#firstIn((lane) => lane.ready(nowMs) > 0);
    if (next) this.remove(next);
    return next;
  }

  /** Reports until when calls wait: each instant once, and again when ten times as many wait for it. */
  report(outlook: Outlook, nowMs: number): void {
    const [calls, ms] = [this.#size, waitMs(outlook, nowMs)];
    const isReported = Math.abs(nowMs + ms - this.#reportedUntilMs) <= LEAST_REPORTED_MS && calls < 10 * this.#reportedCalls;
    if (ms <= LEAST_REPORTED_MS || isReported) return;
    this.#reportedUntilMs = nowMs + ms;
    this.#reportedCalls = calls;
    this.first?.emit('queue', (event) => ({ ...event, reason: outlook.reason, calls, ms }));
  }

  /** Refuses the calls of these lanes for which there is a refusal, and makes the lower bounds exact. */
  refuse(refusalOf: (queued: QueuedCall) => unknown, lanes = this.lanes()): void {
    for (const lane of lanes) {
      lane.leastMaxWaitMs = Number.POSITIVE_INFINITY;
      for (const queued of lane.calls()) {
        const refusal = refusalOf(queued);
        if (refusal === undefined) lane.leastMaxWaitMs = Math.min(lane.leastMaxWaitMs, queued.call.options.maxWaitMs);
        else {
          this.remove(queued);
          queued.reject(refusal);
        }
      }
    }
    // The deadlines are measured again when they are needed next.
    this.#outageSinceMs = undefined;
  }

  /** The first call, whether its client may send or not. */
  get first(): Call | undefined {
    return this.#firstIn(() => true)?.call;
  }

  #firstIn(isWanted: (lane: Lane) => boolean): QueuedCall | undefined {
    let first: QueuedCall | undefined;
    for (const lane of this.lanes()) {
      if (first && lane.priority === 'low' && first.call.priority === 'normal') break;
      const next = isWanted(lane) ? lane.first : undefined;
      if (next && (!first || next.number < first.number)) first = next;
    }
    return first;
  }

  /** Those of normal priority come first. */
  *lanes(): Iterable<Lane> {
    for (const priority of ['normal', 'low'] as const) for (const lanes of this.#lanes?.values() ?? []) yield lanes[priority];
  }
}
