import { EventEmitter } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { Cluster, Redis } from 'ioredis';
import { type RedisClient, type RedisQuotaStoreOptions, type RedisSubscriber, redisQuotaStore } from 'petstore-inventory/redis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { emptyRecord, exchangeLease } from '../../src/node/quota-record.ts';
import type { LeaseRequest, SharedQuota } from '../../src/quota-store.ts';
import { LEASE_SCRIPT } from '../../src/redis/lease-script.ts';
import { nameOf, PREFIX } from '../../src/redis/redis-quota-store.ts';
import { messageOf } from '../../src/thrown.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';
import { FUZZ } from '../support/fuzz.ts';
import { collectGarbage } from '../support/garbage.ts';
import { leaseRequestOf } from '../support/lease-request.ts';
import { rejectionOf } from '../support/outcome.ts';

const KEY = { address: 'https://inventory.test/v1', apiKey: 'psk_live_secret' };
if (!HAS_REDIS && !process.env.CI) console.warn('redis-server is not on the PATH: the tests of the Redis store are skipped');

const minute = { limit: 100, remaining: 99, resetAtMs: 1_800_000_000_000, endsInMs: 60_000, ageMs: 0 };
const take = (shared: SharedQuota, request: Partial<LeaseRequest> = {}) => shared.exchange(leaseRequestOf({ wanted: 1, ...request }));

/** Steps of time that cross the borders of probes, members, slots, windows and days, by a millisecond too; and backwards. */
const PAUSES_MS = [0, 0, 0, 0, 1, 25, 149, 999, 1000, 1001, 4999, 5000, 20_000, 54_000, 60_000, 65_000, 3_600_000, 86_400_000, -1, -60_001];

const SMALL = [{ requestsPerMinute: 2 }, { requestsPerMinute: 5 }, { requestsPerMinute: 12, requestsPerDay: 3 }];
const PLANS = [{}, {}, ...SMALL, { requestsPerMinute: 12, requestsPerDay: 60 }, { requestsPerDay: 1e12 }];

/** What a process requests, with windows relative to the instant at which it does. */
const step = fc.record({
  afterMs: fc.constantFrom(...PAUSES_MS),
  member: fc.constantFrom('a', 'b', 'c'),
  wanted: fc.integer({ min: 0, max: 6 }),
  returned: fc.constantFrom(0, 0, 0, 1, 2),
  returnedOf: fc.constantFrom(-1, 0, undefined),
  uncounted: fc.constantFrom(0, 0, 0, 0, 1, 2),
  unanswered: fc.constantFrom(0, 0, 0, 1, 2),
  lateAnswers: fc.array(fc.record({ of: fc.constantFrom(-1, 0), remaining: fc.integer({ min: 0, max: 20 }) }), { maxLength: 2 }),
  plan: fc.constantFrom(...PLANS),
  ofKey: fc.constantFrom({}, {}, { limitPerDay: 60 }),
  minute: fc.option(
    fc.record({
      of: fc.constantFrom(-1, 0, 0, 0, 0, 0, 60),
      remaining: fc.integer({ min: 0, max: 20 }),
      weighted: fc.constantFrom({}, { isWeighted: true as const }),
    }),
    { nil: undefined },
  ),
  day: fc.option(fc.record({ of: fc.constantFrom(-1, 0, 0, 0), remaining: fc.integer({ min: 0, max: 60 }) }), { nil: undefined, freq: 8 }),
  ageMs: fc.constantFrom(0, 0, 0, 400),
  isProbeAnswered: fc.boolean(),
  closedForMs: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 700, 60_000),
});
const steps = fc.array(step, { minLength: 5, maxLength: 40 });
/** The plan of all processes; undefined if each has its own. */
const commonPlan = fc.constantFrom(undefined, ...PLANS);
type Step = typeof step extends fc.Arbitrary<infer Made> ? Made : never;

const MIDDAY_MS = 1_800_014_400_000;

/** The requests of these steps, each at its instant. */
function timed(steps: readonly Step[]): { request: LeaseRequest; nowMs: number }[] {
  let nowMs = MIDDAY_MS;
  return steps.map(({ afterMs, ...told }) => {
    nowMs += afterMs;
    return { request: requestAt(nowMs, told), nowMs };
  });
}

