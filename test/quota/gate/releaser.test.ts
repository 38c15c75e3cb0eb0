import Bottleneck from 'bottleneck/light.js';
import { beforeEach, expect, test, vi } from 'vitest';
import { Releaser } from '../../../src/quota/gate/releaser.ts';
import { holdTime } from '../../support/time.ts';
import { pass } from './gate-kit.ts';

holdTime();

const limiters: Bottleneck[] = [];

/** Releases through limiters whose own counts can be read. */
function makeReleaser(left: number) {
  const released: number[] = [];
  const releaser = new Releaser({
    release: (most) => void released.push(most),
    fail: (cause) => {
      throw cause;
    },
    done: () => {},
  });
  releaser.refill(left);
  return { releaser, released };
}

beforeEach(() => {
  limiters.length = 0;
  const schedule = Bottleneck.prototype.schedule;
  vi.spyOn(Bottleneck.prototype, 'schedule').mockImplementation(function (this: Bottleneck, ...job) {
    if (!limiters.includes(this)) limiters.push(this);
    return Reflect.apply(schedule, this, job);
  });
});

/** How much each limiter still lets through by its own count. */
async function reservoirs(): Promise<(number | null)[]> {
  const counts = Promise.all(limiters.map((limiter) => limiter.currentReservoir()));
  await pass(100);
  return counts;
}

test('the limiter counts what is left of the window, one batch after the other', async () => {
  const { releaser, released } = makeReleaser(10);
  expect(releaser.schedule(4)).toBe(true);
  expect(releaser.isBusy).toBe(true);
  await pass(100);
  expect([released, releaser.isBusy, await reservoirs()]).toEqual([[4], false, [6]]);
  releaser.refill(3);
  expect(await reservoirs()).toEqual([3]);
  releaser.refill(30);
  releaser.refill(60);
  expect(await reservoirs()).toEqual([60]);
  releaser.schedule(100);
  await pass(100);
  expect([released, await reservoirs()]).toEqual([[4, 60], [0]]);
});

test('nothing is released while the window has no room', async () => {
  const { releaser, released } = makeReleaser(1);
  releaser.schedule(1);
  await pass(100);
  expect(releaser.schedule(1)).toBe(false);
  await pass(100);
  expect([released, releaser.isBusy]).toEqual([[1], false]);
});

test('another limiter takes the place of one that counts nothing, and of one whose clock was set back', async () => {
  const { releaser, released } = makeReleaser(Number.POSITIVE_INFINITY);
  for (const left of [5, 5]) {
    releaser.schedule(2);
    await pass(100);
    vi.setSystemTime(Date.now() - 3_600_000);
    releaser.refill(left);
  }
  releaser.schedule(2);
  await pass(100);
  expect([released, await reservoirs()]).toEqual([
    [2, 2, 2],
    [null, 3, 3],
  ]);
});
