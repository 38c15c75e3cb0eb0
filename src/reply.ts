import type { RateLimit } from './errors.ts';
import { unharmed } from './thrown.ts';

/**
 * What the service answered, and what the call took.
 *
 * @example
 * const reply: Reply<InventoryItem[]> = await petstore.listInventory().withResponse();
 * console.log(reply.status, reply.headers.get('content-type'), reply.attempts); // → 200 application/json 1
 */
export interface Reply<T> {
  /** The value that the method gives without `withResponse`. */
  data: T;
  /** The HTTP status, 200 to 299. */
  status: number;
  /** The headers of the answer. */
  headers: Headers;
  /** What X-RateLimit-* said; undefined if the answer had no valid ones. */
  rateLimit?: RateLimit;
  /** Requests that were sent; 0 if a later update superseded this one. */
  attempts: number;
  /** Milliseconds spent waiting for quota, order and backoff. */
  waitedMs: number;
  /** With `latestOnly`: the `callId` of the later update of the pet that was sent in place of this one, and whose answer this is. */
  supersededBy?: number;
}

/** The data of a reply, and the rest of it, which is made when it is read: few callers read it. */
export interface Answered<T> {
  data: T;
  rest(): Omit<Reply<T>, 'data'>;
}

/**
 * A promise of the data that can also give the whole reply. Both come from the same request.
 *
 * @example
 * const updating: ReplyPromise<InventoryItem> = petstore.updateInventory(1, { quantity: 12 });
 * const { data, status, attempts } = await updating.withResponse();
 * console.log(data.quantity, status, attempts); // → 12 200 1
 */
export interface ReplyPromise<T> extends Promise<T> {
  /**
   * Resolves with the data, the status, the headers and what the call took. Either promise may be awaited: from now on the runtime reports
   * neither of them as an unhandled rejection.
   * @throws what the promise itself rejects with
   */
  withResponse(): Promise<Reply<T>>;
}

/** Turns a promise of an answer into what the methods of a client return. */
export function replyPromise<T>(answering: Promise<Answered<T>>): ReplyPromise<T> {
  const data = answering.then((answered) => answered.data);
  let replying: Promise<Reply<T>> | undefined;
  return Object.assign(data, {
    withResponse: () => {
      // The caller may await only one of the two, so neither must be reported as unhandled. V8 finds the caller of a failure only where
      // every promise on the way has one reaction, so `replying` gets the one that makes it handled when the call has ended.
      replying ??= data
        .finally(() => unharmed(() => replying))
        .then(() => answering.then((answered) => ({ data: answered.data, ...answered.rest() })));
      return replying;
    },
  });
}

/**
 * Makes the return value of a client's method, for fakes: a status of 200, no headers, one attempt, no wait.
 *
 * @param data the value that the promise gives, or a promise of it, for a reply that comes later or fails
 * @example
 * const { data, status } = await reply([{ petId: 1, quantity: 5, status: 'available' }]).withResponse();
 * console.log(data.length, status); // → 1 200
 */
export function reply<T>(data: T | PromiseLike<T>): ReplyPromise<T> {
  return replyPromise(
    Promise.resolve(data).then((given) => ({
      data: given,
      rest: () => ({ status: 200, headers: new Headers(), attempts: 1, waitedMs: 0 }),
    })),
  );
}
