import { badOption, hasMethods } from '../options/rules.ts';

/** A client of ioredis, or its Cluster. */
export interface IoredisClient {
  readonly status: string;
  /** Runs a script that Redis knows. */
  evalsha(sha1: string, numberOfKeys: number, key: string, argument: string): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, numberOfKeys: number, key: string, argument: string): Promise<unknown>;
}

/** How node-redis takes what a script is given. */
export interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/** A client of node-redis, or its cluster. */
export interface NodeRedisClient {
  readonly isOpen: boolean;
  readonly isReady?: boolean;
  /** Runs a script that Redis knows. */
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  /** Runs a script. */
  eval(script: string, options: ScriptArguments): Promise<unknown>;
}

/** A connected client of one of the two libraries. */
export type RedisClient = IoredisClient | NodeRedisClient;

/** What the store needs of a client of either library. */
export interface RedisScripts {
  /** Where not: why a command cannot even be tried. */
  readonly whyNot: string | undefined;
  runBySha(sha1: string, key: string, argument: string): Promise<unknown>;
  run(script: string, key: string, argument: string): Promise<unknown>;
}

/** Tells the two libraries apart by their shape. @throws ConfigurationError */
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

/** Clients that have the listener. */
const outliving = new WeakSet<object>();

/** A node-redis client without a listener for its errors ends the process when Redis goes away; the store tells it as a warning. */
export function outliveErrors(client: object): void {
  const on: unknown = Reflect.get(client, 'on');
  if (outliving.has(client) || typeof on !== 'function') return;
  outliving.add(client);
  Reflect.apply(on, client, ['error', ignore]);
}

function ofIoredis(client: IoredisClient): RedisScripts {
  return {
    get whyNot() {
      if (client.status === 'end') return 'this one was closed: make a new one';
      return client.status === 'reconnecting' || client.status === 'close' ? 'this one has lost it and is connecting again' : undefined;
    },
    runBySha: (sha1, key, argument) => client.evalsha(sha1, 1, key, argument),
    run: (script, key, argument) => client.eval(script, 1, key, argument),
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
    runBySha: (sha1, key, argument) => client.evalSha(sha1, { keys: [key], arguments: [argument] }),
    run: (script, key, argument) => client.eval(script, { keys: [key], arguments: [argument] }),
  };
}

function ignore(): void {}
