import type { PetId } from './contract/models.ts';
import { fieldOf } from './thrown.ts';

/** Marks the errors of every copy of the package, since `instanceof` does not recognise those of another copy. */
const BRAND = Symbol.for('petstore-inventory.error');

/**
 * The methods that send requests to the service.
 *
 * @example
 * const asked: OperationName[] = [];
 * petstore.on('request', ({ operation }) => asked.push(operation));
 * await petstore.listInventory();
 * console.log(asked); // → [ 'listInventory' ]
 */
export type OperationName = 'listInventory' | 'updateInventory' | 'streamInventory' | 'fetch';

/**
 * Whether an update was applied, over all its attempts: `not-sent` if no request was sent, `rejected` if every attempt was refused, and
 * `unknown` if a request may have been applied. After `unknown`, set the quantity again.
 *
 * @example
 * sandbox.faults.add({ fail: 'lost' }); // the change is applied, its answer gets lost
 * const error = await petstore.updateInventory(1, { quantity: 7 }, { maxRetries: 0 }).catch((thrown) => thrown);
 * const outcome: UpdateOutcome = error.outcome;
 * console.log(outcome); // → unknown
 */
export type UpdateOutcome = 'not-sent' | 'rejected' | 'unknown';

/**
 * What X-RateLimit-* said last (specification, Limits).
 *
 * @example
 * const { rateLimit } = await petstore.listInventory().withResponse();
 * console.log(rateLimit?.limit, rateLimit?.remaining); // → 1000 999
 */
export interface RateLimit {
  /** The limit in force, in requests. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** When the limit resets, on the server's clock. */
  resetAt: Date;
}

/**
 * What is known about a failure besides its message: the fields of {@link PetStoreError}, for tests that make their own errors.
 *
 * @example
 * const error = new RateLimitError('Cannot list the inventory', { retryAt: new Date('2026-11-22') });
 * console.log(error.retryAt?.getUTCDate(), error.attempts); // → 22 0
 */
export interface FailureDetails {
  /** The method that was called. */
  operation?: OperationName | undefined;
  /** The pet of an update, as it was given. */
  petId?: PetId | undefined;
  /**
   * Requests that were sent for this call.
   * @default 0
   */
  attempts?: number | undefined;
  /** For updates, and for calls of `fetch`: whether the change was applied. */
  outcome?: UpdateOutcome | undefined;
  /** The HTTP status. */
  status?: number | undefined;
  /** The service's or the system's code. */
  code?: string | undefined;
  /** The earliest instant at which the same call may be sent. */
  retryAt?: Date | undefined;
  /** What the answer's Retry-After said, in milliseconds. */
  retryAfterMs?: number | undefined;
  /** What the answer's X-RateLimit-* said. */
  rateLimit?: RateLimit | undefined;
  /** The beginning of a body that was not an Error body. */
  bodyText?: string | undefined;
  /** The error that caused this one. */
  cause?: unknown;
}

/**
 * The base class of all errors of a call, except for an abort: an aborted call rejects with `signal.reason`.
 *
 * No field holds the key, a request or headers. Text of the service is cut to 4 KiB, and its control characters are removed.
 *
 * @example
 * const error = await petstore.updateInventory(999, { quantity: 1 }).catch((thrown) => thrown);
 * console.log(error instanceof PetStoreError, error.kind, error.outcome); // → true not-found rejected
 */
