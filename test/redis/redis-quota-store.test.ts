import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { type RedisClient, type RedisQuotaStoreOptions, type RedisSubscriber, redisQuotaStore } from 'petstore-inventory/redis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { emptyBook, exchangeLease } from '../../src/quota/lease-book.ts';
import type { LeaseAnswer, LeaseAsk, SharedQuota } from '../../src/quota-store.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';

const KEY = { address: 'https://inventory.test/v1', apiKey: 'psk_live_secret' };
if (!HAS_REDIS && !process.env.CI) console.warn('redis-server is not on the PATH: the tests of the Redis store are skipped');

function askOf(ask: Partial<LeaseAsk>): LeaseAsk {
  const nothing = { member: 'a', wanted: 0, returned: 0, returnedOfMs: 0, unanswered: 0, late: [], closedForMs: 0 };
  return { ...nothing, plan: {}, minute: undefined, day: undefined, isProbeAnswered: false, ...ask };
}

const minute = { limit: 100, remaining: 99, resetAtMs: 1_800_000_000_000, endsInMs: 60_000, agoMs: 0 };
const take = (shared: SharedQuota, ask: Partial<LeaseAsk> = {}) => shared.exchange(askOf({ wanted: 1, ...ask }));

describe.skipIf(!HAS_REDIS && !process.env.CI)('redisQuotaStore', { timeout: 30_000 }, () => {
  let server: RedisServer;
  let client: Redis;
  let others = 0;
  const joinAs = (options?: RedisQuotaStoreOptions, hear: (ms: number) => void = () => {}) =>
    redisQuotaStore(client, { prefix: `test${others++}:`, ...options }).join(KEY, hear);

  beforeAll(async () => {
    server = await RedisServer.start();
    client = new Redis(server.url, { retryStrategy: () => 20 });
    client.on('error', () => {});
  });

  afterAll(async () => {
    client.disconnect();
    await server.kill();
  });

  test('does what the book of leases does, whatever is asked', async () => {
    const ask = fc.record({
      member: fc.constantFrom('a', 'b', 'c'),
      wanted: fc.integer({ min: 0, max: 12 }),
      returned: fc.integer({ min: 0, max: 2 }),
      returnedOfMs: fc.constantFrom(0, minute.resetAtMs),
      unanswered: fc.integer({ min: 0, max: 2 }),
      late: fc.array(fc.record({ resetAtMs: fc.constant(minute.resetAtMs), remaining: fc.integer({ min: 0, max: 99 }) }), { maxLength: 2 }),
      plan: fc.constantFrom({}, { requestsPerMinute: 60, requestsPerDay: 90 }),
      minute: fc.option(
        fc.integer({ min: 0, max: 99 }).map((remaining) => ({ ...minute, remaining })),
        { nil: undefined },
      ),
      day: fc.option(fc.constant({ ...minute, limit: 900, resetAtMs: 1_800_000_900_000, endsInMs: 900_000 }), { nil: undefined, freq: 8 }),
      isProbeAnswered: fc.boolean(),
      closedForMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 60_000),
    });
    const property = fc.asyncProperty(fc.array(ask, { maxLength: 20 }), async (asks) => {
      const [shared, book] = [joinAs(), emptyBook()];
      const told = await inTurn(asks, (one) => shared.exchange(one));
      expect(told.map(steady)).toEqual(asks.map((one) => steady(exchangeLease(book, one, Date.now()))));
    });
    await fc.assert(property, { numRuns: 60 });
  });

  test('is shared by both libraries', async () => {
    const node = createClient({ url: server.url });
    await node.connect();
    const own = joinAs({ prefix: 'both:' });
    const other = redisQuotaStore(node, { prefix: 'both:' }).join(KEY, () => {});
    expect(await take(own)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(await take(other, { member: 'b' })).toMatchObject({ granted: 0, reason: 'probe' });
    node.destroy();
  });

  test('goes on when Redis forgets its scripts', async () => {
    const shared = joinAs();
    await take(shared);
    await server.ask('SCRIPT', 'FLUSH');
    expect(await take(shared, { member: 'b' })).toMatchObject({ reason: 'probe' });
  });

  test('keeps one key that holds neither key nor address, has one hash tag and expires', async () => {
    await take(joinAs({ prefix: 'secret:' }));
    const names = await client.keys('secret:*');
    expect(names).toEqual([expect.stringMatching(/^secret:\{[0-9a-f]{32}\}$/)]);
    expect(`${names}${await client.get(String(names[0]))}`).not.toMatch(/psk_live_secret|inventory\.test/);
    expect(await client.pttl(String(names[0]))).toBeGreaterThan(0);
  });

  test('tells a closed gate at once to whoever has a subscriber, of either library', async () => {
    const subscriber = new Redis(server.url);
    const nodeSubscriber = createClient({ url: server.url });
    await nodeSubscriber.connect();
    const heard: string[] = [];
    joinAs({ prefix: 'news:', subscriber }, (ms) => heard.push(`ioredis ${ms}`));
    joinAs({ prefix: 'news:', subscriber: nodeSubscriber }, (ms) => heard.push(`node-redis ${ms}`));
    await vi.waitFor(async () =>
      expect(await client.pubsub('NUMSUB', String((await client.pubsub('CHANNELS', 'news:*'))?.[0]))).toContain(2),
    );
    await take(joinAs({ prefix: 'news:' }), { closedForMs: 5000 });
    await vi.waitFor(() => expect(heard.sort()).toEqual(['ioredis 5000', 'node-redis 5000']));
    subscriber.disconnect();
    nodeSubscriber.destroy();
  });

  test('tells a closed gate whatever prefix ioredis puts before the names of keys', async () => {
    const options = { keyPrefix: 'shop:' };
    const [own, other] = [new Redis(server.url, options), new Redis(server.url, options)];
    const [subscriber, bare] = [new Redis(server.url, options), new Redis(server.url)];
    const node = createClient({ url: server.url });
    await node.connect();
    const heard: string[] = [];
    const store = (client: RedisClient, prefix: string, hears?: RedisSubscriber) => redisQuotaStore(client, { prefix, subscriber: hears });
    store(other, 'news2:', subscriber).join(KEY, (ms) => heard.push(`both prefixed ${ms}`));
    store(other, 'news2:', bare).join(KEY, (ms) => heard.push(`subscriber bare ${ms}`));
    store(other, 'news2:', node).join(KEY, (ms) => heard.push(`node-redis ${ms}`));
    const channel = async () => String((await client.pubsub('CHANNELS', '*news2:*'))?.[0]);
    await vi.waitFor(async () => expect(await client.pubsub('NUMSUB', await channel())).toContain(3));
    await take(
      store(own, 'news2:').join(KEY, () => {}),
      { closedForMs: 5000 },
    );
    await vi.waitFor(() => expect(heard.sort()).toEqual(['both prefixed 5000', 'node-redis 5000', 'subscriber bare 5000']));
    for (const each of [own, other, subscriber, bare]) each.disconnect();
    node.destroy();
  });

  test('asks Redis once for each answer, by the name of its script', async () => {
    const shared = joinAs();
    await take(shared);
    const sent = vi.spyOn(client, 'sendCommand');
    await inTurn(Array.from({ length: 20 }), () => take(shared));
    expect(sent.mock.calls.map(([command]) => command.name)).toEqual(Array(20).fill('evalsha'));
    sent.mockRestore();
  });

  test.each([
    ['stalls', () => client.call('CLIENT', 'PAUSE', '1200', 'ALL'), 'did not answer within 500 ms', () => sleep(1200)],
    ['is read-only', () => client.call('REPLICAOF', '127.0.0.1', '1'), /READONLY|MASTERDOWN/, () => client.call('REPLICAOF', 'NO', 'ONE')],
    ['is full', () => client.config('SET', 'maxmemory', '1'), 'OOM', () => client.config('SET', 'maxmemory', '0')],
  ])('fails when Redis %s, and answers again after', async (_, spoil, why, heal) => {
    const shared = joinAs();
    await take(shared);
    await spoil();
    await expect(take(shared)).rejects.toThrow(why);
    await heal();
    expect(await take(shared, { member: 'b' })).toHaveProperty('granted');
  });

  test('fails at once while Redis is gone, and answers when it is back', async () => {
    const shared = joinAs();
    await take(shared);
    await server.kill();
    await vi.waitFor(() => expect(take(shared)).rejects.toThrow('connecting again'));
    await server.restart();
    await vi.waitFor(() => expect(take(shared)).resolves.toMatchObject({ granted: 1, reason: 'probe' }), { timeout: 5000 });
  });

  test('tells processes that know their window when Redis came back empty', async () => {
    expect(await take(joinAs(), { minute })).toMatchObject({ granted: 0, reason: 'lost' });
  });
});

