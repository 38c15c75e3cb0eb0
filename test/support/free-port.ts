import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port at which nothing listens. It is below those that systems choose, so that no connection takes it while its server is away, and
 * so that the port 10,000 above it, at which a node of a Redis Cluster listens too, exists.
 */
export async function freePort(): Promise<number> {
  const port = 11_000 + Math.floor(11_000 * Math.random());
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
