import { unharmed } from '../thrown.ts';

/** Yields the items of a source. @throws the reason of an abort, without waiting for the next item */
export async function* itemsUntilAborted<Item>(source: AsyncIterable<Item>, signal: AbortSignal | undefined): AsyncGenerator<Item> {
  if (!signal) return yield* source;
  const iterator = source[Symbol.asyncIterator]();
  let wake = (): void => {};
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  // A new promise for each item: `Promise.race` with one promise for the abort would keep all items in memory.
  const nextUnlessAborted = (): Promise<IteratorResult<Item> | undefined> =>
    new Promise((resolve, reject) => {
      wake = () => resolve(undefined);
      // Like `for await`, this accepts a result that is not a promise.
      Promise.resolve(iterator.next()).then(resolve, reject);
    });
  let isOver = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      // If `next()` throws, the source is over.
      isOver = true;
      const next = await nextUnlessAborted();
      isOver = next?.done === true;
      if (next?.done) return;
      if (next) yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Not awaited: a generator that hangs in next() does not answer return() before that ends.
    if (!isOver) unharmed(() => iterator.return?.());
  }
}
