import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { withinTimeout } from '../../src/clock/within-timeout.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test.each<[string, () => Promise<string>, string[]]>([
  ['an answer', async () => 'yes', ['fulfilled', 'yes']],
  ['a failure', () => Promise.reject('no'), ['rejected', 'no']],
])('withinTimeout passes on %s in time, and leaves no timer', async (_what, answer, outcome) => {
  const settled = withinTimeout(answer(), 500, 'too late').then(
    (value) => ['fulfilled', value],
    (reason) => ['rejected', reason],
  );
  expect(await settled).toEqual(outcome);
  expect(vi.getTimerCount()).toBe(0);
});

test('withinTimeout rejects with the message once the time is up', async () => {
  const settled = withinTimeout(new Promise(() => {}), 500, 'too late').catch(String);
  await vi.advanceTimersByTimeAsync(500);
  expect(await settled).toBe('Error: too late');
});
