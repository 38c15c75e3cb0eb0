import { describe, expect, test, vi } from 'vitest';
import { itemsUntilAborted } from '../../src/sync/items-until-aborted.ts';
import { drain } from '../support/drain.ts';
import { thrower } from '../support/outcome.ts';
import { nextTurn, watchUnhandled } from '../support/unhandled.ts';

const unhandled = watchUnhandled();

/** A source that gives these items and then hangs, or ends; it notes what is asked of it. */
function source(items: number[], end: 'ends' | 'hangs', parts: object = {}): { source: AsyncIterable<number>; asked: string[] } {
  const asked: string[] = [];
  const left = [...items];
  const iterator = {
    next: () => {
      asked.push('next');
      if (left.length > 0) return Promise.resolve({ done: false, value: left.shift() });
      return end === 'ends' ? Promise.resolve({ done: true, value: undefined }) : new Promise(() => {});
    },
    return: () => {
      asked.push('return');
      return Promise.resolve({ done: true, value: undefined });
    },
    ...parts,
  };
  return { source: Reflect.get({ source: { [Symbol.asyncIterator]: () => iterator } }, String('source')), asked };
}

describe('itemsUntilAborted', () => {
  test.each([undefined, new AbortController().signal])(
    'gives every item, and does not call a source that has ended (%o)',
    async (signal) => {
      const { source: items, asked } = source([1, 2], 'ends');
      expect(await drain(itemsUntilAborted(items, signal))).toEqual({ got: [1, 2], error: undefined });
      expect(asked).toEqual(['next', 'next', 'next']);
    },
  );

  test.each([undefined, new AbortController().signal])('takes a list, as `for await` does (%o)', async (signal) => {
    expect(await drain(itemsUntilAborted([1, 2], signal))).toEqual({ got: [1, 2], error: undefined });
  });

  test("throws the reason without waiting for the item that is under way, and calls the source's `return`", async () => {
    const controller = new AbortController();
    const { source: items, asked } = source([1], 'hangs');
    const draining = drain(itemsUntilAborted(items, controller.signal));
    await nextTurn();
    controller.abort('enough');
    expect(await draining).toEqual({ got: [1], error: 'enough' });
    expect(asked).toEqual(['next', 'next', 'return']);
  });

  test("throws the reason of a signal that has aborted before, asks for no item, and calls the source's `return`", async () => {
    const { source: items, asked } = source([1], 'ends');
    expect(await drain(itemsUntilAborted(items, AbortSignal.abort('enough')))).toEqual({ got: [], error: 'enough' });
    expect(asked).toEqual(['return']);
  });

  test.each(['ends', 'is aborted'])('leaves no listener on the signal when it %s', async (how) => {
    const controller = new AbortController();
    const added = vi.spyOn(controller.signal, 'addEventListener');
    const removed = vi.spyOn(controller.signal, 'removeEventListener');
    const { source: items } = source([1], how === 'ends' ? 'ends' : 'hangs');
    const draining = drain(itemsUntilAborted(items, controller.signal));
    await nextTurn();
    controller.abort();
    await draining;
    expect(added).toHaveBeenCalledOnce();
    expect(removed).toHaveBeenCalledExactlyOnceWith('abort', added.mock.calls[0]?.[1]);
  });

  test.each([undefined, new AbortController().signal])(
    'waits until the source has cleaned up for a reader that stops (%o)',
    async (signal) => {
      const log: string[] = [];
      async function* items() {
        try {
          yield 1;
          yield 2;
        } finally {
          await nextTurn();
          log.push('cleaned up');
        }
      }
      for await (const item of itemsUntilAborted(items(), signal)) {
        log.push(`got ${item}`);
        break;
      }
      log.push('left');
      expect(log).toEqual(['got 1', 'cleaned up', 'left']);
    },
  );

  test('does not wait for a clean-up during which it is aborted', async () => {
    const controller = new AbortController();
    const { source: items } = source([1], 'hangs', { return: () => new Promise(() => controller.abort('enough')) });
    const reading = (async () => {
      for await (const _item of itemsUntilAborted(items, controller.signal)) break;
    })();
    await expect(reading).resolves.toBeUndefined();
  });

  test.each<[string, object]>([
    ['throws', { return: thrower }],
    ['rejects', { return: async () => thrower() }],
    ['gives no promise', { return: () => ({ done: true, value: undefined }) }],
    ['is missing', { return: undefined }],
  ])('ends even if the `return` of the source %s', async (_what, parts) => {
    const controller = new AbortController();
    const draining = drain(itemsUntilAborted(source([1], 'hangs', parts).source, controller.signal));
    await nextTurn();
    controller.abort('enough');
    expect(await draining).toEqual({ got: [1], error: 'enough' });
    await nextTurn();
    expect(unhandled).not.toHaveBeenCalled();
  });

  test.each([undefined, new AbortController().signal])(
    'accepts a source whose `next` gives no promise, as `for await` does (%o)',
    async (signal) => {
      const left = [{ done: false, value: 1 }, { done: true }];
      const { source: items } = source([], 'ends', { next: () => left.shift() });
      expect(await drain(itemsUntilAborted(items, signal))).toEqual({ got: [1], error: undefined });
    },
  );

  test.each([undefined, new AbortController().signal])(
    'throws what the source throws, and does not call the source again (%o)',
    async (signal) => {
      const { source: items, asked } = source([], 'ends', { next: async () => thrower() });
      expect(await drain(itemsUntilAborted(items, signal))).toEqual({ got: [], error: new TypeError('made up') });
      expect(asked).toEqual([]);
    },
  );
});
