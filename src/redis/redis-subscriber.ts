import { badOption, hasMethods } from '../options/rules.ts';
import { outliveErrors } from './redis-client.ts';

/**
 * A connection of ioredis that only listens.
 *
 * @example
 * const subscriber: IoredisSubscriber = new Redis('redis://127.0.0.1:6379', { lazyConnect: true });
 */
export interface IoredisSubscriber {
  /** How its connection is. */
  readonly status: string;
  /** Listens to a channel, by the event `message`. @throws what the library throws */
  subscribe(channel: string): Promise<unknown>;
}

/**
 * A connection of node-redis that only listens.
 *
 * @example
 * const subscriber: NodeRedisSubscriber = createClient({ url: 'redis://127.0.0.1:6379' });
 */
export interface NodeRedisSubscriber {
  /** Whether it was connected. */
  readonly isOpen: boolean;
  /** Listens to a channel. @throws what the library throws */
  subscribe(channel: string, listener: (message: string) => void): Promise<unknown>;
}

/**
 * A connection of either library that only listens.
 *
 * @example
 * const subscribers: RedisSubscriber[] = [new Redis({ lazyConnect: true }), createClient()];
 */
export type RedisSubscriber = IoredisSubscriber | NodeRedisSubscriber;

/** Listens to a channel: at once with node-redis, through the common event with ioredis. */
export function listen(subscriber: RedisSubscriber, channel: string, hear: (message: string) => void): void {
  const on = (event: string, tell: (...told: unknown[]) => void) => {
    const subscribeTo: unknown = Reflect.get(subscriber, 'on');
    if (typeof subscribeTo === 'function') Reflect.apply(subscribeTo, subscriber, [event, tell]);
  };
  outliveErrors(subscriber);
  if (!('isOpen' in subscriber)) on('message', (from, message) => from === channel && hear(String(message)));
  const subscribed = 'isOpen' in subscriber ? subscriber.subscribe(channel, hear) : subscriber.subscribe(channel);
  // Without it a closed gate is heard at the next lease; both libraries subscribe again by themselves.
  subscribed.catch(ignore);
}

/** @throws ConfigurationError */
export function checkSubscriber(subscriber: unknown): void {
  if (subscriber === undefined || hasMethods(subscriber, ['subscribe'])) return;
  throw badOption('subscriber', 'another connected client of the same library', { shown: subscriber });
}

function ignore(): void {}