export abstract class PetStoreError extends Error {
  /** The kind of failure, one for each class; branch on it. */
  abstract readonly kind: PetStoreFailure['kind'];
  /**
   * The code of the service's Error body; else one such as `http_502`, that of the innermost cause, such as `ECONNREFUSED`, or the client's
   * own: `wait_too_long`, `invalid_response`, `proxy_403`, `proxy_407`, `out_of_bounds`. Undefined if there is none, as for a timeout.
   */
  readonly code: string | undefined;
  /** The HTTP status; undefined if no answer came. */
  readonly status: number | undefined;
  /** The method that was called; undefined if the error is not about one call, as for a bad option of a client. */
  readonly operation: OperationName | undefined;
  /** The pet of an update, as it was given. */
  readonly petId: PetId | undefined;
  /** Requests that were sent for this call. */
  readonly attempts: number;
  /** The earliest instant at which the same call may be sent. */
  readonly retryAt: Date | undefined;
  /** What the answer's Retry-After said, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** What the answer's X-RateLimit-* said; undefined if it had no valid ones. */
  readonly rateLimit: RateLimit | undefined;
  /** The first 1 KiB of a body that was not an Error body. */
  readonly bodyText: string | undefined;
  /** For updates, and for calls of `fetch`: whether the change was applied. */
  readonly outcome: UpdateOutcome | undefined;

  /** Made by the client; by you in tests. */
  constructor(message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.status = details.status;
    this.operation = details.operation;
    this.petId = details.petId;
    this.attempts = details.attempts ?? 0;
    this.retryAt = details.retryAt;
    this.retryAfterMs = details.retryAfterMs;
    this.rateLimit = details.rateLimit;
    this.bodyText = details.bodyText;
    this.outcome = details.outcome;
    Object.defineProperty(this, BRAND, { value: true });
    this.hideUnknown();
  }

  /** Hides undefined fields from what a console prints, and from `toJSON`. */
  protected hideUnknown(): void {
    for (const [field, value] of Object.entries(this)) {
      if (value === undefined) Object.defineProperty(this, field, { value, enumerable: false });
    }
  }

  /** Everything but the stack and the cause, ready for a log; a bigint petId becomes a string. */
  toJSON(): Record<string, unknown> {
    const { name, kind, message, petId, cause, ...known } = this;
    const pet = petId === undefined ? {} : { petId: typeof petId === 'bigint' ? petId.toString() : petId };
    return { name, kind, message, ...pet, ...known };
  }
}

/**
 * 400: the body of an update is missing required fields or contains invalid values (specification, Errors). Not retried.
 *
 * @example
 * sandbox.faults.add({ status: 400 });
 * const error = await petstore.updateInventory(1, { quantity: -1 }).catch((thrown) => thrown);
 * console.log(error instanceof BadRequestError, error.status, error.outcome); // → true 400 rejected
 */
export class BadRequestError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'BadRequestError';
  /** Branch on this. */
  readonly kind = 'bad-request';
}

/**
 * 401: the key is missing or invalid, or banned for a while (specification, Authentication). Not retried, unless an `apiKey` function gives
 * another key.
 *
 * @example
 * sandbox.revokeKey(sandbox.keys.business);
 * const error = await petstore.listInventory().catch((thrown) => thrown);
 * console.log(error instanceof AuthenticationError, error.status); // → true 401
 */
export class AuthenticationError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'AuthenticationError';
  /** Branch on this. */
  readonly kind = 'authentication';
}

/**
 * 404: there is no such pet (specification, Errors). Not retried. A wrong `baseUrl` may lead to a 404 as well.
 *
 * @example
 * const error = await petstore.updateInventory(999, { quantity: 1 }).catch((thrown) => thrown);
 * console.log(error instanceof NotFoundError, error.petId); // → true 999
 */
export class NotFoundError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'NotFoundError';
  /** Branch on this. */
  readonly kind = 'not-found';
}

/**
 * A 429 after the last retry, or one that asks for a wait longer than `maxWaitMs`, which is not retried (`status` 429). Or a wait for quota
 * that would exceed `maxWaitMs`: then nothing was sent, `status` is undefined and `code` is `wait_too_long`. `retryAt` says when there is
 * quota again (specification, Limits).
 *
 * @example
 * sandbox.faults.add({ times: 1, status: 429, headers: { 'retry-after': '3600' } });
 * const error = await petstore.listInventory({ maxWaitMs: 1_000 }).catch((thrown) => thrown);
 * console.log(error instanceof RateLimitError, error.status, error.retryAfterMs); // → true 429 3600000
 * const next = await petstore.listInventory({ maxWaitMs: 1_000 }).catch((thrown) => thrown);
 * console.log(next.status, next.attempts, next.retryAt > new Date()); // → undefined 0 true
 */
