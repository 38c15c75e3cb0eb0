import { unharmed } from '../thrown.ts';

/** Gives the items of a source until `signal` fires, then ends without waiting for the item that is under way. */
export async function* itemsUntilAborted<Item>(source: AsyncIterable<Item>, signal: AbortSignal | undefined): AsyncGenerator<Item> {
  if (!signal) return yield* source;
  const iterator = source[Symbol.asyncIterator]();
  let wake = (): void => {};
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  // A promise of its own for every item: racing each against one that lasts would keep them all in memory.
  const nextUnlessAborted = (): Promise<IteratorResult<Item> | undefined> =>
    new Promise((resolve, reject) => {
      wake = () => resolve(undefined);
      // Like `for await`, it takes a result that is no promise.
      Promise.resolve(iterator.next()).then(resolve, reject);
    });
  let isOver = false;
  try {
    while (!signal.aborted) {
      // It is, where it throws.
      isOver = true;
      const next = await nextUnlessAborted();
      isOver = next?.done === true;
      if (next === undefined || next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a source that hangs in next() answers return() only after it.
    if (!isOver) unharmed(() => iterator.return?.());
  }
}
