/** The part of a channel of `diagnostics_channel` that is needed to publish. */
export interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

declare const process: { getBuiltinModule: (name: 'diagnostics_channel') => { channel(name: string): Channel } };

const channels = new Map<string, Channel | undefined>();

/** The channel of an event, named `petstore-inventory:` and the event; undefined if the runtime has none, such as a browser. */
export function channelOf(event: string): Channel | undefined {
  if (!channels.has(event)) channels.set(event, findChannel(event));
  return channels.get(event);
}

/**
 * Node, Bun, Deno and workerd have `getBuiltinModule`; unlike an import, it does not break a bundle for a browser. Other runtimes lack it, or
 * throw, as the edge runtime of Next.js does.
 */
function findChannel(event: string): Channel | undefined {
  try {
    return process.getBuiltinModule('diagnostics_channel').channel(`petstore-inventory:${event}`);
  } catch {
    return undefined;
  }
}
