import type { Call } from '../../call.ts';
import { defer } from '../../clock/deferred.ts';
import { isRequestBound } from '../../clock/request-bound.ts';
import { SteadyClock } from '../../clock/steady-clock.ts';
import { LONGEST_TIMER_MS, startTimer } from '../../clock/timer.ts';
import type { PetStoreError } from '../../errors.ts';
import { partNotLoaded } from '../../load-part.ts';
import { LeaseClient, type LeaseClientStart } from '../lease/lease-client.ts';
import { LONGEST_PROBE_MS } from '../ledger/circuit-breaker.ts';
import { FULL, Ledger, type Outlook, waitMs } from '../ledger/ledger.ts';
import type { Quota } from '../ledger/quota.ts';
import type { QuotaSettings } from '../ledger/windows.ts';
import { ClientLimits } from './client-limits.ts';
import { type Permit, Permits } from './permit.ts';
import { deadlineMs, Queue, type QueuedCall, type WaitingCall } from './queue.ts';
import { holdupBy, refusalInOutage, refusalToWait } from './refusal.ts';
import { Releaser } from './releaser.ts';
import type { RetryBudget } from './retry-budget.ts';

const SWEEP_EVERY_MS = 1000;

/** What the queue of calls that wait elsewhere sees of each: it takes no permit. */
const ELSEWHERE = { number: 0, isAwake: () => false, resolve: () => {}, onLeave: () => {} };

/**
 * Gives every attempt on one address and key its permit: at once if quota is free, else from a queue when the ledger allows it.
 * There is at most one timer. After every event, if calls wait, the timer is set or a batch is being released, which looks again at its end.
 * In workerd, each waiting call also looks by a timer of its own.
 */
export class Gate {
  readonly #clock = new SteadyClock();
  readonly #ledger: Ledger;
  readonly #queue = new Queue();
  readonly #permits: Permits;
  // Calls that wait for an earlier update of their pet, or to be tried again, and not here. Created with the first one: most keys have none.
  #watched: Queue | undefined;
  #sweptAtMs = 0;
  // The outlook of the key when the calls in the queue last had to wait.
  #outlook = FULL;
  #stopTimer: (() => void) | undefined;
  // Created when a call first waits: on most keys no call does.
  #releaser: Releaser | undefined;
  // Whether a batch is under way, after which the queue is looked at again.
  #isReleasing = false;
  // Clients that were not closed.
  #clients = 1;

  constructor(settings: QuotaSettings) {
    this.#ledger = new Ledger(settings);
    this.#permits = new Permits(this.#ledger, { clock: this.#clock, onChange: () => this.#pump() });
  }

  /** Limits the retries of all calls. */
  get retries(): RetryBudget {
    return this.#permits.retries;
  }

