import { expect, test } from 'vitest';
import { holdTime, settled } from '../support/time.ts';
import { callAtRandom, type Load } from './random-failures.ts';

holdTime();

const loads = (failing: number, calls: number, seeds: readonly number[]): Load[] =>
  seeds.flatMap((seed) => [1, 64].map((concurrency) => ({ failing, calls, concurrency, seed })));

test.each(loads(0.5, 2_000, [1, 2, 3, 4, 5]))(
  'at most 1.3 requests are sent for each call if half of all requests fail: $concurrency at once, seed $seed',
  async (load) => {
    const figures = await settled(callAtRandom(load));
    expect(figures).toMatchObject({ calls: 2_000 });
    expect(figures).toHaveProperty(
      'requestsPerCall',
      expect.toSatisfy((requests: number) => requests <= 1.3),
    );
  },
);

test.each(loads(0.05, 10_000, [1, 2, 3]))(
  'every call has all its retries if one request in twenty fails: $concurrency at once, seed $seed',
  async (load) => {
    expect(await settled(callAtRandom(load))).toMatchObject({ calls: 10_000, failed: 0, limited: 0 });
  },
);
