import { getEventListeners } from 'node:events';
import { describe, expect, test } from 'vitest';
import { untilAborted } from '../../src/clock/until-aborted.ts';
import { deferred } from '../support/deferred.ts';
import { rejectionOf } from '../support/outcome.ts';

describe('untilAborted', () => {
  test('settles like the work and leaves no listener', async () => {
    const { signal } = new AbortController();
    const failure = new Error('it failed');
    expect(await untilAborted(Promise.resolve(7), signal)).toBe(7);
    expect(await rejectionOf(untilAborted(Promise.reject(failure), signal))).toBe(failure);
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('rejects with the reason, and ignores the outcome of the work', async () => {
    const controller = new AbortController();
    const work = deferred<number>();
    const rejection = rejectionOf(untilAborted(work.promise, controller.signal));
    controller.abort('enough');
    expect(await rejection).toBe('enough');
    work.reject(new Error('too late to be heard'));
  });

  test('rejects at once if the signal has already aborted', async () => {
    expect(await rejectionOf(untilAborted(new Promise(() => {}), AbortSignal.abort('before')))).toBe('before');
  });
});