  /** The limits of a client of this gate. */
  limitsOf(settings: Pick<QuotaSettings, 'concurrency' | 'share'>): ClientLimits {
    return new ClientLimits(settings, this.#ledger);
  }

  /** What is known now of the key's quota, and of a client's share of it. */
  quotaOf(limits?: ClientLimits): Quota {
    const nowMs = this.#clock.now();
    return { ...this.#ledger.snapshot(nowMs), share: limits?.quota(nowMs), closedUntil: this.#permits.closedUntil(nowMs) };
  }

  /** For how long the gate has not been used, in milliseconds; 0 while a call waits or a request is in flight. */
  get idleMs(): number {
    return this.#permits.inFlight > 0 || this.#queue.size > 0 ? 0 : this.#clock.now() - this.#ledger.lastSentAtMs;
  }

  /** Whether all its clients were closed. */
  get isLeft(): boolean {
    return this.#clients === 0;
  }

  /** A client was closed. */
  leave(): void {
    this.#clients--;
    if (this.isLeft) this.rest();
  }

  /** Leaves the store until the gate is used again. */
  rest(): void {
    this.#permits.leaseClient?.leave();
  }

  /** Adds the settings of another client: the stricter plan counts for both. If all others were closed, only those of this one count. */
  join(settings: QuotaSettings, warn: (message: string) => void): void {
    const isAlone = this.isLeft;
    this.#clients++;
    if (isAlone) {
      this.#ledger.windows.restart(settings);
      this.#permits.restart();
    } else if (this.#ledger.windows.join(settings)) warn('another client uses this address and key with another plan: the stricter counts');
    // The other client may have changed what the waiting calls are allowed.
    this.#pump();
  }

  /**
   * From now on a request also needs a slot of the quota that processes share, or none if `shared` is undefined.
   * @throws ConfigurationError if the store cannot be used
   */
  share(shared: Pick<LeaseClientStart, 'store' | 'address' | 'apiKey'> | undefined): void {
    this.#permits.leaseClient =
      shared &&
      new LeaseClient({
        ...shared,
        ledger: this.#ledger,
        clock: this.#clock,
        queueSize: () => this.#queue.ready(this.#clock.now()),
        onChange: () => this.#pump(),
      });
  }

  /** Whether the store needs the key before a call can enter. */
  get needsKey(): boolean {
    return this.#permits.leaseClient?.connection.needsKey ?? false;
  }

  /** Takes the key, by which the store finds the quota. */
  takeKey(key: string): void {
    this.#permits.leaseClient?.connection.takeKey(key);
  }

  /** Gives a permit: at once if one is free, else when the call's turn comes. Rejects if the wait would be longer than the call allows. */
  enter(call: Call, limits: ClientLimits): Permit | Promise<Permit> {
    if (call.signal.aborted) return Promise.reject(call.signal.reason);
    const nowMs = this.#clock.now();
    const mayClient = limits.free(call.priority, nowMs) > 0;
    const ready = this.#queue.ready(nowMs) + (mayClient ? 1 : 0);
    const outlook = this.#permits.look(nowMs, { waiting: this.#queue.size + 1, ready });
    if (outlook.free > 0 && mayClient && this.#queue.size === 0) return this.#permits.give(call, limits, nowMs);
    const ofClient = limits.look(call.priority, nowMs);
    const waiting = { call, waitsFromMs: this.#clock.begin(call.startedAtMs, nowMs) };
    const refusal = this.#refusalOf(waiting, [outlook, ofClient], nowMs);
    if (refusal) return Promise.reject(refusal);
    return this.#wait(waiting, { limits, outlook: outlook.free > 0 && !mayClient ? ofClient : outlook, nowMs });
  }

  /**
   * Calls `onRefusal` once the gate would refuse a call that waits elsewhere, perhaps for the end of its backoff, and needs no permit
   * before. Returns a function that ends this.
   */
  watch(
    { call, limits, backoffMs }: { call: Call; limits: ClientLimits; backoffMs?: number | undefined },
    onRefusal: (refusal: unknown) => void,
  ): () => void {
    const nowMs = this.#clock.now();
    const waitsFromMs = backoffMs === undefined ? this.#clock.begin(call.startedAtMs, nowMs) : nowMs + backoffMs;
    const waiting = { call, waitsFromMs };
    const refusal = this.#refusalOf(waiting, [this.#lookAtKey(nowMs), limits.look(call.priority, nowMs)], nowMs);
    if (refusal) {
      onRefusal(refusal);
      return () => {};
    }
    const watched = { ...waiting, ...ELSEWHERE, limits, reject: onRefusal };
    this.#watched ??= new Queue();
    this.#watched.add(watched);
    // The timer may have to end earlier.
    if (this.#ledger.outageSinceMs !== undefined) this.#pump();
    return () => {
      this.#watched?.remove(watched);
      // A timer for its deadline must not keep the process alive.
      if (this.#watched?.size === 0) this.#pump();
    };
  }

  /** Raises a waiting call to normal priority. */
  raise(call: Call): void {
    this.#queue.raise(call);
    this.#watched?.raise(call);
    // If only a share for low priority held it up, it may leave now.
    this.#pump();
  }

  /** During an outage: how soon the next attempt of a call may be made, and for how long the call may back off and wait. Otherwise undefined. */
  outagePaceOf(call: Call): { delayMs: number; longestMs: number; waitLeftMs: number } | undefined {
    const nowMs = this.#clock.now();
    const outlook = this.#ledger.look(nowMs, this.#permits.inFlight);
    const outageSinceMs = this.#ledger.outageSinceMs;
    if (outageSinceMs === undefined) return undefined;
    const waitsFromMs = this.#clock.begin(call.startedAtMs, nowMs);
    const waitLeftMs = deadlineMs({ call, waitsFromMs }, outageSinceMs) - nowMs;
    return { delayMs: waitMs(outlook, nowMs), longestMs: Math.min(LONGEST_PROBE_MS, waitLeftMs), waitLeftMs };
  }

  /** The call is queued before its wait is reported, since a listener may abort the call, or make another one. */
  #wait(waiting: WaitingCall, { limits, outlook, nowMs }: { limits: ClientLimits; outlook: Outlook; nowMs: number }): Promise<Permit> {
    const { call, waitsFromMs } = waiting;
    const { promise, resolve, reject, isAwake } = defer<Permit>(() => this.#look());
    const onAbort = () => this.#abandon(queued);
    const onLeave = () => {
      call.holdup = undefined;
      call.signal.removeEventListener('abort', onAbort);
      call.waitedMs += this.#clock.now() - nowMs;
    };
    const queued = { call, waitsFromMs, limits, number: 0, resolve, reject, isAwake, onLeave };
    call.signal.addEventListener('abort', onAbort);
    // If the key has quota left, the client's own limits hold the call up.
    call.holdup = () => holdupBy(this.#outlook.free > 0 ? limits.look(call.priority, this.#clock.now()) : this.#outlook, this.#clock);
    this.#queue.add(queued);
    call.emit('wait', (event) => ({ ...event, reason: outlook.reason, ms: waitMs(outlook, nowMs) }));
    this.#pump();
    return promise;
  }

  #abandon(queued: QueuedCall): void {
    this.#queue.remove(queued);
    queued.reject(queued.call.signal.reason);
    if (this.#queue.size === 0) this.#pump();
  }

  /** Called by each queued call in workerd, where the gate's timer ends with the incoming request that started it. */
  #look(): void {
    const nowMs = this.#clock.now();
    if (nowMs - this.#sweptAtMs >= SWEEP_EVERY_MS) {
      this.#sweptAtMs = nowMs;
      // Incoming requests may have ended.
      this.#queue.refuse(({ call }) => (call.isGone ? call.goneReason : undefined));
      this.#permits.dropGone(nowMs);
    }
    this.#pump();
  }

  /** Admits and refuses the calls that can be decided now, and sets the timer for the next look. */
  #pump(): void {
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    if (this.#queue.size === 0 && !this.#watched?.size) return;
    const nowMs = this.#clock.now();
    const ready = this.#queue.ready(nowMs);
    const ofKey = this.#lookAtKey(nowMs, ready);
    const queues = this.#watched ? [this.#queue, this.#watched] : [this.#queue];
    for (const queue of queues) this.#refuseIn(queue, ofKey, nowMs);
    const firstDeadlineMs = Math.min(...queues.map((queue) => queue.firstDeadlineMs(this.#ledger.outageSinceMs)));
    if (this.#queue.size === 0) {
      if (firstDeadlineMs < Number.POSITIVE_INFINITY) this.#wakeAt(firstDeadlineMs, nowMs);
      return;
    }
    if (ofKey.free > 0 && ready > 0) return this.#schedule(Math.min(ofKey.free, ready), nowMs);
    this.#outlook = ofKey;
    const outlook = ofKey.free > 0 ? this.#queue.look(nowMs) : ofKey;
    this.#wakeAt(Math.min(outlook.lookAt ?? outlook.at, firstDeadlineMs), nowMs);
    // The reports come last: a listener may make a call, which schedules again and replaces this timer.
    if (ofKey.reason === 'rate-limit') this.#permits.report(this.#queue.first, nowMs);
    this.#queue.report(outlook, nowMs);
  }

  #lookAtKey(nowMs: number, ready = this.#queue.ready(nowMs)): Outlook {
    return this.#permits.look(nowMs, { waiting: this.#queue.size, ready });
  }

  /** Sets the timer, even if only an answer can end the wait: without one, the process could exit with calls in the queue. */
  #wakeAt(instantMs: number, nowMs: number): void {
    // A store may report a closure while it is asked: then the timer is set already.
    if (this.#stopTimer) return;
    const lookAtMs = Math.min(instantMs, nowMs + LONGEST_TIMER_MS);
    this.#stopTimer = startTimer(lookAtMs - nowMs, () => {
      this.#clock.reach(lookAtMs);
      this.#pump();
    });
  }

  #schedule(most: number, nowMs: number): void {
    if (this.#isReleasing) return;
    // A job of the limiter would end with the incoming request that started it, and all calls behind it would wait for ever.
    if (isRequestBound()) {
      // A listener may make a call meanwhile, which then looks again by itself.
      this.#isReleasing = true;
      try {
        this.#release(most);
      } finally {
        this.#isReleasing = false;
      }
      // Calls that wait elsewhere may still need the timer; those in the queue look by themselves.
      if (this.#queue.size === 0) this.#pump();
      return;
    }
    this.#releaser ??= new Releaser();
    this.#releaser.refill(this.#ledger.ceiling(nowMs));
    const passing = this.#releaser.pass(most, (released) => this.#release(released));
    // The releaser's count may allow less than the ledger's; no other event would wake the queue then.
    if (!passing) return this.#wakeAt(this.#ledger.ceilingLookAtMs(nowMs), nowMs);
    this.#isReleasing = true;
    // If the limiter cannot be loaded, every waiting call fails, and the next call tries to load it again.
    const failed = (cause: unknown) => this.#queue.refuse(({ call }) => partNotLoaded('bottleneck', call, cause));
    void passing.catch(failed).then(() => {
      this.#isReleasing = false;
      this.#pump();
    });
  }

  /** Runs inside the limiter; the ledger is consulted again, since a 429 may have closed the gate in the meantime. */
  #release(most: number): void {
    const nowMs = this.#clock.now();
    const { free } = this.#lookAtKey(nowMs);
    for (let left = Math.min(free, most); left > 0; left--) {
      const queued = this.#queue.shift(nowMs);
      if (!queued) return;
      const permit = this.#permits.give(queued.call, queued.limits, nowMs);
      // The permit may have brought a `quotaStore` event, whose listener may have aborted the call.
      if (queued.call.signal.aborted) {
        permit.cancel();
        queued.reject(queued.call.signal.reason);
      } else queued.resolve(permit);
    }
  }

  /** The error of a call that cannot wait for its key or its client, as their outlooks are; undefined if it can. */
  #refusalOf(waiting: WaitingCall, outlooks: readonly [ofKey: Outlook, ofClient: Outlook], nowMs: number): PetStoreError | undefined {
    const { call } = waiting;
    const since = this.#ledger.outageSinceMs;
    if (since !== undefined && deadlineMs(waiting, since) <= nowMs)
      return refusalInOutage(call, this.#permits.lastFailure, holdupBy(outlooks[0], this.#clock).until);
    const fromMs = Math.max(nowMs, waiting.waitsFromMs);
    const tooLong = outlooks.find((outlook) => this.#isTooLong(outlook, call.options.maxWaitMs, fromMs));
    return tooLong && refusalToWait(call, holdupBy(tooLong, this.#clock), Math.ceil(tooLong.at - nowMs));
  }

  /** Refuses the calls that would wait longer than they allow. */
  #refuseIn(queue: Queue, ofKey: Outlook, nowMs: number): void {
    const isOutageTooLong = queue.firstDeadlineMs(this.#ledger.outageSinceMs) <= nowMs;
    for (const lane of queue.lanes()) {
      const outlooks = [ofKey, lane.look(nowMs)] as const;
      if (isOutageTooLong || outlooks.some((outlook) => this.#isTooLong(outlook, lane.leastMaxWaitMs, nowMs)))
        queue.refuse((queued) => this.#refusalOf(queued, outlooks, nowMs), [lane]);
    }
  }

  /** Whether a wait is longer than a call allows, and no answer that is still to come can shorten it. */
  #isTooLong({ free, at, reason }: Outlook, maxWaitMs: number, nowMs: number): boolean {
    if (free > 0 || !Number.isFinite(at) || at - nowMs <= maxWaitMs || reason === 'outage') return false;
    return reason === 'rate-limit' || this.#ledger.unanswered === 0;
  }
}
