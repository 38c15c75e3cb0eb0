import { withinTimeout } from '../clock/within-timeout.ts';
import { badOption, checkNames, numberOption } from '../options/rules.ts';
import type { LeaseRequest, QuotaStore, StoreKey } from '../quota-store.ts';
import { LEASE_SCRIPT } from './lease-script.ts';
import { type RedisClient, type RedisScripts, scriptsOf } from './redis-client.ts';
import { checkSubscriber, listen, type RedisSubscriber } from './redis-subscriber.ts';

/** The default prefix of the store's keys in Redis. */
export const PREFIX = 'petstore:quota:';

/** If Redis takes longer to answer, it counts as down. */
const TIMEOUT_MS = 500;

/**
 * Options of a store in Redis.
 *
 * @example
 * const options: RedisQuotaStoreOptions = { prefix: 'shop:quota:', processes: 8 };
 */
export interface RedisQuotaStoreOptions {
  /**
   * The prefix of the store's keys in Redis: not empty, without braces.
   * @default 'petstore:quota:'
   */
  prefix?: string | undefined;
  /**
   * The number of processes that share the quota, an integer of at least 1. While Redis is down, each process divides the quota by it and
   * uses one part at most.
   * @default the number of processes in the last lease, or 10
   */
  processes?: number | undefined;
  /**
   * Another connection, by which a process learns at once that the service closed the key. Without it, it learns that with its next lease.
   * @default none
   */
  subscriber?: RedisSubscriber | undefined;
}

/**
 * Keeps the quota of a key in Redis 6 or later, for processes on any number of machines. Give it to each client as `quotaStore`.
 *
 * The caller opens the connection before, and closes it after the clients. Redis gets neither key nor address, only a hash.
 *
 * @param client a connected client of ioredis or node-redis, or a cluster of either
 * @throws ConfigurationError that names the option, the rule and the value, also for a client that is not connected
 * @example
 * const redis = new Redis('redis://127.0.0.1:6379', { lazyConnect: true });
 * const quotaStore = redisQuotaStore(redis, { processes: 8 });
 * const client = new PetStoreClient({ apiKey, baseUrl, plan: 'business', quotaStore });
 * const items = await client.listInventory(); // also while Redis is down: then this process uses at most an eighth
 * client.close();
 * redis.disconnect();
 */
export function redisQuotaStore(client: RedisClient, options: RedisQuotaStoreOptions = {}): QuotaStore {
  checkNames(options, ['prefix', 'processes', 'subscriber']);
  const { prefix = PREFIX, processes, subscriber } = options;
  if (typeof prefix !== 'string' || prefix === '' || /[{}]/.test(prefix))
    throw badOption('prefix', 'a text that is not empty and has no braces, which choose the node of a cluster', { shown: prefix });
  checkSubscriber(subscriber);
  const scripts = scriptsOf(client);
  const sha1 = digest('SHA-1', LEASE_SCRIPT);
  return {
    processes: numberOption('processes', processes, undefined, { min: 1, integer: true }),
    isCheap: false,
    join: (key, onClosed) => {
      const name = nameOf(prefix, key);
      const onMessage = (closedForMs: string) => onClosed(Number(closedForMs));
      const stop = subscriber && name.then((channel) => listen(subscriber, { channel, onMessage }));
      return {
        exchange: async (request) => {
          if (scripts.whyNot !== undefined) throw new Error(`Redis: the client ${scripts.whyNot}`);
          const running = run(scripts, { name: await name, sha1: await sha1 }, request);
          // The gate checks it, as it does the answer of every store.
          return JSON.parse(String(await withinTimeout(running, TIMEOUT_MS, `Redis did not answer within ${TIMEOUT_MS} ms`)));
        },
        leave: async () => (await stop)?.(),
      };
    },
  };
}

/** The name of a key's record. The hash is in braces, so that everything about one key is on one node of a cluster. */
export async function nameOf(prefix: string, { address, apiKey }: StoreKey): Promise<string> {
  return `${prefix}{${(await digest('SHA-256', `${address}\n${apiKey}`)).slice(0, 32)}}`;
}

async function digest(algorithm: string, text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest(algorithm, new TextEncoder().encode(text)));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Numbers the requests of this process: a library may send one again whose answer was lost. */
let requests = 0;

async function run(scripts: RedisScripts, { name, sha1 }: { name: string; sha1: string }, request: LeaseRequest): Promise<unknown> {
  const argument = JSON.stringify({ ...request, channel: name, number: ++requests });
  try {
    return await scripts.runBySha(sha1, name, argument);
  } catch (failure) {
    // Redis has not cached the script. Sending its text runs and caches it.
    if (!String(failure).includes('NOSCRIPT')) throw failure;
    return scripts.run(LEASE_SCRIPT, name, argument);
  }
}
