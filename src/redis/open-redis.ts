import * as z from 'zod/mini';
import { withinTimeout } from '../clock/within-timeout.ts';
import type { StoreKey } from '../quota-store.ts';
import { type RedisClient, scriptsOf } from './redis-client.ts';
import { nameOf, PREFIX } from './redis-quota-store.ts';

/** A client connected to Redis, and a function that closes it. */
interface OpenedRedis {
  client: RedisClient;
  close(): void;
}

/** No library for Redis is installed. */
export class NoRedisLibraryError extends Error {
  override readonly name = 'NoRedisLibraryError';
}

/** Connects with ioredis or node-redis, whichever is installed. @throws NoRedisLibraryError, or the error of the connection */
export async function openRedis(url: string): Promise<OpenedRedis> {
  const opened = (await withIoredis(url)) ?? (await withNodeRedis(url));
  if (!opened) throw new NoRedisLibraryError('it needs ioredis or redis: npm install ioredis');
  return opened;
}

/** Deletes the record of a key. */
export async function forgetQuota(client: RedisClient, key: StoreKey): Promise<void> {
  await scriptsOf(client).run("return redis.call('DEL', KEYS[1])", await nameOf(PREFIX, key), '');
}

const LOCK_SCRIPT = `
local request = cjson.decode(ARGV[1])
local kept = redis.call('GET', KEYS[1])
if kept then
  local isJson, held = pcall(cjson.decode, kept)
  local isRecord = isJson and type(held) == 'table' and type(held.id) == 'string' and type(held.text) == 'string'
  if not isRecord and not request.takesVoid then return cjson.encode({ text = '', leftMs = 0, isVoid = true }) end
  if isRecord and held.id ~= request.id then return cjson.encode({ text = held.text, leftMs = redis.call('PTTL', KEYS[1]) }) end
elseif request.isLate then return cjson.encode({ text = '', leftMs = 0 }) end
if request.heldMs > 0 then redis.call('SET', KEYS[1], ARGV[1], 'PX', request.heldMs) else redis.call('DEL', KEYS[1]) end
return ''
`;

const OtherHolder = z.object({ text: z.string(), leftMs: z.number(), isVoid: z.optional(z.literal(true)) });

export interface LockRequest {
  id: string;
  text: string;
  heldMs: number;
  takesVoid?: boolean;
  /** For a renewal that may come too late: if this process does not hold the lock any more, it is not taken, even if it is free. */
  isLate?: boolean;
}

/**
 * Takes, renews or releases a lock, in one step. If another process holds it, returns that holder's text and the time left. A lock whose
 * record is damaged is void: it is taken with `takesVoid` only. A renewal that is late does not take a lock that has expired.
 */
export async function exchangeRedisLock(
  client: RedisClient,
  { name, ...request }: LockRequest & { name: string },
): Promise<z.infer<typeof OtherHolder> | undefined> {
  const answer = await scriptsOf(client).run(LOCK_SCRIPT, `petstore:lock:{${name}}`, JSON.stringify(request));
  return answer === '' ? undefined : OtherHolder.parse(JSON.parse(String(answer)));
}

async function withIoredis(url: string): Promise<OpenedRedis | undefined> {
  const library = await import('ioredis').catch(missing);
  if (!library) return undefined;
  const redis = new library.Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, connectTimeout: CONNECT_MS });
  // The event has the reason of a failed connection; connect() rejects with a less specific error.
  let lost: Error | undefined;
  redis.on('error', (error) => {
    lost = error;
  });
  await connected(redis.connect()).catch((error: unknown) => {
    redis.disconnect();
    throw lost ?? error;
  });
  return { client: redis, close: () => endAfter(redis.ping(), () => redis.disconnect()) };
}

async function withNodeRedis(url: string): Promise<OpenedRedis | undefined> {
  const library = await import('redis').catch(missing);
  if (!library) return undefined;
  let isOpened = false;
  const redis = library.createClient({
    url,
    socket: { connectTimeout: CONNECT_MS, reconnectStrategy: (tries) => (isOpened ? Math.min(tries * 50, 2_000) : false) },
  });
  redis.on('error', () => {});
  await connected(redis.connect()).catch((error: unknown) => {
    if (redis.isOpen) redis.destroy();
    throw error;
  });
  isOpened = true;
  return { client: redis, close: () => endAfter(redis.ping(), () => redis.destroy()) };
}

const CONNECT_MS = 5_000;

/** Limits the time of a whole connection. The libraries limit only that of TCP, which a Redis that is suspended accepts. */
function connected(connecting: Promise<unknown>): Promise<unknown> {
  return withinTimeout(connecting, CONNECT_MS, `it did not answer within ${CONNECT_MS / 1_000} s`);
}

/** A Redis that does not answer for this long counts as down. */
const END_MS = 500;

/**
 * Lets commands that were sent before a ping arrive, such as one that reports a closed key. Instead of the libraries' own ways: after its
 * `close()`, a client of redis 5 cannot be ended while Redis does not answer.
 */
function endAfter(ping: Promise<unknown>, end: () => void): void {
  // Whether it answered or not, and even if the connection has ended already.
  void withinTimeout(ping, END_MS, 'no answer')
    .finally(end)
    .catch(() => {});
}

/** Ignores the error of a library that is not installed. Other errors are thrown, since they are no reason to try another library. */
function missing(error: unknown): undefined {
  if (error instanceof Error && String(Reflect.get(error, 'code')) === 'ERR_MODULE_NOT_FOUND') return undefined;
  throw error;
}
