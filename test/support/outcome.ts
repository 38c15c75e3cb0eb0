/**
 * Gives what a promise rejects with. The rejection is handled from the start, so it is never reported as unhandled. The test fails if the
 * promise resolves, or rejects with a promise, which would be replaced by its result.
 */
export function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it resolved with ${String(value)}`);
    },
    (reason: unknown) => {
      if (reason instanceof Promise) throw new Error('it rejected with a promise');
      return reason;
    },
  );
}

/**
 * What a promise gives; `'too late'` where a timer of so many milliseconds comes first. A busy machine delays the timer as it delays
 * the promise, so which of them is first does not depend on its load.
 */
export function within<Value>(ms: number, promise: Promise<Value>): Promise<Value | 'too late'> {
  const timer = new Promise<'too late'>((resolve) => setTimeout(resolve, ms, 'too late'));
  return Promise.race([promise, timer]);
}

/** What a promise gives at once, or `'pending'` if it is not settled in this turn. */
export async function soFar<Value>(promise: Promise<Value>): Promise<Value | 'pending'> {
  const turn = new Promise<'pending'>((resolve) => setImmediate(resolve, 'pending'));
  return Promise.race([promise, turn]);
}

/** What a function throws. */
export function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('it did not throw');
}

/** Throws whenever it is called. */
export function thrower(): never {
  throw new TypeError('made up');
}
