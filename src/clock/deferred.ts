import { isRequestBound } from './request-bound.ts';

/** How often a request looks whether another one settled what it waits for. */
const LOOK_MS = 25;
/** Who has not looked for so long is asleep at best. */
const ASLEEP_AFTER_MS = 1_000;

/** A promise that somebody else settles. */
export interface Deferred<T> extends Resolvers<T> {
  /** Whether who waits would take what it is given; its request may have ended. */
  isAwake(): boolean;
}

interface Resolvers<T> {
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
  if (!isRequestBound()) return { promise, resolve, reject, isAwake };
  let settle: (() => void) | undefined;
  let lookedAtMs = Date.now();
  const timer = setInterval(() => {
    lookedAtMs = Date.now();
    if (!settle) onLook();
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

function withResolvers<T>(): Resolvers<T> {
  let resolve: (value: T) => void = ignore;
  let reject: (reason: unknown) => void = ignore;
  const promise = new Promise<T>((onValue, onReason) => {
    resolve = onValue;
    reject = onReason;
  });
  return { promise, resolve, reject };
}

function isAwake(): boolean {
  return true;
}

function ignore(): void {}
