import type { Call } from '../../call.ts';
import type { ClientEvents } from '../../events.ts';
import type { ApiKeySource } from '../../options/client-options.ts';
import { hasMethods, showValue } from '../../options/rules.ts';
import type { LeaseRequest, LeaseResponse, QuotaStore, SharedQuota } from '../../quota-store.ts';
import type { Redactor } from '../../redactor.ts';
import { messageOf } from '../../thrown.ts';

/** The longest time that a response may name: a Date could not hold an instant much further away. */
const LONGEST_MS = 1e15;

const REASONS: readonly LeaseResponse['reason'][] = ['closed', 'quota', 'probe', 'lost'];

/** The type of each field, checked by hand, since zod would be loaded by every process with a store. */
const IS_FIELD: { readonly [Field in keyof LeaseResponse]: (value: unknown) => value is LeaseResponse[Field] } = {
  granted: isCount,
  expiresInMs: isMilliseconds,
  resetAtMs: isMilliseconds,
  waitMs: isMilliseconds,
  reason: isReason,
  members: isCount,
};

/** Checks what a store answered. @throws TypeError that shows the answer */
export function parseLeaseResponse(answer: unknown): LeaseResponse {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) throw new TypeError(`it answered ${showValue(answer)}`);
  const read = <Field extends keyof LeaseResponse>(field: Field): LeaseResponse[Field] => {
    const value: unknown = Reflect.get(answer, field);
    if (IS_FIELD[field](value)) return value;
    throw badField(field, value);
  };
  const response = {
    granted: read('granted'),
    expiresInMs: read('expiresInMs'),
    resetAtMs: read('resetAtMs'),
    waitMs: read('waitMs'),
    reason: read('reason'),
    members: read('members'),
  };
  if (response.granted > 0 && response.expiresInMs === 0) throw badField('expiresInMs', 0);
  return response;
}

function badField(field: keyof LeaseResponse, value: unknown): TypeError {
  return new TypeError(`it answered an object whose \`${field}\` is ${showValue(value)}`);
}

function isReason(value: unknown): value is LeaseResponse['reason'] {
  return REASONS.some((reason) => reason === value);
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function isMilliseconds(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LONGEST_MS;
}

/** The result of an exchange with a store. */
export type ExchangeOutcome = { response: LeaseResponse } | { failure: unknown };

export interface StoreConnectionStart {
  store: QuotaStore;
  address: string;
  apiKey: string | ApiKeySource;
  /** Gets the key, so that it can hide it. */
  redactor: Redactor;
  /** Called when another process reports that the key is closed. */
  onClosed: (closedForMs: number) => void;
}

/**
 * Joins a store once, as soon as the key is known, and exchanges leases with it. The outcome of every exchange is a checked response or a
 * failure.
 */
export class StoreConnection {
  readonly #start: StoreConnectionStart;
  #key: string | undefined;
  #shared: SharedQuota | undefined;

  /** @throws whatever the store throws when it is joined at once, because the key is a string */
  constructor(start: StoreConnectionStart) {
    this.#start = start;
    if (typeof start.apiKey !== 'string') return;
    this.#key = start.apiKey;
    this.#shared = this.#join(start.apiKey);
  }

  /** Whether the key must still be given before the store can be joined. */
  get needsKey(): boolean {
    return this.#key === undefined;
  }

  takeKey(key: string): void {
    this.#key ??= key;
  }

  /** Neither throws nor rejects. */
  exchange(request: LeaseRequest): ExchangeOutcome | Promise<ExchangeOutcome> {
    try {
      const answer: unknown = this.#joined().exchange(request);
      return isPromise(answer) ? Promise.resolve(answer).then(read, (failure: unknown) => ({ failure })) : read(answer);
    } catch (failure) {
      return { failure };
    }
  }

  /** If the store could not be joined, the next exchange tries again. */
  #joined(): SharedQuota {
    if (this.#key === undefined) throw new Error('its key is not known yet');
    this.#shared ??= this.#join(this.#key);
    return this.#shared;
  }

  #join(apiKey: string): SharedQuota {
    const { store, address, redactor, onClosed } = this.#start;
    redactor.learn(apiKey);
    return store.join({ address, apiKey }, (closedForMs) => {
      if (isWait(closedForMs)) onClosed(closedForMs);
    });
  }
}

function read(answer: unknown): ExchangeOutcome {
  try {
    return { response: parseLeaseResponse(answer) };
  } catch (failure) {
    return { failure };
  }
}

/** A promise of another realm or of a library is not an instance of this realm's Promise. */
function isPromise(answer: unknown): boolean {
  return hasMethods(answer, ['then']);
}

/** Whether a value is a time for which another process may close the gate. */
function isWait(ms: unknown): boolean {
  return typeof ms === 'number' && ms > 0 && ms <= LONGEST_MS;
}

type Notice = Pick<ClientEvents['quotaStore'], 'state' | 'reason'>;

/** Reports once that the store failed, and once that it is back: as a warning at once, as an event with the next request. */
export class StoreNotices {
  readonly #warn: (message: string) => void;
  readonly #redactor: Redactor;
  #hasFailed = false;
  #pending: Notice | undefined;

  /** @param redactor hides the key, which a store's error may quote */
  constructor(warn: (message: string) => void, redactor: Redactor) {
    this.#warn = warn;
    this.#redactor = redactor;
  }

  fail(failure: unknown): void {
    if (this.#hasFailed) return;
    const reason = this.#redactor.clean(messageOf(failure));
    this.#hasFailed = true;
    this.#pending = { state: 'local', reason };
    this.#warn(`the quota store cannot be used, so this process keeps to its part of the quota until it can: ${reason}`);
  }

  recover(): void {
    if (!this.#hasFailed) return;
    this.#hasFailed = false;
    this.#pending = { state: 'shared' };
  }

  report(call: Call): void {
    const notice = this.#pending;
    if (!notice) return;
    this.#pending = undefined;
    call.emit('quotaStore', (event) => ({ ...event, ...notice }));
  }
}
