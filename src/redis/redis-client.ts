import { badOption, hasMethods } from '../options/rules.ts';

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
  /** Why no command can be sent now; undefined if one can. */
  readonly whyNot: string | undefined;
  runBySha(sha1: string, key: string, argument: string): Promise<unknown>;
  run(script: string, key: string, argument: string): Promise<unknown>;
}

/** The scripts of a client, whose library is recognised by its methods. @throws ConfigurationError */
export function scriptsOf(client: RedisClient): RedisScripts {
  const scripts = isIoredis(client) ? ofIoredis(client) : isNodeRedis(client) ? ofNodeRedis(client) : undefined;
  if (!scripts) throw badOption('client', 'a client of ioredis or of node-redis (package `redis`)', { shown: client });
  if (scripts.whyNot !== undefined) throw badOption('client', `a client with an open connection, and ${scripts.whyNot}`, { shown: client });
  outliveErrors(client);
  return scripts;
}

function isIoredis(client: unknown): client is IoredisClient {
  return hasMethods(client, ['evalsha', 'eval']);
}

function isNodeRedis(client: unknown): client is NodeRedisClient {
  return hasMethods(client, ['evalSha', 'eval']);
}

/** Clients that already have the listener. */
const outliving = new WeakSet<object>();

/** Adds a listener for a client's errors. Without one, a node-redis client ends the process if Redis fails, which the store reports. */
export function outliveErrors(client: object): void {
  if (outliving.has(client)) return;
  outliving.add(client);
  listenTo(client, 'error', ignore);
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
      if (client.status === 'end') return 'this one was closed: make a new one';
      return client.status === 'reconnecting' || client.status === 'close' ? 'this one has lost it and is connecting again' : undefined;
    },
    runBySha: (sha1, key, argument) => answerOf(key, client.evalsha(sha1, 1, key, argument)),
    run: (script, key, argument) => answerOf(key, client.eval(script, 1, key, argument)),
  };
}

function ofNodeRedis(client: NodeRedisClient): RedisScripts {
  let wasReady = false;
  return {
    get whyNot() {
      if (!client.isOpen) return 'this one is not connected: await client.connect() before';
      wasReady ||= client.isReady === true;
      return wasReady && client.isReady === false ? 'this one has lost it and is connecting again' : undefined;
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

function ignore(): void {}
