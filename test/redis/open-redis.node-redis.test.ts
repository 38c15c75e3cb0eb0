import { once } from 'node:events';
import { registerHooks } from 'node:module';
import { createServer } from 'node:net';
import { afterAll, expect, onTestFinished, test } from 'vitest';
import { openRedis } from '../../src/redis/open-redis.ts';

// In a file of its own, since a package that was imported before could still be imported.
const hooks = registerHooks({
  resolve: (specifier, context, next) => {
    if (!specifier.includes('/node_modules/ioredis/')) return next(specifier, context);
    throw Object.assign(new Error('ioredis is not installed'), { code: 'ERR_MODULE_NOT_FOUND' });
  },
});
afterAll(() => hooks.deregister());

test('openRedis without ioredis rejects with the reason why node-redis cannot connect', async () => {
  await expect(openRedis('redis://127.0.0.1:1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('openRedis without ioredis connects by node-redis, and closes its connection', async () => {
  const server = createServer((socket) => socket.on('data', (sent) => socket.write('+OK\r\n'.repeat(String(sent).split('*').length - 1))));
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection');
  const address = server.address();
  const { client, close } = await openRedis(`redis://127.0.0.1:${typeof address === 'object' && address?.port}`);
  const [socket] = await accepted;
  expect(client).toMatchObject({ isReady: true, evalSha: expect.any(Function) });
  const closed = once(socket, 'close');
  close();
  await closed;
  expect(client).toMatchObject({ isOpen: false });
});
