import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exchangeLease } from '../../src/node/quota-record.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';
import type { Rules } from './lease-model.ts';
import { exploreLeases, SMALL_SCOPES } from './lease-states.ts';
import { RedisRules } from './redis-rules.ts';

describe('exploreLeases', () => {
  test('ends, and finds no forbidden state', async () => {
    const explored = await exploreLeases({ processes: 3, limit: 2, turns: 1, knowsPlan: false }, { rules: exchangeLease });
    expect(explored.wrong).toEqual([]);
    expect(explored.states).toBeGreaterThan(5_000);
    expect(explored.transitions).toBeGreaterThan(4 * explored.states);
  });

  test.each<[string, RegExp, Rules]>([
    [
      'grant a slot too many',
      /the limit is 3/,
      (record, request, nowMs) => {
        if (record.minute && record.minute.endsAtMs > nowMs) record.minute.left += 1;
        return exchangeLease(record, request, nowMs);
      },
    ],
    [
      'lose what is returned',
      /1 returned, and \d are left, not \d/,
      (record, request, nowMs) => exchangeLease(record, { ...request, returned: 0 }, nowMs),
    ],
    [
      'refuse one process always',
      /1 of 2 processes get a slot/,
      (record, request, nowMs) => exchangeLease(record, request.member === 'b' ? { ...request, wanted: 0 } : request, nowMs),
    ],
  ])('finds rules that %s', async (_, what, rules) => {
    const { wrong } = await exploreLeases({ processes: 2, limit: 3, turns: 1, knowsPlan: false }, { rules });
    expect(wrong.join('\n')).toMatch(what);
  });
});

describe.skipIf(!HAS_REDIS && !process.env.CI)('the script of Redis', () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await RedisServer.start();
    client = new Redis(server.url);
  });
  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });

  test.each(SMALL_SCOPES)(
    'does the same as the rules in every state of $processes processes, $limit requests in $turns turns',
    async (scope) => {
      const redis = await RedisRules.load(client);
      const { exchanges, wrong } = await exploreLeases(scope, { rules: exchangeLease, onExchange: (exchange) => redis.compare(exchange) });
      await redis.flush();
      expect(redis.different).toEqual([]);
      expect(wrong).toEqual([]);
      expect(redis.compared).toBe(exchanges);
    },
  );
});