function requestAt(
  nowMs: number,
  { returnedOf, lateAnswers, minute: heard, day, ageMs, ofKey, ...request }: Omit<Step, 'afterMs'>,
): LeaseRequest {
  const resetOf = (windows: number) => (Math.floor(nowMs / 60_000) + 1 + windows) * 60_000;
  const dayEndsAtMs = (Math.floor(nowMs / 86_400_000) + 1) * 86_400_000;
  const windowOf = (resetAtMs: number, remaining: number, limit: number) => ({
    limit,
    remaining,
    resetAtMs,
    endsInMs: Math.min(resetAtMs - nowMs, 86_400_000),
    ageMs,
  });
  return {
    ...request,
    ...ofKey,
    returnedResetAtMs: returnedOf === undefined ? 0 : resetOf(returnedOf),
    lateAnswers: lateAnswers.map(({ of, remaining }) => ({ resetAtMs: resetOf(of), remaining })),
    minute: heard && { ...windowOf(resetOf(heard.of), heard.remaining, 20), ...heard.weighted },
    // A late answer names the day before.
    day: day && { ...windowOf(dayEndsAtMs, day.remaining, 60), resetAtMs: dayEndsAtMs + day.of * 86_400_000 },
  };
}

describe.skipIf(!HAS_REDIS && !process.env.CI)('redisQuotaStore', () => {
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

  test('answers any request at any time as `exchangeLease` does', async () => {
    const property = fc.asyncProperty(steps, commonPlan, async (made, plan) => {
      const [name, record] = [`parity${others++}`, emptyRecord()];
      const requests = timed(made.map((one) => ({ ...one, plan: plan ?? one.plan })));
      const answers = requests.map(async ({ request, nowMs }) =>
        client.eval(LEASE_SCRIPT, 1, name, JSON.stringify({ ...request, channel: name }), String(nowMs)),
      );
      const told = (await Promise.all(answers)).map((answer) => JSON.parse(String(answer)));
      expect(told).toEqual(requests.map(({ request, nowMs }) => exchangeLease(record, request, nowMs)));
      expect(JSON.parse(String(await client.get(name)))).toEqual(JSON.parse(JSON.stringify(record)));
    });
    await fc.assert(property, FUZZ);
  });

  test('reads a record of the first version, whose fields had other names', async () => {
    const name = `old${others++}`;
    const old = {
      ...{ closedUntilMs: 0, probeBy: '', probeUntilMs: 0, turnedAtMs: 0, sinceTurn: 1, minuteSlots: {}, daySlots: {} },
      minute: { limit: 100, left: 50, told: 60, resetAtMs: MIDDAY_MS + 60_000, endsAtMs: MIDDAY_MS + 60_000 },
      members: { a: { granted: 1, askedAtMs: MIDDAY_MS } },
    };
    await client.set(name, JSON.stringify(old));
    const lateAnswers = [{ resetAtMs: MIDDAY_MS + 60_000, remaining: 10 }];
    const request = leaseRequestOf({ member: 'b', wanted: 1, lateAnswers });
    const answer = await client.eval(LEASE_SCRIPT, 1, name, JSON.stringify({ ...request, channel: name }), String(MIDDAY_MS));
    expect(JSON.parse(String(answer))).toMatchObject({ granted: 1, expiresInMs: 60_000, members: 2 });
  });

  test('is shared by clients of both libraries', async () => {
    const node = createClient({ url: server.url });
    await node.connect();
    const own = joinAs({ prefix: 'both:' });
    const other = redisQuotaStore(node, { prefix: 'both:' }).join(KEY, () => {});
    expect(await take(own)).toMatchObject({ granted: 1, reason: 'probe' });
    expect(await take(other, { member: 'b' })).toMatchObject({ granted: 0, reason: 'probe' });
    node.destroy();
  });

  test('continues when Redis forgets its scripts', async () => {
    const shared = joinAs();
    await take(shared);
    await server.ask('SCRIPT', 'FLUSH');
    expect(await take(shared, { member: 'b' })).toMatchObject({ reason: 'probe' });
  });

  test('counts once what a process gives back if the library sends the command again', async () => {
    const twice: RedisClient = {
      status: 'ready',
      evalsha: async (...asked: Parameters<Redis['evalsha']>) => {
        await client.evalsha(...asked);
        return client.evalsha(...asked);
      },
      eval: (...asked: Parameters<Redis['eval']>) => client.eval(...asked),
    };
    const prefix = `twice${others++}:`;
    const [shared, resent] = [client, twice].map((each) => redisQuotaStore(each, { prefix }).join(KEY, () => {}));
    if (!shared || !resent) return expect.unreachable();
    await take(shared, { member: 'a' });
    const { granted } = await take(shared, { member: 'a', wanted: 5, minute, isProbeAnswered: true });
    const recordOf = async () => JSON.parse(String(await client.get(await nameOf(prefix, KEY))));
    const before = await recordOf();
    await take(resent, { member: 'a', wanted: 0, returned: 2, returnedResetAtMs: minute.resetAtMs });
    expect([granted, (await recordOf()).minute.left]).toEqual([5, before.minute.left + 2]);
  });

  test('keeps one key that holds neither key nor address, has one hash tag and expires', async () => {
    await take(joinAs({ prefix: 'secret:' }));
    const names = await client.keys('secret:*');
    expect(names).toEqual([expect.stringMatching(/^secret:\{[0-9a-f]{32}\}$/)]);
    expect(`${names}${await client.get(String(names[0]))}`).not.toMatch(/psk_live_secret|inventory\.test/);
    expect(await client.pttl(String(names[0]))).toBeGreaterThan(0);
  });

  test('reports a closed gate at once to clients with a subscriber, of either library', async () => {
    const subscriber = new Redis(server.url);
    const nodeSubscriber = createClient({ url: server.url });
    await nodeSubscriber.connect();
    const heard: string[] = [];
    joinAs({ prefix: 'news:', subscriber }, (ms) => heard.push(`ioredis ${ms}`));
    joinAs({ prefix: 'news:', subscriber: nodeSubscriber }, (ms) => heard.push(`node-redis ${ms}`));
    await expect.poll(async () => client.pubsub('NUMSUB', String((await client.pubsub('CHANNELS', 'news:*'))?.[0]))).toContain(2);
    await take(joinAs({ prefix: 'news:' }), { closedForMs: 5000 });
    await expect.poll(() => heard.sort()).toEqual(['ioredis 5000', 'node-redis 5000']);
    subscriber.disconnect();
    nodeSubscriber.destroy();
  });

  test('keeps a closed gate if its user may not publish to the channel', async () => {
    await client.acl('SETUSER', 'silent', 'on', '>secret', 'resetchannels', '~silent:*', '+@all');
    const silent = new Redis(server.url, { username: 'silent', password: 'secret' });
    onTestFinished(() => silent.disconnect());
    const shared = redisQuotaStore(silent, { prefix: 'silent:' }).join(KEY, () => {});
    await take(shared, { wanted: 0, closedForMs: 5000 });
    expect(await take(shared, { member: 'b' })).toMatchObject({ granted: 0, reason: 'closed' });
  });

  test('reports a closed gate with any `keyPrefix` of ioredis', async () => {
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
    await expect.poll(async () => client.pubsub('NUMSUB', await channel())).toContain(3);
    await take(
      store(own, 'news2:').join(KEY, () => {}),
      { closedForMs: 5000 },
    );
    await expect.poll(() => heard.sort()).toEqual(['both prefixed 5000', 'node-redis 5000', 'subscriber bare 5000']);
    for (const each of [own, other, subscriber, bare]) each.disconnect();
    node.destroy();
  });

  test('sends one command for each answer, by the hash of its script', async () => {
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

  test.each([
    ['holds a list', (name: string) => client.lpush(name, 'job')],
    ['holds no JSON', (name: string) => client.set(name, 'job')],
    ['holds other JSON', (name: string) => client.set(name, '[]')],
  ])('says what to do with a key that %s, with either library', async (_, spoil) => {
    const node = createClient({ url: server.url });
    await node.connect();
    const prefix = `taken${others++}:`;
    const name = await nameOf(prefix, KEY);
    await spoil(name);
    await server.ask('SCRIPT', 'FLUSH');
    const failures = await inTurn<RedisClient, unknown>([client, node, client, node], (each) =>
      rejectionOf(Promise.resolve(take(redisQuotaStore(each, { prefix }).join(KEY, () => {})))),
    );
    node.destroy();
    const message = `Redis: the key ${name} holds something that this package did not write: delete it`;
    expect(failures.map(messageOf)).toEqual(Array(4).fill(message));
  });

  test('fails at once while Redis is gone, and answers when it is back', async () => {
    const shared = joinAs();
    await take(shared);
    await server.kill();
    await expect
      .poll(async () => messageOf(await rejectionOf(Promise.resolve(take(shared)))))
      .toMatch(/connecting again: connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
    await server.restart();
    await expect.poll(() => Promise.resolve(take(shared)).catch(messageOf)).toMatchObject({ granted: 1, reason: 'probe' });
  });

  test('answers `lost` to processes that know their window when Redis was restarted empty', async () => {
    expect(await take(joinAs(), { minute })).toMatchObject({ granted: 0, reason: 'lost' });
  });
});

describe.skipIf(!HAS_REDIS && !process.env.CI)('redisQuotaStore on Redis Cluster', () => {
  let server: RedisServer;
  let cluster: Cluster;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    server = await RedisServer.start(['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1', '--dir', folder]);
    await server.ask('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    await vi.waitFor(async () => expect(await server.ask('CLUSTER', 'INFO')).toContain('cluster_state:ok'), 60_000);
    cluster = new Cluster([{ host: '127.0.0.1', port: server.port }]);
    await vi.waitFor(() => expect(cluster.status).toBe('ready'), 60_000);
  });

  afterAll(async () => {
    cluster.disconnect();
    await server.kill();
    rmSync(folder, { recursive: true });
  });

  test('runs its script on the node that has the key', async () => {
    const shared = redisQuotaStore(cluster).join(KEY, () => {});
    expect(await take(shared)).toMatchObject({ granted: 1, reason: 'probe' });
  });
});

describe('redisQuotaStore with a subscriber', () => {
  const client = { status: 'ready', eval: async () => 0, evalsha: async () => 0 };

  test.each([
    ['throws', vi.fn(() => failAtOnce())],
    ['returns nothing', vi.fn(() => undefined)],
  ])('does without it if its `subscribe` %s', async (_, subscribe) => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    Reflect.apply(redisQuotaStore, undefined, [client, { subscriber: { isOpen: true, subscribe } }]).join(KEY, () => {});
    await expect.poll(() => subscribe).toHaveBeenCalled();
    await sleep(10);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('does without notices if a client lets nobody listen', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const answer = JSON.stringify({ granted: 1, expiresInMs: 1_000, resetAtMs: 0, waitMs: 0, reason: 'quota', members: 1 });
    const deaf = { ...client, evalsha: async () => answer, on: failAtOnce };
    const subscriber = { status: 'ready', subscribe: vi.fn(async () => 1), on: failAtOnce };
    const shared = redisQuotaStore(deaf, { subscriber }).join(KEY, () => {});
    expect(await take(shared)).toMatchObject({ granted: 1 });
    await sleep(10);
    expect(unhandled).not.toHaveBeenCalled();
    await shared.leave?.();
  });
});

test('redisQuotaStore takes a node-redis client that is still connecting, and fails at once when it has lost its connection', async () => {
  const client = { isOpen: true, isReady: false, eval: async () => '{}', evalSha: async () => '{}' };
  const shared = redisQuotaStore(client).join(KEY, () => {});
  expect(await take(shared)).toEqual({});
  client.isReady = true;
  expect(await take(shared)).toEqual({});
  client.isReady = false;
  expect(String(await rejectionOf(Promise.resolve(take(shared))))).toBe('Error: Redis: the client is connecting again');
});

test.each([
  ['its message', new Error('NOAUTH Authentication required.'), ': NOAUTH Authentication required.'],
  ['its code if it has no message', Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' }), ': ECONNREFUSED'],
])('redisQuotaStore says why a client cannot connect, until it can: %s', async (_, failure, said) => {
  const client = Object.assign(new EventEmitter(), { status: 'ready', eval: async () => '{}', evalsha: async () => '{}' });
  const shared = redisQuotaStore(client).join(KEY, () => {});
  const reason = async () => messageOf(await rejectionOf(Promise.resolve(take(shared))));
  client.emit('error', failure);
  client.status = 'reconnecting';
  expect(await reason()).toBe(`Redis: the client is connecting again${said}`);
  client.emit('ready');
  client.status = 'close';
  expect(await reason()).toBe('Redis: the client is connecting again');
});

test('redisQuotaStore adds one listener for the errors of a client, however many stores it makes of it', () => {
  const client = Object.assign(new EventEmitter(), { status: 'ready', eval: async () => 0, evalsha: async () => 0 });
  for (let store = 0; store < 20; store += 1) redisQuotaStore(client);
  expect(client.listenerCount('error')).toBe(1);
});

test('redisQuotaStore adds one listener to an ioredis subscriber, which tells each key of its own channel', async () => {
  const client = { status: 'ready', eval: async () => 0, evalsha: async () => 0 };
  const subscriber = Object.assign(new EventEmitter(), { status: 'ready', subscribe: vi.fn(async (_channel: string) => 1) });
  const heard: string[] = [];
  for (const apiKey of ['first', 'second'])
    redisQuotaStore(client, { subscriber }).join({ ...KEY, apiKey }, (ms) => heard.push(`${apiKey} ${ms}`));
  await expect.poll(() => subscriber.subscribe).toHaveBeenCalledTimes(2);
  expect(subscriber.listenerCount('message')).toBe(1);
  subscriber.emit('message', await nameOf(PREFIX, { ...KEY, apiKey: 'second' }), '5000');
  expect(heard).toEqual(['second 5000']);
});

describe('A subscription of redisQuotaStore', () => {
  const client = { status: 'ready', eval: async () => 0, evalsha: async () => 0 };
  const made = (hear: (ms: number) => void, subscriber: RedisSubscriber) => redisQuotaStore(client, { subscriber }).join(KEY, hear);

  /** A subscriber of either library whose answers come when they are released. */
  function heldSubscriber() {
    const log: string[] = [];
    const answers: (() => void)[] = [];
    const command = (name: string) => async () => {
      log.push(name);
      await new Promise<void>((resolve) => answers.push(resolve));
    };
    return { log, answers, subscriber: { isOpen: true, subscribe: command('subscribe'), unsubscribe: command('unsubscribe') } };
  }

  test('ends with the last listener of its channel, and begins with the next', async () => {
    const { log, answers, subscriber } = heldSubscriber();
    const [one, other] = [made(() => {}, subscriber), made(() => {}, subscriber)];
    await expect.poll(() => answers.splice(0).map((answer) => answer())).toHaveLength(1);
    await one.leave?.();
    await sleep(5);
    expect(log).toEqual(['subscribe']);
    await other.leave?.();
    await expect.poll(() => answers.splice(0).map((answer) => answer())).toHaveLength(1);
    made(() => {}, subscriber);
    await expect.poll(() => log).toEqual(['subscribe', 'unsubscribe', 'subscribe']);
  });

  test('stays if a listener leaves and another one joins while a command has no answer', async () => {
    const { log, answers, subscriber } = heldSubscriber();
    await made(() => {}, subscriber).leave?.();
    made(() => {}, subscriber);
    await sleep(5);
    answers.shift()?.();
    await sleep(5);
    expect(log).toEqual(['subscribe']);
  });

  test('that fails is tried again for a listener that joined before its answer', async () => {
    const log: string[] = [];
    const refusals: ((reason: Error) => void)[] = [];
    const subscribe = async () => {
      log.push('subscribe');
      await new Promise((_resolve, reject) => refusals.push(reject));
    };
    const subscriber = { isOpen: true, subscribe };
    await made(() => {}, subscriber).leave?.();
    const other = made(() => {}, subscriber);
    await sleep(5);
    refusals.shift()?.(new Error('gone'));
    await sleep(5);
    expect(log).toEqual(['subscribe', 'subscribe']);
    refusals.shift()?.(new Error('gone'));
    await sleep(5);
    await other.leave?.();
    expect(log).toEqual(['subscribe', 'subscribe']);
  });

  test.skipIf(!HAS_REDIS && !process.env.CI)('is released in Redis, with either library, and heard again after a new join', async () => {
    const server = await RedisServer.start();
    const [sender, ioredis, node] = [new Redis(server.url), new Redis(server.url), createClient({ url: server.url })];
    await node.connect();
    const heard: string[] = [];
    const name = await nameOf(PREFIX, KEY);
    const subscribers = async () => (await sender.pubsub('NUMSUB', name))[1];
    const join = (round: number) => [made((ms) => heard.push(`${round} ${ms}`), ioredis), made((ms) => heard.push(`${round} ${ms}`), node)];
    const first = join(1);
    await expect.poll(() => subscribers()).toBe(2);
    await Promise.all(first.map((shared) => shared.leave?.()));
    await expect.poll(() => subscribers()).toBe(0);
    await Promise.all(join(2).map((shared) => shared.leave?.()));
    join(3);
    await expect.poll(() => subscribers()).toBe(2);
    await sleep(50);
    await sender.publish(name, '5000');
    await expect.poll(() => heard).toEqual(['3 5000', '3 5000']);
    for (const each of [sender, ioredis]) each.disconnect();
    node.destroy();
    await server.kill();
  });

  test.skipIf(!HAS_REDIS && !process.env.CI)('may end while Redis is gone', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    onTestFinished(() => void process.off('unhandledRejection', unhandled));
    const server = await RedisServer.start();
    const [ioredis, node] = [new Redis(server.url, { maxRetriesPerRequest: 1 }), createClient({ url: server.url })];
    await node.connect();
    const joined = [made(() => {}, ioredis), made(() => {}, node)];
    await sleep(50);
    await server.kill();
    await Promise.all(joined.map((shared) => shared.leave?.()));
    await sleep(200);
    ioredis.disconnect();
    node.destroy();
    await sleep(10);
    expect(unhandled).not.toHaveBeenCalled();
  });

  test('retains nothing of a key that was left', async () => {
    const subscriber = Object.assign(new EventEmitter(), { status: 'ready', subscribe: async () => 1, unsubscribe: async () => 1 });
    const listener = await (async () => {
      const hear = () => {};
      await made(hear, subscriber).leave?.();
      return new WeakRef(hear);
    })();
    await sleep(5);
    await collectGarbage();
    expect(listener.deref()).toBeUndefined();
  });
});

function failAtOnce(): never {
  throw new Error('The client is closed');
}

describe('redisQuotaStore with bad input', () => {
  const closed = { status: 'end', eval: async () => 0, evalsha: async () => 0 };
  const unconnected = { isOpen: false, eval: async () => 0, evalSha: async () => 0 };
  const open = { ...closed, status: 'ready' };

  test.each([
    ['a client of neither library', () => Reflect.apply(redisQuotaStore, undefined, [{}]), /ioredis or node-redis/],
    ['a closed ioredis client', () => redisQuotaStore(closed), /was closed: make a new one/],
    ['an ioredis client that has lost its connection', () => redisQuotaStore({ ...open, status: 'close' }), /is connecting again/],
    ['an ioredis client that is connecting again', () => redisQuotaStore({ ...open, status: 'reconnecting' }), /is connecting again/],
    ['a node-redis client that is not connected', () => redisQuotaStore(unconnected), /await client\.connect\(\)/],
    ['a prefix with braces', () => redisQuotaStore(open, { prefix: 'a{b}' }), /has no braces/],
    ['an empty prefix', () => redisQuotaStore(open, { prefix: '' }), /`prefix`: it must be a text that is not empty/],
    ['a prefix that is no text', () => Reflect.apply(redisQuotaStore, undefined, [open, { prefix: 8 }]), /8 as `prefix`/],
    ['no process', () => redisQuotaStore(open, { processes: 0 }), /`processes`: it must be an integer of at least 1/],
    ['half a process', () => redisQuotaStore(open, { processes: 0.5 }), /`processes`: it must be an integer/],
    ['null for options', () => Reflect.apply(redisQuotaStore, undefined, [open, null]), /null as `options`: it must be an object such as/],
    [
      'a misspelt option',
      () => Reflect.apply(redisQuotaStore, undefined, [open, { process: 8 }]),
      /`process` as an option: the options are prefix, processes, subscriber/,
    ],
    ['a subscriber that cannot', () => Reflect.apply(redisQuotaStore, undefined, [open, { subscriber: {} }]), /`subscriber`/],
  ])('refuses %s', (_, make, message) => {
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigurationError', message: expect.stringMatching(message) }));
  });
});

async function inTurn<In, Out>(items: readonly In[], work: (item: In) => Out | Promise<Out>): Promise<Out[]> {
  const done: Out[] = [];
  for (const item of items) done.push(await work(item));
  return done;
}
