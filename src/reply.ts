import type { RateLimit } from './errors.ts';

/**
 * What the service answered, and what it took.
 *
 * @example
 * const reply: Reply<InventoryItem[]> = await petstore.listInventory().withResponse();
 * console.log(reply.status, reply.headers.get('content-type'), reply.attempts); // → 200 application/json 1
 */
export interface Reply<T> {
  /** What the method gives without `withResponse`. */
  data: T;
  /** The HTTP status, 200 to 299. */
  status: number;
  /** The headers of the answer. */
  headers: Headers;
  /** What X-RateLimit-* said; undefined where the answer had none that make sense. */
  rateLimit?: RateLimit;
  /** Requests that were sent; 0 where a later update superseded this one. */
  attempts: number;
  /** Milliseconds spent waiting for quota, order and backoff. */
  waitedMs: number;
  /** With `latestOnly`: the `callId` of the later update of the pet that was sent in place of this one, and whose answer this is. */
  supersededBy?: number;
}

/**
 * A promise of the data that can also give the whole reply; it is one request in all.
 *
 * @example
 * const updating: ReplyPromise<InventoryItem> = petstore.updateInventory(1, { quantity: 12 });
 * const { data, status, attempts } = await updating.withResponse();
 * console.log(data.quantity, status, attempts); // → 12 200 1
 */
export interface ReplyPromise<T> extends Promise<T> {
  /**
   * Resolves with the data, the status, the headers and what the call took.
   * @throws what the promise itself rejects with
   */
  withResponse(): Promise<Reply<T>>;
}

/** Makes of a reply what the methods of a client return. */
export function replyPromise<T>(whole: Promise<Reply<T>>): ReplyPromise<T> {
  const data = whole.then((answer) => answer.data);
  return Object.assign(data, {
    withResponse: () => {
      // Whoever takes the whole reply is told of its failure there.
      data.catch(() => {});
      // A promise of its own, so that a failure of which nobody is told is not silent.
      return whole.then((answer) => answer);
    },
  });
}

/**
 * Makes what a method of a client returns, for fakes: a status of 200, no headers, one attempt, no wait.
 *
 * @param data what the promise gives; a promise of it, which may reject, makes a reply that comes later or fails
 * @example
 * const { data, status } = await reply([{ petId: 1, quantity: 5, status: 'available' }]).withResponse();
 * console.log(data.length, status); // → 1 200
 */
export function reply<T>(data: T | PromiseLike<T>): ReplyPromise<T> {
  const whole = (given: T): Reply<T> => ({ data: given, status: 200, headers: new Headers(), attempts: 1, waitedMs: 0 });
  return replyPromise(Promise.resolve(data).then(whole));
}
