import { Call } from './call.ts';
import { isPromise } from './clock/is-promise.ts';
import { monotonicMs } from './clock/monotonic.ts';
import { isRequestBound } from './clock/request-bound.ts';
import { isPetStoreError } from './errors.ts';
import type { ClientEvents, Emitter } from './events.ts';
import type { Operation, StreamOperation } from './operations/operation.ts';
import type { CallOptions } from './options/call-options.ts';
import { InOrder } from './order/in-order.ts';
import type { ClientLimits } from './quota/gate/client-limits.ts';
import type { Gate } from './quota/gate/gate.ts';
import type { Permit } from './quota/gate/permit.ts';
import type { Answered, Reply } from './reply.ts';
import { retry } from './retry/retry.ts';
import { addCallers } from './thrown.ts';
import type { OpenAnswer } from './transport/open-answer.ts';
import { publicRateLimit } from './transport/public-rate-limit.ts';
import type { Admission, Transport } from './transport/transport.ts';
import { UpdateNews } from './update-news.ts';

interface Steps {
  /** The client that makes the calls, for views that follow its updates. */
  client: object;
  gate: Gate;
  limits: ClientLimits;
  transport: Transport;
  emitter: Emitter;
}

const SWEEP_EVERY_MS = 1000;

/** The permit of an attempt, and the key for it. */
interface Admitted extends Admission {
  observer: Permit;
}

type Beginning = Pick<Operation<unknown>, 'name' | 'petId'> & Pick<StreamOperation<unknown>, 'own'>;

/** Takes every call through its steps: order, retries, the gate for each attempt, transport. */
export class Pipeline<Item extends object> {
  readonly #steps: Steps;
  // Created with the first update.
  #order: InOrder<Admitted, Answered<Item>> | undefined;
  // Undefined while no call is under way: most clients are idle.
  #calls: Set<Call> | undefined;
  #lastId = 0;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  #closedBy: unknown;

  constructor(steps: Steps) {
    this.#steps = steps;
  }

  /** Makes a call. Rejects with a PetStoreError, or with the reason of an abort. */
  async send<T>(operation: Operation<T>, options: CallOptions): Promise<Answered<T>> {
    const call = this.#begin(operation, options);
    try {
      call.signal.throwIfAborted();
      const reply = await this.#retry(call, () => this.#attempt(call, operation, this.#admit(call)));
      this.#settle(call, undefined);
      return reply;
    } catch (failure) {
      throw this.#fail(call, failure);
    }
  }

