import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { HAS_REDIS, RedisServer } from './redis-server.ts';

test.skipIf(!HAS_REDIS && !process.env.CI)('examples/fleet.ts updates its pets and ends by itself', async () => {
  const redis = await RedisServer.start();
  const env = { PATH: process.env.PATH, REDIS_URL: redis.url };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['examples/fleet.ts', '1', '2'], { env, timeout: 15_000 });
    expect(stdout).toMatch(/^pet 1 stands at 10\npet 2 stands at 10\n\d+ of \d+ requests left in this minute/);
  } finally {
    await redis.kill();
  }
});
