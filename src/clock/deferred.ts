import { isRequestBound } from './request-bound.ts';

/** How often a request looks whether another one settled what it waits for. */
const LOOK_MS = 25;

/** A promise that somebody else settles. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
}

/**
 * Makes a promise that somebody else settles, maybe on behalf of another request. Where promises are bound to requests, whoever waits
 * looks again and again by a timer of its own, after calling `onLook`, since nobody else's timer may be left.
 */
export function defer<T>(onLook: () => void): Deferred<T> {
  const { promise, resolve, reject } = withResolvers<T>();
  if (!isRequestBound()) return { promise, resolve, reject };
  let settle: (() => void) | undefined;
  const timer = setInterval(() => {
    if (!settle) onLook();
    if (!settle) return;
    clearInterval(timer);
    settle();
  }, LOOK_MS);
  return {
    promise,
    resolve: (value) => {
      settle ??= () => resolve(value);
    },
    reject: (reason) => {
      settle ??= () => reject(reason);
    },
  };
}

function withResolvers<T>(): Deferred<T> {
  let resolve: (value: T) => void = ignore;
  let reject: (reason: unknown) => void = ignore;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}

function ignore(): void {}
