import { badOption, hasMethods } from '../options/rules.ts';
import { outliveErrors } from './redis-client.ts';

/**
 * A connection of ioredis that only listens.
 *
 * @example
 * const subscriber: IoredisSubscriber = new Redis('redis://127.0.0.1:6379', { lazyConnect: true });
 */
export interface IoredisSubscriber {
  /** The state of its connection. */
  readonly status: string;
  /** Listens to a channel, whose messages come with the event `message`. @throws what the library throws */
  subscribe(channel: string): Promise<unknown>;
}

/**
 * A connection of node-redis that only listens.
 *
 * @example
 * const subscriber: NodeRedisSubscriber = createClient({ url: 'redis://127.0.0.1:6379' });
 */
export interface NodeRedisSubscriber {
  /** Whether it was connected and not closed. */
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

type OnMessage = (message: string) => void;

/** Listens to a channel: with a listener of its own in node-redis, with the event of all channels in ioredis. */
export async function listen(subscriber: RedisSubscriber, channel: string, onMessage: OnMessage): Promise<void> {
  try {
    outliveErrors(subscriber);
    if ('isOpen' in subscriber) return void (await subscriber.subscribe(channel, onMessage));
    const channels = channelsOf(subscriber);
    channels.set(channel, [...(channels.get(channel) ?? []), onMessage]);
    await subscriber.subscribe(channel);
  } catch {
    // The process then learns of a closed gate with its next lease. Both libraries subscribe again by themselves.
  }
}

type Channels = Map<string, readonly OnMessage[]>;

const channelsOfSubscribers = new WeakMap<IoredisSubscriber, Channels>();

/** The channels of a subscriber. They share one listener, since Node warns of more than ten. */
function channelsOf(subscriber: IoredisSubscriber): Channels {
  const known = channelsOfSubscribers.get(subscriber);
  if (known) return known;
  const channels: Channels = new Map();
  channelsOfSubscribers.set(subscriber, channels);
  const on: unknown = Reflect.get(subscriber, 'on');
  const onMessage = (channel: string, message: string) => channels.get(channel)?.forEach((tell) => void tell(message));
  if (typeof on === 'function') Reflect.apply(on, subscriber, ['message', onMessage]);
  return channels;
}

/** @throws ConfigurationError */
export function checkSubscriber(subscriber: unknown): void {
  if (subscriber === undefined || hasMethods(subscriber, ['subscribe'])) return;
  throw badOption('subscriber', 'another connected client of the same library', { shown: subscriber });
}
