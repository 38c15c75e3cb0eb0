import { expect, test } from 'vitest';
import { Count } from '../../src/sandbox/count.ts';
import { collectGarbage } from '../support/garbage.ts';

test('a Count with a lag keeps no request that is older, even if no header reports it', async () => {
  const count = new Count({
    policy: 'fixed-clock',
    limit: 1_000_000,
    lengthMs: 86_400_000,
    burst: undefined,
    lagMs: 100,
    tellsBurst: false,
  });
  const take = (requests: number, fromMs: number) =>
    Array.from({ length: requests }).forEach((_, index) => {
      count.take(fromMs + index);
    });
  take(1_000, 0);
  await collectGarbage();
  const before = process.memoryUsage().heapUsed;
  take(100_000, 1_000);
  await collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(3_000_000);
  expect(count.told(101_000).remaining).toBe(1_000_000 - 101_000 + 99);
});

test('the gauge of a Count with a burst reports the burst as its limit, whatever the headers report', () => {
  const size = { policy: 'token-bucket', limit: 5, lengthMs: 60_000, lagMs: 0, tellsBurst: false } as const;
  const [large, small] = [new Count({ ...size, burst: 20 }), new Count({ ...size, burst: 2 })];
  expect([large.gauge(0), small.gauge(0)]).toMatchObject([
    { limit: 20, remaining: 20 },
    { limit: 2, remaining: 2 },
  ]);
  expect(large.told(0)).toMatchObject({ limit: 5, remaining: 20 });
});
