import { badOption, hasMethods } from '../options/rules.ts';
import { fieldOf } from '../thrown.ts';

/**
 * The part of a client of ioredis, or its Cluster, that the store needs.
 *
 * @example
 * const client: IoredisClient = new Redis('redis://127.0.0.1:6379', { lazyConnect: true });
 */
export interface IoredisClient {
  /** The state of its connection. */
  readonly status: string;
  /** Runs a script that Redis has cached. @throws what the library throws */
  evalsha(sha1: string, numberOfKeys: number, key: string, argument: string): Promise<unknown>;
  /** Runs a script. @throws what the library throws */
  eval(script: string, numberOfKeys: number, key: string, argument: string): Promise<unknown>;
}

/**
 * The arguments of a script in the form of node-redis.
 *
 * @see {@link NodeRedisClient} for an example
 */
export interface ScriptArguments {
  /** The keys that the script uses. */
  keys: string[];
  /** The other arguments of the script. */
  arguments: string[];
}

/**
 * The part of a client of node-redis, or its cluster, that the store needs.
 *
 * @example
 * const client: NodeRedisClient = createClient({ url: 'redis://127.0.0.1:6379' });
 */
export interface NodeRedisClient {
  /** Whether it was connected and not closed. */
  readonly isOpen: boolean;
  /** Whether it can send now. */
  readonly isReady?: boolean;
  /** Runs a script that Redis has cached. @throws what the library throws */
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  /** Runs a script. @throws what the library throws */
  eval(script: string, options: ScriptArguments): Promise<unknown>;
}

/**
 * A client of one of the two libraries.
 *
 * @example
 * const clients: RedisClient[] = [new Redis({ lazyConnect: true }), createClient()];
 */
export type RedisClient = IoredisClient | NodeRedisClient;

/** The scripts of a client of either library. */
export interface RedisScripts {
  /** Why the client can send no command now, such as `was closed: make a new one`; undefined if it can. */
  readonly whyNot: string | undefined;
  runBySha(sha1: string, key: string, argument: string): Promise<unknown>;
  run(script: string, key: string, argument: string): Promise<unknown>;
}

/** The scripts of a client, whose library is recognised by its methods. @throws ConfigurationError */
export function scriptsOf(client: RedisClient): RedisScripts {
  const scripts = isIoredis(client) ? ofIoredis(client) : isNodeRedis(client) ? ofNodeRedis(client) : undefined;
  if (!scripts) throw badOption('client', 'a client of ioredis or node-redis (package `redis`)', { shown: client });
  if (scripts.whyNot !== undefined)
    throw badOption('client', `a client with an open connection, and this one ${scripts.whyNot}`, { shown: client });
  outliveErrors(client);
  return scripts;
}

function isIoredis(client: unknown): client is IoredisClient {
  return hasMethods(client, ['evalsha', 'eval']);
}

function isNodeRedis(client: unknown): client is NodeRedisClient {
  return hasMethods(client, ['evalSha', 'eval']);
}

/** Why each client that has the listeners could not connect, such as `: connect ECONNREFUSED 127.0.0.1:6379`; empty once it is ready. */
const failures = new WeakMap<object, string>();

/**
 * Adds a listener for a client's errors, which alone say why it cannot connect. Without one, a node-redis client ends the process if Redis
 * fails, which the store reports.
 */
export function outliveErrors(client: object): void {
  if (failures.has(client)) return;
  failures.set(client, '');
  // An AggregateError of several addresses has a code, but no message.
  listenTo(client, 'error', (error) => failures.set(client, `: ${fieldOf(error, 'message') || fieldOf(error, 'code')}`));
  listenTo(client, 'ready', () => failures.set(client, ''));
}

/** Adds a listener to a client that has events. Without its events, a store still leases. */
export function listenTo(client: object, event: string, listener: (...values: never[]) => void): void {
  try {
    const on: unknown = Reflect.get(client, 'on');
    if (typeof on === 'function') Reflect.apply(on, client, [event, listener]);
  } catch {
    // Another library's client.
  }
}

function ofIoredis(client: IoredisClient): RedisScripts {
  return {
    get whyNot() {
      if (client.status === 'end') return 'was closed: make a new one';
      return client.status === 'reconnecting' || client.status === 'close' ? `is connecting again${failures.get(client) ?? ''}` : undefined;
    },
    runBySha: (sha1, key, argument) => answerOf(key, client.evalsha(sha1, 1, key, argument)),
    run: (script, key, argument) => answerOf(key, client.eval(script, 1, key, argument)),
  };
}

function ofNodeRedis(client: NodeRedisClient): RedisScripts {
  let wasReady = false;
  return {
    get whyNot() {
      if (!client.isOpen) return 'is not connected: await client.connect()';
      wasReady ||= client.isReady === true;
      return wasReady && !client.isReady ? `is connecting again${failures.get(client) ?? ''}` : undefined;
    },
    runBySha: (sha1, key, argument) => answerOf(key, client.evalSha(sha1, { keys: [key], arguments: [argument] })),
    run: (script, key, argument) => answerOf(key, client.eval(script, { keys: [key], arguments: [argument] })),
  };
}

/** The key holds another type, or a line of the script cannot read its value. After `@` or `-`, Redis 6 tells of a failed command. */
const IS_FOREIGN = /WRONGTYPE|user_script:\d+: (?![@-])/;

/** The answer of a script, whose failure says what to do with a key that holds something else. */
async function answerOf(key: string, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (failure) {
    if (!IS_FOREIGN.test(String(failure))) throw failure;
    throw new Error(`Redis: the key ${key} holds something that this package did not write: delete it`);
  }
}