export class RateLimitError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'RateLimitError';
  /** Branch on this. */
  readonly kind = 'rate-limit';
}

/**
 * A 5xx after the last retry, a 503 that asks for a wait longer than `maxWaitMs`, or an outage longer than that. 501 and 505 are not
 * retried (RFC 9110 section 15.6).
 *
 * @example
 * sandbox.faults.add({ status: 503 });
 * const error = await petstore.updateInventory(1, { quantity: 5 }, { maxRetries: 0 }).catch((thrown) => thrown);
 * console.log(error instanceof ServerError, error.status, error.outcome); // → true 503 unknown
 */
export class ServerError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'ServerError';
  /** Branch on this. */
  readonly kind = 'server';
}

/**
 * Any other status outside 2xx. A redirect is never followed, since the key must not travel to another address. 408 and 425 are
 * retried (RFC 9110 section 15.5.9, RFC 8470 section 5.2), the others are not.
 *
 * @example
 * sandbox.faults.add({ status: 301, headers: { location: 'https://new.example/v1/inventory' } });
 * const error = await petstore.listInventory().catch((thrown) => thrown);
 * console.log(error instanceof UnexpectedStatusError, error.location); // → true https://new.example/v1/inventory
 */
export class UnexpectedStatusError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'UnexpectedStatusError';
  /** Branch on this. */
  readonly kind = 'unexpected-status';
  /** Where a redirect points, without credentials and query. */
  readonly location: string | undefined;

  /** Made by the client; by you in tests. */
  constructor(message: string, details: FailureDetails & { location?: string | undefined } = {}) {
    super(message, details);
    this.location = details.location;
    this.hideUnknown();
  }
}

/**
 * No answer, or a broken one, after the last retry. `code` is that of the innermost cause, such as `ECONNREFUSED`. A certificate error is
 * not retried, nor is a proxy's refusal that another attempt would not change.
 *
 * @example
 * sandbox.faults.add({ fail: 'reset' });
 * const error = await petstore.listInventory({ maxRetries: 0 }).catch((thrown) => thrown);
 * console.log(error instanceof ConnectionError, error.code); // → true ECONNRESET
 */
export class ConnectionError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'ConnectionError';
  /** Branch on this. */
  readonly kind = 'connection';
}

/**
 * `attemptTimeoutMs` ran out on the last attempt, or `totalTimeoutMs` ran out.
 *
 * @example
 * sandbox.faults.add({ fail: 'stall' });
 * const error = await petstore.listInventory({ attemptTimeoutMs: 20, maxRetries: 0 }).catch((thrown) => thrown);
 * console.log(error instanceof TimeoutError, error.attempts); // → true 1
 */
export class TimeoutError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'TimeoutError';
  /** Branch on this. */
  readonly kind = 'timeout';
}

/**
 * What is wrong at one place of an answer.
 *
 * @example
 * sandbox.inventory.set(2n ** 53n, { quantity: 3 });
 * const error = await petstore.listInventory().catch((thrown) => thrown);
 * const [first]: Problem[] = error.problems;
 * console.log(first?.path); // → [12].petId
 */
export interface Problem {
  /** The place, such as `[0].petId`; empty for the whole document. */
  path: string;
  /** What is wrong, such as `must be an integer, not a string`; shows numbers of the answer, but none of its text. */
  message: string;
}

/**
 * Why an answer could not be used: its text, its fields, a pet other than the one that was updated, or its size.
 *
 * @example
 * sandbox.faults.add({ fail: 'malformed' });
 * const error = await petstore.listInventory().catch((thrown) => thrown);
 * const reason: InvalidResponseReason = error.reason;
 * console.log(reason); // → invalid-json
 */
