import { unharmed } from '../thrown.ts';

/**
 * Yields the items of a source, which may be any that `for await` takes.
 * @throws the reason of an abort, without waiting for the next item, or for the source to clean up
 */
export async function* itemsUntilAborted<Item>(
  source: AsyncIterable<Item> | Iterable<Item>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Item> {
  if (!signal) return yield* source;
  const iterator = Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
  let wake = (): void => {};
  const onAbort = (): void => wake();
  signal.addEventListener('abort', onAbort, { once: true });
  // A new promise for each call: `Promise.race` with one promise for the abort would keep all items in memory.
  const unlessAborted = <Given>(call: () => Given): Promise<Awaited<Given> | undefined> =>
    new Promise((resolve, reject) => {
      wake = () => resolve(undefined);
      // Like `for await`, this accepts a result that is not a promise.
      Promise.resolve(call()).then(resolve, reject);
    });
  let isOver = false;
  try {
    for (;;) {
      signal.throwIfAborted();
      // If `next()` throws, the source is over.
      isOver = true;
      const next = await unlessAborted(() => iterator.next());
      isOver = next?.done === true;
      if (next?.done) return;
      if (next) yield next.value;
    }
  } finally {
    // Not awaited after an abort: a generator that hangs in next() does not answer return() before that ends.
    if (!isOver && signal.aborted) unharmed(() => iterator.return?.());
    else if (!isOver) await unlessAborted(() => iterator.return?.());
    signal.removeEventListener('abort', onAbort);
  }
}
