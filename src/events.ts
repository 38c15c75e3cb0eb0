import { type Channel, channelOf } from './channels.ts';
import type { PetId } from './contract/models.ts';
import { InvalidArgumentError, type OperationName, type PetStoreFailure, type RateLimit, type UpdateOutcome } from './errors.ts';
import { showThrown, unharmed } from './thrown.ts';

/**
 * The fields of every event: the call that it is about.
 *
 * @example
 * const tell = ({ callId, operation, petId, attempt }: CallEvent) => console.log(callId, operation, petId, attempt);
 * petstore.on('request', tell);
 * await petstore.updateInventory(1, { quantity: 12 }); // → 1 updateInventory 1 1
 */
export interface CallEvent {
  /** The number of the call, counted from 1 for each client. */
  callId: number;
  /** The method that was called. */
  operation: OperationName;
  /** The pet of an update, as it was given; left out for a list. */
  petId?: PetId;
  /** The attempt that is under way, from 1; 0 before the first. */
  attempt: number;
}

/**
 * Why a call waits: for quota (`quota`), for the end of a Retry-After (`rate-limit`) or of an outage (`outage`), for requests in flight
 * (`in-flight`), for an earlier update of its pet (`order`), or for the backoff after a failure (`backoff`).
 *
 * @example
 * const reasons = new Set<WaitReason>();
 * petstore.on('wait', ({ reason }) => reasons.add(reason));
 * await Promise.all([petstore.updateInventory(1, { quantity: 4 }), petstore.updateInventory(1, { quantity: 5 })]);
 * console.log(reasons); // → Set(1) { 'order' }
 */
export type WaitReason = 'quota' | 'rate-limit' | 'outage' | 'in-flight' | 'order' | 'backoff';

/**
 * The events of a client and their fields, besides those of {@link CallEvent}. Times are in milliseconds.
 *
 * @example
 * const stop = petstore.on('settled', ({ operation, outcome, ms }) => console.log(operation, outcome, ms >= 0));
 * await petstore.listInventory(); // → listInventory succeeded true
 * stop();
 */
export interface ClientEvents {
  /**
   * A call begins: its first event, emitted synchronously when the method is called, or when the first item of a stream is asked for. If a
   * listener then updates the pet that the call is about to update, the listener's update is sent first.
   */
  started: CallEvent;
  /** A request is about to be sent; `path` is below the client's address, without a query. */
  request: CallEvent & { method: string; path: string };
  /** The headers of an answer came, `ms` after the request was sent; `date` is the service's clock, in whole seconds. */
  response: CallEvent & { status: number; ms: number; date?: Date; rateLimit?: RateLimit };
  /**
   * An answer announced that the endpoint is deprecated (RFC 9745), or when it will stop (RFC 8594): the dates that it named, and a page
   * about it. Emitted once for each operation of a client; for `fetch`, once for each of up to 64 methods and paths, with all path segments
   * that contain digits taken as the same.
   */
  deprecation: CallEvent & { method: string; path: string; deprecatedAt?: Date; sunsetAt?: Date; link?: string };
  /** An attempt failed with `error`; the next one follows in `delayMs` at the earliest. */
  retry: CallEvent & { delayMs: number; error: PetStoreFailure };
  /** A call begins to wait, for about `ms`; 0 if the wait depends on an answer or an earlier update. */
  wait: CallEvent & { reason: WaitReason; ms: number };
  /**
   * `calls` calls are queued, for about `ms` from now; the event names the first of them. Emitted once for each instant that is more than a
   * second ahead, and again when ten times as many calls wait for it.
   */
  queue: CallEvent & { reason: WaitReason; ms: number; calls: number };
  /** The gate of this key closed, at least until `until`, or opened again. */
  gate: CallEvent & { state: 'closed' | 'open'; until?: Date };
  /**
   * The quota store failed, so that this process keeps to its part (`local`), or works again (`shared`); `reason` says why it failed.
   * Emitted with the next request.
   */
  quotaStore: CallEvent & { state: 'local' | 'shared'; reason?: string };
  /**
   * `empty`: so many requests failed that the calls of this key have no retry left, and are not tried again if they fail. `refilled`: half
   * of the retries are back. Each change is emitted once.
   */
  retryBudget: CallEvent & { state: 'empty' | 'refilled'; available: number };
  /**
   * A call ended after `ms`. `outcome` is what became of the change; a list that failed has one as well. An update that was `superseded`
   * ended as the call `supersededBy` did, with the `error` of that call if it failed.
   */
  settled: CallEvent & { outcome: 'succeeded' | 'superseded' | UpdateOutcome; ms: number; error?: unknown; supersededBy?: number };
  /** The service sent a pet status that its specification does not name; emitted for the first 32 of a call. */
  unknownStatus: CallEvent & { status: string };
}

