import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { defer } from '../../src/clock/deferred.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

test('defer gives a promise that is settled at once, without a timer', async () => {
  const deferred = defer<number>(() => {});
  deferred.resolve(1);
  expect(await deferred.promise).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("defer settles by the waiter's own timer where promises are bound to requests", async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  const deferred = defer<number>(() => {});
  deferred.resolve(1);
  deferred.reject(new Error('too late'));
  await vi.advanceTimersByTimeAsync(25);
  expect(await deferred.promise).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
});

test('defer calls `onLook` until the promise is settled', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  const looks: number[] = [];
  const deferred = defer<number>(() => {
    if (looks.push(Date.now()) === 3) deferred.reject(new Error('refused'));
  });
  const settled = expect(deferred.promise).rejects.toThrow('refused');
  await vi.advanceTimersByTimeAsync(200);
  await settled;
  expect(looks).toHaveLength(3);
});
