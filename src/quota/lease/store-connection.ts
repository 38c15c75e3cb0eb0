import { ConfigurationError, isPetStoreError } from '../../errors.ts';
import type { ApiKeySource } from '../../options/client-options.ts';
import { hasMethods, showValue } from '../../options/rules.ts';
import type { LeaseRequest, LeaseResponse, QuotaStore, SharedQuota } from '../../quota-store.ts';
import { Redactor } from '../../redactor.ts';
import { messageOf } from '../../thrown.ts';

/** The longest time that a response may name: a Date could not hold an instant much further away. */
const LONGEST_MS = 1e15;

const REASONS: readonly unknown[] = ['closed', 'quota', 'probe', 'lost'] satisfies LeaseResponse['reason'][];

/** What is valid in each field, checked by hand, since zod would be loaded by every process with a store. */
const IS_FIELD: Readonly<Record<keyof LeaseResponse, (value: unknown, answer: object) => boolean>> = {
  granted: isCount,
  // A lease without slots does not expire.
  expiresInMs: (value, answer) => isMilliseconds(value) && (value > 0 || Reflect.get(answer, 'granted') === 0),
  resetAtMs: isMilliseconds,
  waitMs: isMilliseconds,
  reason: (value) => REASONS.includes(value),
  members: isCount,
};

/** Checks what a store answered. @throws TypeError that shows what is wrong */
function check(answer: unknown): asserts answer is LeaseResponse {
  if (typeof answer !== 'object' || answer === null) throw new TypeError(`it answered ${showValue(answer)}`);
  for (const [field, isField] of Object.entries(IS_FIELD)) {
    const value: unknown = Reflect.get(answer, field);
    if (!isField(value, answer)) throw new TypeError(`it answered an object whose \`${field}\` is ${showValue(value)}`);
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && isMilliseconds(value);
}

function isMilliseconds(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LONGEST_MS;
}

/** The result of an exchange with a store: its response, or why there is none. */
export type ExchangeOutcome = { response: LeaseResponse } | { failure: string };

export interface StoreConnectionStart {
  store: QuotaStore;
  address: string;
  apiKey: string | ApiKeySource;
  /** Called when another process reports that the key is closed. */
  onClosed: (closedForMs: number) => void;
}

/** Joins a store once, as soon as the key is known, and exchanges leases with it. */
export class StoreConnection {
  readonly #start: StoreConnectionStart;
  // Hides the key, which a store's error may quote.
  readonly #redactor = new Redactor();
  #key: string | undefined;
  #shared: SharedQuota | undefined;
  // Whether the store was left after it was joined.
  #isLeft = false;

  /** @throws ConfigurationError if the store cannot be joined at once, because the key is a string */
  constructor(start: StoreConnectionStart) {
    this.#start = start;
    if (typeof start.apiKey !== 'string') return;
    this.#key = start.apiKey;
    try {
      this.#joined();
    } catch (failure) {
      if (isPetStoreError(failure)) throw failure;
      throw new ConfigurationError(`Cannot use this \`quotaStore\`: ${this.#reasonOf(failure)}`, { option: 'quotaStore' });
    }
  }

  /** Whether the key must still be given before the store can be joined. */
  get needsKey(): boolean {
    return this.#key === undefined;
  }

  takeKey(key: string): void {
    this.#key ??= key;
  }

  /** Joins the store again if it was left. If that fails, the next exchange tries it again. */
  join(): void {
    if (!this.#isLeft) return;
    this.#isLeft = false;
    this.#shared = undefined;
    try {
      this.#joined();
    } catch {}
  }

  /** Leaves the store, to which reports can still be sent. */
  async leave(): Promise<void> {
    const shared = this.#shared;
    if (this.#isLeft || !shared?.leave) return;
    this.#isLeft = true;
    try {
      await shared.leave();
    } catch {}
  }

  /** The response is checked. Neither throws nor rejects. */
  exchange(request: LeaseRequest): ExchangeOutcome | Promise<ExchangeOutcome> {
    const failed = (failure: unknown) => ({ failure: this.#reasonOf(failure) });
    try {
      const answer: unknown = this.#joined().exchange(request);
      // A promise of another realm or of a library is not an instance of this realm's Promise.
      return hasMethods(answer, ['then']) ? Promise.resolve(answer).then(read).catch(failed) : read(answer);
    } catch (failure) {
      return failed(failure);
    }
  }

  #reasonOf(failure: unknown): string {
    return this.#redactor.clean(messageOf(failure));
  }

  /** If the store could not be joined, the next exchange tries again. */
  #joined(): SharedQuota {
    const apiKey = this.#key;
    if (apiKey === undefined) throw new Error('its key is not known yet');
    const { store, address, onClosed } = this.#start;
    this.#redactor.learn(apiKey);
    this.#shared ??= store.join({ address, apiKey }, (closedForMs) => {
      if (isMilliseconds(closedForMs) && closedForMs > 0) onClosed(closedForMs);
    });
    return this.#shared;
  }
}

function read(response: unknown): ExchangeOutcome {
  check(response);
  return { response };
}