/**
 * A console-like object that gets the log lines; `console` itself is one. No line contains the key. Errors of a logger are ignored.
 *
 * @example
 * const lines: string[] = [];
 * const write = (message: string) => lines.push(message);
 * const logger: Logger = { debug: write, info: write, warn: write, error: write };
 * await new PetStoreClient({ apiKey, baseUrl, logger }).listInventory();
 * console.log(lines[0]); // → petstore-inventory: list the inventory begins (call 1)
 */
export interface Logger {
  /** Each beginning, request, answer, wait and end of a call. */
  debug(message: string): void;
  /** What queued calls wait for and for how long, once for all of them; a gate closed or opened; a quota store failed or works again. */
  info(message: string): void;
  /**
   * A retry; no retries left, or half of them again; a deprecation; a pet status that the specification does not name; a plan that another
   * client or the service contradicts; the loss of a quota store.
   */
  warn(message: string): void;
  /** Not used: failures reject. */
  error(message: string): void;
}

type Listener<Name extends keyof ClientEvents> = (event: ClientEvents[Name]) => void;
type Listeners = { [Name in keyof ClientEvents]: Set<Listener<Name>> };

function createListeners(): Listeners {
  return {
    started: new Set(),
    request: new Set(),
    response: new Set(),
    deprecation: new Set(),
    retry: new Set(),
    wait: new Set(),
    queue: new Set(),
    gate: new Set(),
    quotaStore: new Set(),
    retryBudget: new Set(),
    settled: new Set(),
    unknownStatus: new Set(),
  };
}

/** Writes events to a log. Its methods may return a promise that rejects. */
export interface EventLog {
  /** Writes an event. */
  tell<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): unknown;
  /** Logs a warning that belongs to no call. */
  warn(message: string): unknown;
}

/** Reports events to listeners, the log and the runtime's channels. Their errors are ignored. */
export class Emitter {
  // Created with the first listener: most clients have none.
  #listeners: Listeners | undefined;
  readonly #log: EventLog | undefined;
  // The client whose events these are; without it they go to no channel.
  readonly #client: object | undefined;

  constructor(log?: EventLog, client?: object) {
    this.#log = log;
    this.#client = client;
  }

  /** Whether an event has a listener; if not, it need not be made. */
  hasListener(name: keyof ClientEvents): boolean {
    return this.#log !== undefined || (this.#listeners?.[name].size ?? 0) > 0 || this.#channelOf(name) !== undefined;
  }

  /** The channel of an event, if anything subscribes to it. */
  #channelOf(name: keyof ClientEvents): Channel | undefined {
    const channel = this.#client && channelOf(name);
    return channel?.hasSubscribers ? channel : undefined;
  }

  on<Name extends keyof ClientEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners ?? createListeners();
    const known = Object.keys(listeners);
    if (!known.includes(name)) throw badArgument('event', JSON.stringify(showThrown(name)), `the events are ${known.join(', ')}`);
    if (typeof listener !== 'function') throw badArgument('listener', 'this', `it must be a function, not ${typeof listener}`);
    // A new wrapper for each, so that a function that is added twice is called twice and can be removed once for each.
    const own: Listener<Name> = (event) => listener(event);
    this.#listeners = listeners;
    listeners[name].add(own);
    return () => {
      listeners[name].delete(own);
    };
  }

  emit<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): void {
    // Each listener gets an event of its own, which it may change.
    for (const listener of [...(this.#listeners?.[name] ?? [])]) unharmed(() => listener({ ...event }));
    unharmed(() => this.#log?.tell(name, event));
    unharmed(() => this.#channelOf(name)?.publish({ ...event, client: this.#client }));
  }

  warn(message: string): void {
    unharmed(() => this.#log?.warn(message));
  }
}

function badArgument(argument: string, given: string, rule: string): InvalidArgumentError {
  return new InvalidArgumentError(`Cannot use ${given} as \`${argument}\`: ${rule}`, { argument });
}
