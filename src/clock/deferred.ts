import { isRequestBound } from './request-bound.ts';

/** How often a request checks whether another request has settled its promise. */
const LOOK_MS = 25;
/** A waiter that has not checked for this long counts as gone. */
const ASLEEP_AFTER_MS = 1_000;

/** A promise that other code settles. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(reason: unknown): void;
  /** Whether the waiter can still use a result; its request may have ended. */
  isAwake(): boolean;
}

/**
 * Makes a promise that other code settles, perhaps on behalf of another request. Where promises are bound to requests, the waiter polls
 * with a timer of its own, and calls `onLook` before each check, since the timers of other requests may be gone.
 */
export function defer<T>(onLook?: () => void): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  if (!isRequestBound()) return { promise, resolve, reject, isAwake };
  let settle: (() => void) | undefined;
  let lookedAtMs = Date.now();
  const timer = setInterval(() => {
    lookedAtMs = Date.now();
    if (!settle) onLook?.();
    if (!settle) return;
    clearInterval(timer);
    settle();
  }, LOOK_MS);
  return {
    promise,
    isAwake: () => Date.now() - lookedAtMs < ASLEEP_AFTER_MS,
    resolve: (value) => {
      settle ??= () => resolve(value);
    },
    reject: (reason) => {
      settle ??= () => reject(reason);
    },
  };
}

function isAwake(): boolean {
  return true;
}
