import { badOption, hasMethods } from '../options/rules.ts';
import { listenTo, outliveErrors } from './redis-client.ts';

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
  /** Ends that. Without it, the subscription stays. @throws what the library throws */
  unsubscribe?(channel: string): Promise<unknown>;
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
  /** Ends that. Without it, the subscription stays. @throws what the library throws */
  unsubscribe?(channel: string, listener: (message: string) => void): Promise<unknown>;
}

/**
 * A connection of either library that only listens.
 *
 * @example
 * const subscribers: RedisSubscriber[] = [new Redis({ lazyConnect: true }), createClient()];
 */
export type RedisSubscriber = IoredisSubscriber | NodeRedisSubscriber;

type OnMessage = (message: string) => void;

/** The channels of each subscriber that have a listener. */
const channelsOfSubscribers = new WeakMap<RedisSubscriber, Map<string, Channel>>();

/** Calls `onMessage` with each message of a channel. Returns a function that ends this. Neither throws. */
export function listen(subscriber: RedisSubscriber, { channel: name, onMessage }: { channel: string; onMessage: OnMessage }): () => void {
  const channels = channelsOf(subscriber);
  const channel = channels.get(name) ?? new Channel(subscriber, name);
  channels.set(name, channel);
  channel.add(onMessage);
  return () => channel.remove(onMessage);
}

function channelsOf(subscriber: RedisSubscriber): Map<string, Channel> {
  const known = channelsOfSubscribers.get(subscriber);
  if (known) return known;
  const channels = new Map<string, Channel>();
  channelsOfSubscribers.set(subscriber, channels);
  outliveErrors(subscriber);
  // The channels of ioredis share one listener, since Node warns of more than ten.
  if (!('isOpen' in subscriber)) listenTo(subscriber, 'message', (name: string, message: string) => channels.get(name)?.tell(message));
  return channels;
}

/** A channel, which is subscribed to while it has listeners. */
class Channel {
  readonly #subscriber: RedisSubscriber;
  readonly #name: string;
  readonly #listeners = new Set<OnMessage>();
  #isSubscribed = false;
  // Whether a command has no answer yet. The next one waits for it: node-redis loses a listener that is added while one is removed.
  #isPending = false;
  // Whether a listener came or went after the last command.
  #hasNews = false;

  constructor(subscriber: RedisSubscriber, name: string) {
    this.#subscriber = subscriber;
    this.#name = name;
  }

  readonly tell = (message: string): void => {
    for (const listener of this.#listeners) listener(message);
  };

  add(listener: OnMessage): void {
    this.#listeners.add(listener);
    void this.#adapt();
  }

  remove(listener: OnMessage): void {
    this.#listeners.delete(listener);
    void this.#adapt();
  }

  /**
   * Subscribes if there is a listener, else unsubscribes, and again after the answer if listeners came or went meanwhile. What fails is
   * tried with the next listener.
   */
  async #adapt(): Promise<void> {
    this.#hasNews = true;
    if (this.#isPending) return;
    this.#isPending = true;
    while (this.#hasNews) {
      this.#hasNews = false;
      const isWanted = this.#listeners.size > 0;
      if (isWanted !== this.#isSubscribed) this.#isSubscribed = (await this.#send(isWanted)) && isWanted;
    }
    this.#isPending = false;
    const channels = channelsOf(this.#subscriber);
    if (this.#listeners.size === 0 && channels.get(this.#name) === this) channels.delete(this.#name);
  }

  /** Whether the library accepted the command. Without a subscription, the process learns of a closed gate with its next lease. */
  async #send(isWanted: boolean): Promise<boolean> {
    const [subscriber, name] = [this.#subscriber, this.#name];
    try {
      if ('isOpen' in subscriber) await (isWanted ? subscriber.subscribe(name, this.tell) : subscriber.unsubscribe?.(name, this.tell));
      else await (isWanted ? subscriber.subscribe(name) : subscriber.unsubscribe?.(name));
      return true;
    } catch {
      return false;
    }
  }
}

/** @throws ConfigurationError */
export function checkSubscriber(subscriber: unknown): void {
  if (subscriber === undefined || hasMethods(subscriber, ['subscribe'])) return;
  throw badOption('subscriber', 'another connected client of the same library', { shown: subscriber });
}
