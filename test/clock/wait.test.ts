import { getEventListeners } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { wait } from '../../src/clock/wait.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime } from '../support/time.ts';

holdTime();

describe('wait', () => {
  test('resolves after its time and leaves no listener', async () => {
    const { signal } = new AbortController();
    const done = vi.fn();
    const waiting = wait(1_000, signal).then(done);
    await vi.advanceTimersByTimeAsync(999);
    expect(done).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await waiting;
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  test('rejects with the reason of an abort and leaves neither timer nor listener', async () => {
    const controller = new AbortController();
    const reason = { because: 'the caller left' };
    const rejection = rejectionOf(wait(1_000, controller.signal));
    controller.abort(reason);
    expect(await rejection).toBe(reason);
    expect([vi.getTimerCount(), getEventListeners(controller.signal, 'abort').length]).toEqual([0, 0]);
  });

  test('starts nothing if the signal has already aborted', async () => {
    const rejection = rejectionOf(wait(1_000, AbortSignal.abort('before')));
    expect(vi.getTimerCount()).toBe(0);
    expect(await rejection).toBe('before');
  });
});