  /** Makes a call that changes a pet, after the earlier ones that change this pet. */
  async update(operation: Operation<Item>, options: CallOptions): Promise<Answered<Item>> {
    const call = this.#begin(operation, options);
    try {
      call.signal.throwIfAborted();
      this.#order ??= new InOrder();
      const reply = await this.#order.run(call, {
        raise: () => this.#steps.gate.raise(call),
        watch: this.#watch(call),
        // A promise, so that updates that a caller makes synchronously can supersede each other.
        admit: (passed) => Promise.resolve(passed ? this.#use(call, passed.observer, passed.key) : this.#admit(call)),
        cancel: ({ observer }) => observer.cancel(),
        // The permit is that of the first attempt.
        send: (admitted) => this.#retry(call, () => this.#attempt(call, operation, call.attempts === 0 ? admitted : this.#admit(call))),
      });
      this.#settle(call, undefined);
      return replyTo(call, reply);
    } catch (failure) {
      throw this.#fail(call, failure);
    }
  }

  /** Makes a call that lasts until its result is read to the end. `left` ends it before it is opened. Only the opening is retried. */
  async open<T>(operation: StreamOperation<T>, options: CallOptions, left?: AbortSignal): Promise<T> {
    const call = this.#begin(operation, options);
    left?.addEventListener('abort', () => call.abort(left.reason), { once: true });
    try {
      call.signal.throwIfAborted();
      // Awaited only if there is something to prepare, so that calls keep their order.
      const preparing = operation.prepare?.(call);
      if (preparing) await preparing;
      return await this.#retry(call, () => this.#attemptToOpen(call, operation));
    } catch (failure) {
      const instead = call.signal.aborted ? undefined : operation.instead?.(failure);
      const error = this.#fail(call, failure);
      if (instead === undefined) throw error;
      return instead;
    }
  }

  /** Ends every call that is under way, and every later one, with `reason`. */
  close(reason: unknown): void {
    if (this.#closedBy === undefined) {
      this.#closedBy = reason;
      this.#steps.gate.leave();
    }
    this.#settleGone();
    for (const call of this.#calls ?? []) call.abortFromOutside(reason);
    UpdateNews.from(this.#steps.client).tellClosed(this.#closedBy);
  }

  #retry<T>(call: Call, attempt: () => Promise<T>): Promise<T> {
    const { gate, transport } = this.#steps;
    return retry(call, { attempt, gate, watch: this.#watch(call), renewKey: transport.keyRenewal(call) });
  }

  /** Lets the gate refuse a call while it waits elsewhere. */
  #watch(call: Call) {
    const { gate, limits } = this.#steps;
    return (onRefusal: (refusal: unknown) => void, backoffMs?: number) => gate.watch({ call, limits, backoffMs }, onRefusal);
  }

  /** Awaits the permit even if it is there already, so that a call that its caller aborts at once is not sent. */
  async #attempt<T>(call: Call, operation: Operation<T>, admitting: Admitted | Promise<Admitted>): Promise<Answered<T>> {
    const answer = await this.#steps.transport.open(call, operation.request, await admitting);
    try {
      const reading = operation.read(answer, call);
      const data = isPromise(reading) ? await reading : reading;
      return { data, rest: () => restOf(answer, call) };
    } catch (failure) {
      answer.broke(failure);
      throw failure;
    } finally {
      answer.close();
    }
  }

  async #attemptToOpen<T>(call: Call, operation: StreamOperation<T>): Promise<T> {
    const { transport } = this.#steps;
    const loading = transport.prepare(call, operation.request);
    if (loading) await loading;
    const answer = await transport.open(call, operation.request, await this.#admit(call));
    try {
      return await operation.read(answer, call, (failed, unread) => {
        this.#settle(call, failed);
        if (unread) UpdateNews.from(this.#steps.client).follow(unread);
      });
    } catch (failure) {
      answer.broke(failure);
      answer.close();
      throw failure;
    }
  }

  /** Gets a permit and the key. If a store finds the quota by the key, the key is read before the call enters the gate. */
  #admit(call: Call): Admitted | Promise<Admitted> {
    const { gate, transport } = this.#steps;
    if (!gate.needsKey) return this.#enter(call);
    return transport.readKeyOfStore(call).then((key) => {
      gate.takeKey(key);
      return this.#enter(call);
    });
  }

  /** Gets a permit and reads the key: synchronously if neither has to be waited for. */
  #enter(call: Call): Admitted | Promise<Admitted> {
    const permit = this.#steps.gate.enter(call, this.#steps.limits);
    return isPromise(permit) ? permit.then((given) => this.#unlock(call, given)) : this.#unlock(call, permit);
  }

  #unlock(call: Call, permit: Permit): Admitted | Promise<Admitted> {
    const key = this.#steps.transport.readKey(call, permit);
    return typeof key === 'string' ? this.#use(call, permit, key) : key.then((read) => this.#use(call, permit, read));
  }

  /** Uses a permit, which another call may have got. If the gate closed while the key function ran, the call waits for another permit. */
  #use(call: Call, permit: Permit, key: string): Admitted | Promise<Admitted> {
    permit.call = call;
    if (permit.isValid) return { key, observer: permit };
    permit.cancel();
    return this.#enter(call);
  }

  /** Settles a call that failed, and returns the error or reason with which it rejects. */
  #fail(call: Call, failure: unknown): unknown {
    const error: unknown = call.signal.aborted ? call.signal.reason : failure;
    // V8 finds the callers from here, two frames up. The reason of an abort is the caller's.
    const isOwn = isPetStoreError(error) && error !== call.options.signal?.reason && call.supersededBy === undefined;
    if (isOwn) addCallers(error, new Error());
    this.#settle(call, { error });
    return error;
  }

  #begin({ name, petId, own }: Beginning, options: CallOptions): Call {
    if (isRequestBound()) this.#sweep(Date.now());
    const call = new Call({ id: ++this.#lastId, operation: name, petId, own, options, emitter: this.#steps.emitter });
    this.#calls ??= new Set();
    this.#calls.add(call);
    call.emit('started', (event) => event);
    if (this.#closedBy !== undefined) call.abort(this.#closedBy);
    return call;
  }

  #sweep(nowMs: number): void {
    if (Math.abs(nowMs - this.#sweptAtMs) < SWEEP_EVERY_MS) return;
    this.#sweptAtMs = nowMs;
    this.#settleGone();
  }

  /** Settles calls whose incoming requests have ended, so that neither this client nor a listener keeps them for ever. */
  #settleGone(): void {
    for (const call of this.#calls ?? []) {
      if (!call.isGone) continue;
      this.#order?.drop(call);
      this.#settle(call, { error: call.goneReason });
    }
  }

  #settle(call: Call, failed: { error: unknown } | undefined): void {
    // A call that counted as gone is settled already, but may still end.
    if (!this.#calls?.delete(call)) return;
    if (this.#calls.size === 0) this.#calls = undefined;
    call.end();
    this.#steps.gate.retries.settle(call);
    UpdateNews.of(this.#steps.client)?.tell(call);
    call.emit('settled', (event) => {
      const ms = Math.round(monotonicMs() - call.startedAtMs);
      return { ...event, ...outcomeOf(call, failed), ms, ...failed };
    });
  }
}

function outcomeOf(call: Call, failed: unknown): Pick<ClientEvents['settled'], 'outcome' | 'supersededBy'> {
  const { supersededBy } = call;
  if (supersededBy !== undefined) return { outcome: 'superseded', supersededBy };
  return { outcome: failed ? call.outcome : 'succeeded' };
}

/** What a call that has ended says beside its data. */
function restOf({ answer, status, allHeaders: headers }: OpenAnswer, { attempts, waitedMs }: Call): Omit<Reply<unknown>, 'data'> {
  const rateLimit = publicRateLimit(answer);
  return { status, headers, ...(rateLimit ? { rateLimit } : {}), attempts, waitedMs: Math.round(waitedMs) };
}

/** The reply of a call. A superseded update gets that of the later one, with its own copy of the item. */
function replyTo<Item extends object>(call: Call, reply: Answered<Item>): Answered<Item> {
  const { attempts, waitedMs, supersededBy } = call;
  if (supersededBy === undefined) return reply;
  const rest = () => ({ ...reply.rest(), attempts, waitedMs: Math.round(waitedMs), supersededBy });
  return { data: { ...reply.data }, rest };
}