describe.skipIf(!HAS_REDIS && !process.env.CI)('redisQuotaStore on Redis Cluster', { timeout: 30_000 }, () => {
  let server: RedisServer;
  let cluster: Cluster;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    server = await RedisServer.start(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--dir', folder]);
    await server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await vi.waitFor(async () => expect(await server.ask('CLUSTER', 'INFO')).toContain('cluster_state:ok'), { timeout: 10_000 });
    cluster = new Cluster([{ host: '127.0.0.1', port: server.port }]);
    await vi.waitFor(() => expect(cluster.status).toBe('ready'), { timeout: 5000 });
  }, 30_000);

  afterAll(async () => {
    cluster.disconnect();
    await server.kill();
    rmSync(folder, { recursive: true });
  });

  test('runs its script where the key lives', async () => {
    const shared = redisQuotaStore(cluster).join(KEY, () => {});
    expect(await take(shared)).toMatchObject({ granted: 1, reason: 'probe' });
  });
});

describe('redisQuotaStore with bad input', () => {
  const closed = { status: 'end', eval: async () => 0, evalsha: async () => 0 };
  const unconnected = { isOpen: false, eval: async () => 0, evalSha: async () => 0 };
  const open = { ...closed, status: 'ready' };

  test.each([
    ['a client of neither library', () => Reflect.apply(redisQuotaStore, undefined, [{}]), /ioredis or of node-redis/],
    ['a closed ioredis client', () => redisQuotaStore(closed), /was closed: make a new one/],
    ['a node-redis client that is not connected', () => redisQuotaStore(unconnected), /await client\.connect\(\)/],
    ['a prefix with braces', () => redisQuotaStore(open, { prefix: 'a{b}' }), /without braces/],
    ['an empty prefix', () => redisQuotaStore(open, { prefix: '' }), /`prefix`/],
    ['half a process', () => redisQuotaStore(open, { processes: 0.5 }), /`processes`: it must be an integer/],
    ['a subscriber that cannot', () => Reflect.apply(redisQuotaStore, undefined, [open, { subscriber: {} }]), /`subscriber`/],
  ])('refuses %s', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigurationError', message: expect.stringMatching(message) }));
  });
});

/** The parts of an answer that do not depend on the instant; waits within a second are the same. */
function steady({ endsInMs, waitMs, ...rest }: LeaseAnswer): object {
  return { ...rest, endsInS: Math.round(endsInMs / 1000), waitS: rest.reason === 'quota' ? 0 : Math.round(waitMs / 1000) };
}

async function inTurn<In, Out>(items: readonly In[], work: (item: In) => Out | Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (const item of items) done.push(await work(item));
  return done;
}
