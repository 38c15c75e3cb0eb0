import { channelOf } from './channels.ts';
import type { PetId } from './contract/models.ts';
import { InvalidArgumentError, type OperationName, type PetStoreError, type RateLimit, type UpdateOutcome } from './errors.ts';
import { unharmed } from './thrown.ts';

/**
 * What every event tells: which call it is about.
 *
 * @example
 * const tell = ({ callId, operation, petId, attempt }: CallEvent) => console.log(callId, operation, petId, attempt);
 * petstore.on('request', tell);
 * await petstore.updateInventory(1, { quantity: 12 }); // → 1 updateInventory 1 1
 */
export interface CallEvent {
  /** Counts the calls of one client, from 1. */
  callId: number;
  /** The method that was called. */
  operation: OperationName;
  /** The pet of an update, as it was given; left out for a list. */
  petId?: PetId;
  /** The attempt that is under way, from 1; 0 before the first. */
  attempt: number;
}

/**
 * Why a call waits: for a window's turn, behind a 429, behind an outage, for requests in flight, for an earlier update of its pet, or
 * to leave the service alone after a failure.
 *
 * @example
 * const reasons = new Set<WaitReason>();
 * petstore.on('wait', ({ reason }) => reasons.add(reason));
 * await Promise.all([petstore.updateInventory(1, { quantity: 4 }), petstore.updateInventory(1, { quantity: 5 })]);
 * console.log(reasons); // → Set(1) { 'order' }
 */
export type WaitReason = 'quota' | 'rate-limit' | 'outage' | 'in-flight' | 'order' | 'backoff';

/**
 * The events of a client and what their listeners get, each with the fields of {@link CallEvent}. Times are milliseconds.
 *
 * @example
 * const stop = petstore.on('settled', ({ operation, outcome, ms }) => console.log(operation, outcome, ms >= 0));
 * await petstore.listInventory(); // → listInventory succeeded true
 * stop();
 */
export interface ClientEvents {
  /** A call begins; told in the turn of whoever made it, or asked for the first item of a stream, before anything else of it. */
  started: CallEvent;
  /** A request leaves. */
  request: CallEvent & { method: string; path: string };
  /** The headers of an answer came, `ms` after the request left; `date` is the service's clock, in whole seconds. */
  response: CallEvent & { status: number; ms: number; date?: Date; rateLimit?: RateLimit };
  /**
   * The service announced in an answer that the endpoint is deprecated (RFC 9745), or when it will stop (RFC 8594): each date that it
   * named, and a page about it. Told once for each operation of a client; of `fetch`, once for each method and path, where segments with
   * digits count as the same.
   */
  deprecation: CallEvent & { method: string; path: string; deprecatedAt?: Date; sunsetAt?: Date; link?: string };
  /** An attempt failed and will be made again, `delayMs` from now at the earliest. */
  retry: CallEvent & { delayMs: number; error: PetStoreError };
  /** A call begins to wait, for about `ms` milliseconds; 0 where only an answer or an earlier update can tell how long. */
  wait: CallEvent & { reason: WaitReason; ms: number };
  /**
   * Calls are queued, `calls` of them, for about `ms` milliseconds from now; the call is the first. Reported once for each instant
   * that is more than a second ahead, and again when ten times as many wait for it.
   */
  queue: CallEvent & { reason: WaitReason; ms: number; calls: number };
  /** The gate of this key closed, `until` then at least, or opened again. */
  gate: CallEvent & { state: 'closed' | 'open'; until?: Date };
  /** The store of the quota cannot be used, so that this process keeps to its part, or it can be again. Reported with the next request. */
  quotaStore: CallEvent & { state: 'local' | 'shared'; reason?: string };
  /**
   * So many requests failed that no retry is left to the calls of this key: those that fail are not tried again. Or half of the retries
   * are back. Each reported once.
   */
  retryBudget: CallEvent & { state: 'empty' | 'refilled'; available: number };
  /**
   * A call ended after `ms`. `outcome` is that of the change; a list that failed was `rejected` or `unknown` likewise. An update that was
   * `superseded` ended as the call `supersededBy` did, with its `error` if it failed.
   */
  settled: CallEvent & { outcome: 'succeeded' | 'superseded' | UpdateOutcome; ms: number; error?: unknown; supersededBy?: number };
  /** The service sent a status that its specification does not name; the first 32 of a call are told. */
  unknownStatus: CallEvent & { status: string };
}

/**
 * Takes what is to be told, console-like; `console` itself is one. The key is in no line. What it throws, at once or later, harms no call.
 *
 * @example
 * const lines: string[] = [];
 * const write = (message: string) => lines.push(message);
 * const logger: Logger = { debug: write, info: write, warn: write, error: write };
 * await new PetStoreClient({ apiKey, baseUrl, logger }).listInventory();
 * console.log(lines[0]); // → petstore-inventory: list the inventory begins (call 1)
 */
export interface Logger {
  /** Every beginning, request, answer, wait and end of a call. */
  debug(message: string): void;
  /** What calls wait for and until when, once for all of them; a gate closed or opened; a quota store was lost or is back. */
  info(message: string): void;
  /** A retry, no retries left, a deprecation, a status that the specification does not name, two clients that disagree. */
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

/** Where events are written down. Its methods may return a promise that rejects. */
export interface EventLog {
  /** Writes an event. */
  tell<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): unknown;
  /** Logs what belongs to no call. */
  warn(message: string): unknown;
}

/** Reports what happens to listeners, the log and the runtime's channels. What they throw is ignored. */
export class Emitter {
  // Made with the first listener: most clients have none.
  #listeners: Listeners | undefined;
  readonly #log: EventLog | undefined;
  // The client of these events; without it they go to no channel.
  readonly #client: object | undefined;

  constructor(log?: EventLog, client?: object) {
    this.#log = log;
    this.#client = client;
  }

  /** False where an event need not be made, since it has no listener. */
  hasListener(name: keyof ClientEvents): boolean {
    if (this.#log !== undefined || (this.#listeners !== undefined && this.#listeners[name].size > 0)) return true;
    return this.#client !== undefined && channelOf(name)?.hasSubscribers === true;
  }

  on<Name extends keyof ClientEvents>(name: Name, listener: Listener<Name>): () => void {
    const listeners = this.#listeners ?? createListeners();
    const known = Object.keys(listeners);
    if (!known.includes(name)) throw badArgument('event', `the events are ${known.join(', ')}`);
    if (typeof listener !== 'function') throw badArgument('listener', 'it must be a function');
    // A wrapper of its own, so that one function subscribed twice is told twice and unsubscribed once.
    const own: Listener<Name> = (event) => listener(event);
    this.#listeners = listeners;
    listeners[name].add(own);
    return () => {
      listeners[name].delete(own);
    };
  }

  emit<Name extends keyof ClientEvents>(name: Name, event: ClientEvents[Name]): void {
    for (const listener of [...(this.#listeners?.[name] ?? [])]) unharmed(() => listener(event));
    unharmed(() => this.#log?.tell(name, event));
    if (this.#client) this.#publish(name, event, this.#client);
  }

  #publish(name: keyof ClientEvents, event: CallEvent, client: object): void {
    const channel = channelOf(name);
    if (channel?.hasSubscribers) unharmed(() => channel.publish({ ...event, client }));
  }

  warn(message: string): void {
    unharmed(() => this.#log?.warn(message));
  }
}

function badArgument(argument: string, rule: string): InvalidArgumentError {
  return new InvalidArgumentError(`Cannot listen with this \`${argument}\`: ${rule}`, { argument });
}
