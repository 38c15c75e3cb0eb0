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
  const releaser = new Releaser();
  releaser.refill(left);
  return { releaser, released, release: (most: number) => releaser.pass(most, (passed) => void released.push(passed)) };
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
  const { releaser, released, release } = makeReleaser(10);
  const passing = release(4);
  expect(released).toEqual([]);
  await pass(100);
  expect([await passing, released, await reservoirs()]).toEqual([undefined, [4], [6]]);
  releaser.refill(3);
  expect(await reservoirs()).toEqual([3]);
  releaser.refill(30);
  releaser.refill(60);
  expect(await reservoirs()).toEqual([60]);
  void release(100);
  await pass(100);
  expect([released, await reservoirs()]).toEqual([[4, 60], [0]]);
});

test('nothing is released while the window has no room', async () => {
  const { released, release } = makeReleaser(1);
  void release(1);
  await pass(100);
  expect(release(1)).toBeUndefined();
  await pass(100);
  expect(released).toEqual([1]);
});

test('another limiter takes the place of one that counts nothing, and of one whose clock was set back', async () => {
  const { releaser, released, release } = makeReleaser(Number.POSITIVE_INFINITY);
  for (const left of [5, 5]) {
    void release(2);
    await pass(100);
    vi.setSystemTime(Date.now() - 3_600_000);
    releaser.refill(left);
  }
  void release(2);
  await pass(100);
  expect([released, await reservoirs()]).toEqual([
    [2, 2, 2],
    [null, 3, 3],
  ]);
});

test.each([
  ['stays back', 0],
  ['is right again before a second has passed', 3_600_000],
])(
  'a batch is given up if a clock that is set back before the limiter has read it %s, and the next one has another limiter',
  async (_, correctionMs) => {
    const { releaser, released, release } = makeReleaser(5);
    void release(1);
    await pass(100);
    const held = release(2);
    vi.setSystemTime(Date.now() - 3_600_000);
    await pass(500);
    vi.setSystemTime(Date.now() + correctionMs);
    await pass(5_000);
    expect([await held, released, vi.getTimerCount()]).toEqual([undefined, [1], 0]);
    releaser.refill(4);
    void release(2);
    await pass(100);
    expect([released, await reservoirs()]).toEqual([
      [1, 2],
      [expect.any(Number), 2],
    ]);
  },
);

test('a batch is not given up where a timer takes a second, as in a page in the background', async () => {
  const { released, release } = makeReleaser(5);
  const { setTimeout } = globalThis;
  vi.stubGlobal('setTimeout', (onEnd: () => void, ms = 0) => setTimeout(onEnd, Math.max(ms, 1_000)));
  void release(2);
  await pass(10_000);
  vi.unstubAllGlobals();
  expect([released, vi.getTimerCount()]).toEqual([[2], 0]);
});
