import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { exchangeRedisLock, openRedis } from '../../src/redis/open-redis.ts';
import { HAS_REDIS, RedisServer } from '../fleet/redis-server.ts';

describe.skipIf(!HAS_REDIS && !process.env.CI)('exchangeRedisLock', () => {
  let server: RedisServer;
  let client: Redis;
  beforeAll(async () => {
    server = await RedisServer.start();
    client = new Redis(server.url);
  });
  afterAll(() => {
    client.disconnect();
    return server.kill();
  });

  const exchange = (id: string, heldMs: number, takesVoid = false) =>
    exchangeRedisLock(client, { name: 'restock', id, text: `{"id":"${id}"}`, heldMs, takesVoid });

  test('gives a lock to one holder until it is released', async () => {
    expect(await exchange('one', 30_000)).toBeUndefined();
    expect(await exchange('one', 30_000)).toBeUndefined();
    expect(await exchange('other', 30_000, true)).toEqual({ text: '{"id":"one"}', leftMs: expect.closeTo(30_000, -3) });
    expect(await exchange('one', 0)).toBeUndefined();
    expect(await exchange('other', 30_000)).toBeUndefined();
  });

  test('does not give it to a holder whose renewal is late, if it has expired or another one has it', async () => {
    const late = (id: string) => exchangeRedisLock(client, { name: 'late', id, text: `{"id":"${id}"}`, heldMs: 30_000, isLate: true });
    expect(await late('one')).toEqual({ text: '', leftMs: 0 });
    await exchangeRedisLock(client, { name: 'late', id: 'one', text: '{"id":"one"}', heldMs: 30_000 });
    expect([await late('one'), await late('other')]).toEqual([undefined, { text: '{"id":"one"}', leftMs: expect.closeTo(30_000, -3) }]);
  });

  test.each(['{"id":"one","te', '5', '{"text":"{}"}', '{"id":"one"}'])('takes %s for a lock that is void', async (record) => {
    await client.set('petstore:lock:{restock}', record);
    const held = { text: '', leftMs: 0, isVoid: true };
    expect([await exchange('one', 30_000), await exchange('one', 0)]).toEqual([held, held]);
    expect(await exchange('other', 30_000, true)).toBeUndefined();
    expect(await exchange('one', 30_000, true)).toEqual({ text: '{"id":"other"}', leftMs: expect.closeTo(30_000, -3) });
  });

  test('works with what openRedis gives, until that is closed', async () => {
    const { client: opened, close } = await openRedis(server.url);
    const lock = { name: 'opened', id: 'one', text: '{"id":"one"}', heldMs: 30_000 };
    expect(await exchangeRedisLock(opened, lock)).toBeUndefined();
    close();
    await expect.poll(() => Reflect.get(opened, 'status')).toBe('end');
    await expect(exchangeRedisLock(opened, lock)).rejects.toThrow('was closed');
  });

  test('says what to do with a key that holds a list', async () => {
    await client.del('petstore:lock:{restock}');
    await client.lpush('petstore:lock:{restock}', 'job');
    const message = 'Redis: the key petstore:lock:{restock} holds something that this package did not write: delete it';
    await expect(exchange('one', 30_000)).rejects.toThrow(message);
  });
});

/** A server in the place of Redis, and its address. */
async function listen(server: Server): Promise<string> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    vi.useRealTimers();
    server.close();
  });
  const address = server.address();
  return `redis://127.0.0.1:${typeof address === 'object' && address?.port}`;
}

test('openRedis gives up a server that accepts the connection and does not answer', async () => {
  const server = createServer();
  const accepted = once(server, 'connection');
  const opening = openRedis(await listen(server));
  const refused = expect(opening).rejects.toThrow('it did not answer within 5 s');
  const [socket] = await accepted;
  await vi.advanceTimersByTimeAsync(5_000);
  await refused;
  await once(socket.resume(), 'close');
});

test('openRedis lets a server that no longer answers hold up the end of its connection for half a second', async () => {
  let answer = '$2\r\nOK\r\n';
  const server = createServer((socket) => socket.on('data', (sent) => socket.write(answer.repeat(String(sent).split('*').length - 1))));
  const accepted = once(server, 'connection');
  const { close } = await openRedis(await listen(server));
  const [socket] = await accepted;
  const closed = once(socket, 'close');
  answer = '';
  close();
  await vi.advanceTimersByTimeAsync(499);
  expect(socket.readyState).toBe('open');
  await vi.advanceTimersByTimeAsync(1);
  await closed;
});
