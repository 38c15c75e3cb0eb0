import os from 'node:os';
import { PetStoreClient } from 'petstore-inventory';
import { beforeEach, expect, test, vi } from 'vitest';
import { freshAddress } from '../support/client.ts';
import { holdTime } from '../support/time.ts';

holdTime();

const HOUR_MS = 3_600_000;
const uptime = { ms: 0 };

beforeEach(() => {
  uptime.ms = 1_000_000;
  vi.spyOn(os, 'uptime').mockImplementation(() => uptime.ms / 1000);
});

/** The machine is awake for this time. */
function pass(ms: number): void {
  vi.advanceTimersByTime(ms);
  uptime.ms += ms;
}

/** The machine is suspended: the monotonic clock stands still, and no timer fires. */
function suspend(ms: number): void {
  vi.setSystemTime(Date.now() + ms);
  uptime.ms += ms;
}

async function freshClock(): Promise<() => number> {
  vi.resetModules();
  const { monotonicMs } = await import('../../src/clock/monotonic.ts');
  const startMs = monotonicMs();
  return () => monotonicMs() - startMs;
}

test('the time in which the machine was suspended counts', async () => {
  const elapsedMs = await freshClock();
  pass(1_000);
  suspend(9 * HOUR_MS);
  expect(elapsedMs()).toBe(9 * HOUR_MS + 1_000);
  pass(500);
  suspend(HOUR_MS);
  expect(elapsedMs()).toBe(10 * HOUR_MS + 1_500);
});

test.each([HOUR_MS, -HOUR_MS, 60_000])('a date that is set by %i ms does not count, nor hides a later suspension', async (ms) => {
  const elapsedMs = await freshClock();
  pass(1_000);
  vi.setSystemTime(Date.now() + ms);
  expect(elapsedMs()).toBe(1_000);
  suspend(HOUR_MS);
  expect(elapsedMs()).toBe(HOUR_MS + 1_000);
});

test('a date that is set while the machine is suspended for another time does not count', async () => {
  const elapsedMs = await freshClock();
  suspend(60_000);
  vi.setSystemTime(Date.now() + HOUR_MS);
  expect(elapsedMs()).toBe(0);
});

test('a runtime whose uptime cannot be read has a clock all the same', async () => {
  vi.spyOn(os, 'uptime').mockImplementation(() => {
    throw new Error('not implemented');
  });
  const elapsedMs = await freshClock();
  pass(1_000);
  suspend(HOUR_MS);
  expect(elapsedMs()).toBe(1_000);
});

test('a key that the service closed for two hours is open after the machine was suspended for nine', async () => {
  let answer = () => new Response(null, { status: 429, headers: { 'retry-after': '7200' } });
  const client = new PetStoreClient({ apiKey: 'key', baseUrl: freshAddress(), fetch: async () => answer(), maxRetries: 0 });
  await expect(client.listInventory()).rejects.toMatchObject({ status: 429 });
  answer = () => new Response('[]');
  const waiting = client.listInventory({ maxWaitMs: 10 * HOUR_MS });
  await vi.advanceTimersByTimeAsync(300_000);
  uptime.ms += 300_000;
  expect(client.quota.closedUntil).toBeDefined();
  suspend(9 * HOUR_MS);
  expect(client.quota.closedUntil).toBeUndefined();
  await vi.advanceTimersByTimeAsync(901_000);
  expect(await waiting).toEqual([]);
});

test('the clock does not go back where fake timers begin anew, as they do for each test', async () => {
  const elapsedMs = await freshClock();
  pass(HOUR_MS);
  expect(elapsedMs()).toBe(HOUR_MS);
  vi.useRealTimers();
  vi.useFakeTimers({ now: Date.now(), toFake: ['Date', 'performance'] });
  expect(elapsedMs()).toBe(HOUR_MS);
  vi.advanceTimersByTime(1_000);
  expect(elapsedMs()).toBe(HOUR_MS + 1_000);
});

test('a key whose closure has passed stays open when fake timers begin anew', async () => {
  let answer = () => new Response(null, { status: 429, headers: { 'retry-after': '30' } });
  const client = new PetStoreClient({ apiKey: 'key', baseUrl: freshAddress(), fetch: async () => answer(), maxRetries: 0 });
  await expect(client.listInventory()).rejects.toMatchObject({ status: 429 });
  answer = () => new Response('[]');
  vi.advanceTimersByTime(31_000);
  expect(await client.listInventory()).toEqual([]);
  vi.useRealTimers();
  vi.useFakeTimers();
  expect(await client.listInventory({ maxWaitMs: 0 })).toEqual([]);
});
