import type { PetId } from './contract/models.ts';

/** Recognises errors of every copy of the package, also where `instanceof` cannot. */
const BRAND = Symbol.for('petstore-inventory.error');

/** The methods that ask the service. */
export type OperationName = 'listInventory' | 'updateInventory' | 'streamInventory';

/**
 * Whether an update was applied, over all its attempts: nothing left, every attempt was refused, or one may have arrived
 * without an answer that settles it.
 */
export type UpdateOutcome = 'not-sent' | 'rejected' | 'unknown';

/** What X-RateLimit-* said last (specification, Limits). */
export interface RateLimit {
  /** The limit in force, in requests. */
  limit: number;
  /** Requests left in the current window. */
  remaining: number;
  /** When the limit resets, on the server's clock. */
  resetAt: Date;
}

/** What is known of a failure besides its message. */
export interface FailureDetails {
  operation?: OperationName | undefined;
  petId?: PetId | undefined;
  /** Requests that were sent for this call. */
  attempts?: number | undefined;
  outcome?: UpdateOutcome | undefined;
  status?: number | undefined;
  code?: string | undefined;
  retryAt?: Date | undefined;
  retryAfterMs?: number | undefined;
  rateLimit?: RateLimit | undefined;
  bodyText?: string | undefined;
  cause?: unknown;
}

/** The base of everything that this package throws, abort aside: an aborted call rejects with `signal.reason`. */
export abstract class PetStoreError extends Error {
  /** Which class it is: decide by this. */
  abstract readonly kind: string;
  /** The code of the service's Error body; else `http_502` and the like, or the innermost cause's, such as `ECONNREFUSED`. */
  readonly code: string | undefined;
  /** The HTTP status; undefined where no answer came. */
  readonly status: number | undefined;
  readonly operation: OperationName | undefined;
  readonly petId: PetId | undefined;
  /** Requests that were sent for this call. */
  readonly attempts: number;
  /** The earliest instant at which the same call may be sent. */
  readonly retryAt: Date | undefined;
  /** What the answer's Retry-After said, in milliseconds. */
  readonly retryAfterMs: number | undefined;
  readonly rateLimit: RateLimit | undefined;
  /** The first 1 KiB of a failure's body that was no Error body. */
  readonly bodyText: string | undefined;
  /** For updates: whether the change was applied. */
  readonly outcome: UpdateOutcome | undefined;

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

  /** Leaves what is not known out of what a console prints. */
  protected hideUnknown(): void {
    for (const [field, value] of Object.entries(this)) {
      if (value === undefined) Object.defineProperty(this, field, { value, enumerable: false });
    }
  }

  /** Everything but the stack and the cause, ready for a log; a bigint petId becomes a string. */
  toJSON(): Record<string, unknown> {
    const { name, message, petId, ...fields } = { ...this, name: this.name, message: this.message };
    const known = Object.entries(fields).filter(([key, value]) => value !== undefined && key !== 'cause');
    const pet = petId === undefined ? {} : { petId: typeof petId === 'bigint' ? petId.toString() : petId };
    return { name, kind: this.kind, message, ...pet, ...Object.fromEntries(known) };
  }
}

/** 400: the body of an update is missing required fields or contains invalid values (specification, Errors). */
export class BadRequestError extends PetStoreError {
  override readonly name = 'BadRequestError';
  readonly kind = 'bad-request';
}

/** 401: the key is missing or invalid, or banned for a while (specification, Authentication). */
export class AuthenticationError extends PetStoreError {
  override readonly name = 'AuthenticationError';
  readonly kind = 'authentication';
}

/** 404: there is no such pet (specification, Errors). */
export class NotFoundError extends PetStoreError {
  override readonly name = 'NotFoundError';
  readonly kind = 'not-found';
}

/**
 * A 429 that was left after the retries (`status` 429), or a wait for quota known to exceed `maxWaitMs`: then nothing was sent
 * and `status` is undefined. `retryAt` says when quota is there again.
 */
export class RateLimitError extends PetStoreError {
  override readonly name = 'RateLimitError';
  readonly kind = 'rate-limit';
}

/** A 5xx that was left after the retries, or an outage that outlasted `maxWaitMs`. */
export class ServerError extends PetStoreError {
  override readonly name = 'ServerError';
  readonly kind = 'server';
}

/** Any other status outside 2xx. A redirect is never followed. */
export class UnexpectedStatusError extends PetStoreError {
  override readonly name = 'UnexpectedStatusError';
  readonly kind = 'unexpected-status';
  /** Where a redirect points, without credentials and query. */
  readonly location: string | undefined;

  constructor(message: string, details: FailureDetails & { location?: string | undefined } = {}) {
    super(message, details);
    this.location = details.location;
    this.hideUnknown();
  }
}

/** No answer, or a broken one, left after the retries. */
export class ConnectionError extends PetStoreError {
  override readonly name = 'ConnectionError';
  readonly kind = 'connection';
}

/** `attemptTimeoutMs` ran out on the last attempt, or `totalTimeoutMs` did. */
export class TimeoutError extends PetStoreError {
  override readonly name = 'TimeoutError';
  readonly kind = 'timeout';
}

/** What is wrong with one place of an answer. */
export interface Problem {
  /** Such as `[0].petId`; empty for the whole document. */
  path: string;
  message: string;
}

/** Why an answer could not be used: its text, its fields, another pet than the one that was updated, or its size. */
export type InvalidResponseReason = 'invalid-json' | 'invalid-utf8' | 'schema' | 'mismatch' | 'too-large';

/** A 2xx answer whose body does not match the specification, or is too large. Never retried: the same bytes would come again. */
export class InvalidResponseError extends PetStoreError {
  override readonly name = 'InvalidResponseError';
  readonly kind = 'invalid-response';
  readonly reason: InvalidResponseReason;
  /** The first ten problems. */
  readonly problems: readonly Problem[];

  constructor(message: string, details: FailureDetails & { reason: InvalidResponseReason; problems?: readonly Problem[] }) {
    super(message, details);
    this.reason = details.reason;
    this.problems = details.problems ?? [];
  }
}

/** Bad arguments: nothing was sent. */
export class InvalidArgumentError extends PetStoreError {
  override readonly name = 'InvalidArgumentError';
  readonly kind = 'invalid-argument';
  /** The name of the argument. */
  readonly argument: string;

  constructor(message: string, details: FailureDetails & { argument: string }) {
    super(message, details);
    this.argument = details.argument;
  }
}

/** A bad option: thrown by the constructor; a bad option of one call rejects that call. */
export class ConfigurationError extends PetStoreError {
  override readonly name = 'ConfigurationError';
  readonly kind = 'configuration';
  /** The name of the option. */
  readonly option: string;

  constructor(message: string, details: FailureDetails & { option: string }) {
    super(message, details);
    this.option = details.option;
  }
}

/** Every class of failure, so that `switch (error.kind)` narrows. */
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

/** Tells whether something thrown comes from this package, whichever copy of it. */
export function isPetStoreError(error: unknown): error is PetStoreFailure {
  return typeof error === 'object' && error !== null && BRAND in error;
}
