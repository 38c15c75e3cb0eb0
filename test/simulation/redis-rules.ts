import { isDeepStrictEqual } from 'node:util';
import type { Redis } from 'ioredis';
import { LEASE_SCRIPT } from '../../src/redis/lease-script.ts';
import type { Exchange } from './lease-model.ts';

const NAME = 'petstore:states';
/** So many exchanges travel at once. */
const BATCH = 500;

/** Holds exchanges against the script in a Redis, which is given the same record, request and time. */
export class RedisRules {
  /** Exchanges that Redis answered otherwise, or after which it kept another record. */
  readonly different: string[] = [];
  compared = 0;
  readonly #client: Redis;
  readonly #sha1: string;
  #waiting: Exchange[] = [];

  private constructor(client: Redis, sha1: string) {
    this.#client = client;
    this.#sha1 = sha1;
  }

  static async load(client: Redis): Promise<RedisRules> {
    return new RedisRules(client, String(await client.script('LOAD', LEASE_SCRIPT)));
  }

  async compare(exchange: Exchange): Promise<void> {
    if (this.#waiting.push(exchange) >= BATCH) await this.flush();
  }

  /** Compares what waits to travel. */
  async flush(): Promise<void> {
    const exchanges = this.#waiting;
    this.#waiting = [];
    const pipeline = this.#client.pipeline();
    for (const { before, request, nowMs } of exchanges) {
      pipeline.set(NAME, JSON.stringify(before));
      pipeline.evalsha(this.#sha1, 1, NAME, JSON.stringify({ ...request, channel: NAME }), String(nowMs));
      pipeline.get(NAME);
    }
    const replies = (await pipeline.exec()) ?? [];
    for (const [index, exchange] of exchanges.entries()) this.#judge(exchange, replies.slice(3 * index + 1, 3 * index + 3));
    this.compared += exchanges.length;
  }

  #judge({ before, request, nowMs, response, after }: Exchange, replies: readonly (readonly [Error | null, unknown])[]): void {
    const [answered, kept] = replies.map(([error, text]) => (error ? error.message : JSON.parse(String(text))));
    if (isDeepStrictEqual(answered, response) && isDeepStrictEqual(kept, JSON.parse(JSON.stringify(after)))) return;
    this.different.push(JSON.stringify({ before, request, nowMs, response, answered, after, kept }));
  }
}