export type InvalidResponseReason = 'invalid-json' | 'invalid-utf8' | 'schema' | 'mismatch' | 'too-large';

/**
 * A 2xx answer whose body does not match the specification, or is too large. Never retried: the same bytes would come again.
 *
 * @example
 * sandbox.inventory.set(2n ** 53n, { quantity: 3 }); // no `number` holds this id: `int64: 'bigint'` does
 * const error = await petstore.listInventory().catch((thrown) => thrown);
 * console.log(error instanceof InvalidResponseError, error.reason); // → true schema
 */
export class InvalidResponseError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'InvalidResponseError';
  /** Branch on this. */
  readonly kind = 'invalid-response';
  /** Why the answer could not be used. */
  readonly reason: InvalidResponseReason;
  /** The first ten problems. Of a list beyond 1 MiB, those near the first, among the rows received so far. */
  readonly problems: readonly Problem[];

  /** Made by the client; by you in tests. */
  constructor(message: string, details: FailureDetails & { reason: InvalidResponseReason; problems?: readonly Problem[] | undefined }) {
    super(message, details);
    this.reason = details.reason;
    this.problems = details.problems ?? [];
  }
}

/**
 * A bad argument: nothing was sent.
 *
 * @example
 * const error = await petstore.updateInventory(1, { quantity: 1.5 }).catch((thrown) => thrown);
 * console.log(error instanceof InvalidArgumentError, error.argument, error.outcome); // → true quantity not-sent
 */
export class InvalidArgumentError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'InvalidArgumentError';
  /** Branch on this. */
  readonly kind = 'invalid-argument';
  /** The name of the argument. */
  readonly argument: string;

  /** Made by the client; by you in tests. */
  constructor(message: string, details: FailureDetails & { argument: string }) {
    super(message, details);
    this.argument = details.argument;
  }
}

/**
 * A bad option: the constructor throws it, and a call with a bad option rejects with it. The message names the rule and the value, never
 * the key.
 *
 * @example
 * try {
 *   new PetStoreClient({ apiKey, baseUrl, maxRetries: -1 });
 * } catch (error) {
 *   console.log(error instanceof ConfigurationError && error.option); // → maxRetries
 * }
 */
export class ConfigurationError extends PetStoreError {
  /** The name of the class, even if a minifier renames it. */
  override readonly name = 'ConfigurationError';
  /** Branch on this. */
  readonly kind = 'configuration';
  /** The name of the option. */
  readonly option: string;

  /** Made by the client; by you in tests. */
  constructor(message: string, details: FailureDetails & { option: string }) {
    super(message, details);
    this.option = details.option;
  }
}

/**
 * Every class of failure, so that `switch (error.kind)` narrows.
 *
 * @example
 * function advise(failure: PetStoreFailure): string {
 *   switch (failure.kind) {
 *     case 'rate-limit':
 *       return `not before ${failure.retryAt?.toISOString()}`;
 *     case 'configuration':
 *       return `look at ${failure.option}`;
 *     default:
 *       return failure.message;
 *   }
 * }
 * console.log(advise(new ConfigurationError('Cannot make a client', { option: 'apiKey' }))); // → look at apiKey
 */
export type PetStoreFailure =
  | BadRequestError
  | AuthenticationError
  | NotFoundError
  | RateLimitError
  | ServerError
  | UnexpectedStatusError
  | ConnectionError
  | TimeoutError
  | InvalidResponseError
  | InvalidArgumentError
  | ConfigurationError;

/**
 * Whether a thrown value is an error of this package, whichever copy of the package it comes from.
 *
 * @example
 * try {
 *   await petstore.updateInventory(999, { quantity: 1 });
 * } catch (error) {
 *   if (!isPetStoreError(error)) throw error;
 *   console.log(error.kind, error.status); // → not-found 404
 * }
 */
export function isPetStoreError(error: unknown): error is PetStoreFailure {
  return fieldOf(error, BRAND) === true;
}
