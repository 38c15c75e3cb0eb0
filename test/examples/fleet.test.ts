import { type ServedSandbox, serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type InstalledPackage, installPackage } from '../docs/support/installed-package.ts';
import type { RunningProgram } from '../docs/support/running-program.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';

describe.skipIf(!HAS_REDIS && !process.env.CI)('fleet.ts', () => {
  let installed: InstalledPackage;
  let redis: RedisServer;
  let served: ServedSandbox;

  beforeAll(async () => {
    installed = await installPackage(['ioredis']);
    await installed.copy('examples/fleet.ts');
    redis = await RedisServer.start();
  });
  beforeEach(async () => {
    await redis.ask('FLUSHALL');
    served = await serveSandbox({ pets: 30 });
    return () => served.close();
  });
  afterAll(async () => {
    await redis.kill();
    await installed[Symbol.asyncDispose]();
  });

  function startWorker(): RunningProgram {
    const env = { REDIS_URL: redis.url, PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro };
    return installed.start('examples/fleet.ts', { env });
  }

  const jobsLeft = async () => [await redis.ask('LLEN', 'updates'), await redis.ask('LLEN', 'updates:taken')];
  const jobsFailed = () => redis.ask('LLEN', 'updates:failed');

  test('works off a list with two processes, without a 429, and ends with 0 at SIGTERM', async () => {
    const pets = [...Array.from({ length: 31 }, (_, index) => String(index + 1)), 'no pet'];
    await redis.ask('HSET', 'wanted', ...pets.flatMap((pet) => [pet, '7']));
    await redis.ask('RPUSH', 'updates', ...pets);
    const workers = [startWorker(), startWorker()];
    await expect.poll(jobsLeft).toEqual([0, 0]);
    expect(await Promise.all(workers.map((worker) => worker.end('SIGTERM')))).toEqual([0, 0]);
    expect([...served.sandbox.inventory].filter(({ quantity }) => quantity === 7)).toHaveLength(30);
    expect(served.sandbox.report().byStatus).toEqual({ 200: 30, 404: 1 });
    expect(await redis.ask('SORT', 'updates:failed', 'ALPHA')).toEqual(['31', 'no pet']);
    const told = workers.map((worker) => worker.told).join('');
    expect(told).toMatch(/31: .*There is no pet 31\n/);
    expect(told).toMatch(/no pet: .*BigInt\n/);
  });

  test('sets the latest wanted quantity, even if it changes during the job', async () => {
    served.sandbox.faults.add({ delayMs: 500, times: 1 });
    await redis.ask('HSET', 'wanted', '1', '7');
    await redis.ask('RPUSH', 'updates', '1');
    await using worker = startWorker();
    await expect.poll(() => served.sandbox.requests.length).toBe(1);
    await redis.ask('HSET', 'wanted', '1', '8');
    await expect.poll(jobsLeft).toEqual([0, 0]);
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(8);
  });

  test('sets a pet whose id is beyond 2^53, once', async () => {
    const petId = 2n ** 53n + 1n;
    served.sandbox.inventory.set(petId, { quantity: 1 });
    await redis.ask('HSET', 'wanted', String(petId), '7');
    await redis.ask('RPUSH', 'updates', String(petId));
    await using worker = startWorker();
    await expect.poll(jobsLeft).toEqual([0, 0]);
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(worker.told).toContain(`pet ${petId} stands at 7\n`);
    expect(served.sandbox.requests).toHaveLength(1);
  });

  test.each([
    [401, 'puts a pet back on the list', [1, 0], 0],
    [409, 'sets a pet aside', [0, 0], 1],
  ])('after a %i it %s', async (status, _what, left, failed) => {
    served.sandbox.faults.add({ status });
    await redis.ask('HSET', 'wanted', '1', '7');
    await redis.ask('RPUSH', 'updates', '1');
    await using worker = startWorker();
    await expect.poll(() => served.sandbox.requests.length).toBe(1);
    await expect.poll(jobsLeft).toEqual(left);
    expect(await worker.end('SIGTERM')).toBe(0);
    expect([await jobsLeft(), await jobsFailed(), served.sandbox.requests.length]).toEqual([left, failed, 1]);
  });

  test('gives back the work in progress at SIGTERM', async () => {
    served.sandbox.faults.add({ fail: 'stall' });
    await redis.ask('HSET', 'wanted', '1', '7');
    await redis.ask('RPUSH', 'updates', '1');
    await using worker = startWorker();
    await expect.poll(() => served.sandbox.requests.length).toBe(1);
    expect(await jobsLeft()).toEqual([0, 1]);
    expect(await worker.end('SIGTERM')).toBe(0);
    expect(await jobsLeft()).toEqual([1, 0]);
  });
});
