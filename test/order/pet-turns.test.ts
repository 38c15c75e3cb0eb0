import { expect, test, vi } from 'vitest';
import { PetTurns } from '../../src/order/pet-turns.ts';
import { deferred } from '../support/deferred.ts';
import { soFar } from '../support/outcome.ts';

const { signal } = new AbortController();

test('PetTurns lets a task wait for the one under way, even if an earlier one of the pet has ended', async () => {
  const turns = new PetTurns();
  const [first, second] = [deferred<void>(), deferred<void>()];
  const log: string[] = [];
  const run = (name: string, work: Promise<void>) => turns.run(1, { signal }, () => work.then(() => void log.push(name)));
  const runs = [run('first', first.promise), run('second', second.promise)];
  first.resolve();
  await runs[0];
  await soFar(second.promise);
  runs.push(run('third', Promise.resolve()));
  expect(await soFar(runs[2] ?? first.promise)).toBe('pending');
  second.resolve();
  await Promise.all(runs);
  expect(log).toEqual(['first', 'second', 'third']);
});

test('PetTurns forgets a pet whose tasks have ended, and tells a task that it is awaited by one that is not low', async () => {
  const turns = new PetTurns();
  const log: string[] = [];
  const [first, aborted] = [deferred<void>(), new AbortController()];
  const run = (name: string, isLow: boolean) =>
    turns.run(name === 'other' ? 2 : 1n, { signal: undefined, isLow, onAwaited: () => log.push(`${name} awaited`) }, async () => {
      log.push(name);
      await first.promise;
    });
  const left = turns.run(1, { signal, isLow: true, onAwaited: () => log.push('first awaited') }, () => first.promise);
  const gone = turns.run(1, { signal: aborted.signal }, async () => log.push('never'));
  aborted.abort('left');
  await expect(gone).rejects.toBe('left');
  const runs = [left, run('low', true), run('other', false), run('normal', false)];
  expect(await soFar(runs[1] ?? left)).toBe('pending');
  first.resolve();
  await Promise.all(runs);
  expect(log).toEqual(['first awaited', 'first awaited', 'low awaited', 'other', 'low', 'normal']);
});

test('PetTurns passes over a task whose incoming request ended (workerd), and leaves no timer', async () => {
  vi.useFakeTimers();
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' });
  const turns = new PetTurns();
  const [never, aborted] = [deferred<void>(), new AbortController()];
  const log: string[] = [];
  const gone = turns.run(1, { signal }, () => never.promise);
  // Its timers end with its request.
  vi.clearAllTimers();
  const waiting = [
    turns.run(1, { signal }, async () => log.push('second')),
    turns.run(1, { signal: aborted.signal }, async () => log.push('never')),
    turns.run(1, { signal }, async () => log.push('third')),
  ];
  aborted.abort('left');
  await expect(waiting[1]).rejects.toBe('left');
  await vi.advanceTimersByTimeAsync(4_900);
  expect(log).toEqual([]);
  await vi.advanceTimersByTimeAsync(300);
  expect(log).toEqual(['second', 'third']);
  // It was only slow: a task behind the others keeps its place.
  const later = turns.run(1, { signal }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 100));
    log.push('later');
  });
  never.resolve();
  await gone;
  const last = turns.run(1, { signal }, async () => log.push('last'));
  await vi.advanceTimersByTimeAsync(500);
  await Promise.all([later, last]);
  expect([log, vi.getTimerCount()]).toEqual([['second', 'third', 'later', 'last'], 0]);
  vi.unstubAllGlobals();
  vi.useRealTimers();
});
