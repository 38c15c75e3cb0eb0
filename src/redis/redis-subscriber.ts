import { badOption, hasMethods } from '../options/rules.ts';

/** A connection of either library that only listens. */
export interface RedisSubscriber {
  subscribe(channel: string, listener?: (message: string) => void): Promise<unknown>;
}

/** Listens to a channel: at once with node-redis, through the common event with ioredis. */
export function listen(subscriber: RedisSubscriber, channel: string, hear: (message: string) => void): void {
  const on: unknown = Reflect.get(subscriber, 'on');
  const isNodeRedis = hasMethods(subscriber, ['evalSha']);
  if (typeof on === 'function' && !isNodeRedis) {
    Reflect.apply(on, subscriber, ['message', (from: unknown, message: unknown) => from === channel && hear(String(message))]);
  }
  if (typeof on === 'function') Reflect.apply(on, subscriber, ['error', ignore]);
  // Without it a closed gate is heard at the next lease; ioredis and node-redis subscribe again by themselves.
  (isNodeRedis ? subscriber.subscribe(channel, hear) : subscriber.subscribe(channel)).catch(ignore);
}

/** @throws ConfigurationError */
export function checkSubscriber(subscriber: unknown): void {
  if (subscriber === undefined || hasMethods(subscriber, ['subscribe'])) return;
  throw badOption('subscriber', 'another connected client of the same library', { shown: subscriber });
}

function ignore(): void {}
