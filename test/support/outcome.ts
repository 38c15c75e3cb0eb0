/** What a promise rejects with, heard from the start so that it is never unhandled; a promise that resolves is a failure of the test. */
export function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it resolved with ${String(value)}`);
    },
    (reason: unknown) => reason,
  );
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
