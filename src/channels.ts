/** The part of a channel of `diagnostics_channel` that is needed to publish. */
export interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

declare const process: { getBuiltinModule?: (name: 'diagnostics_channel') => { channel(name: string): Channel } | undefined } | undefined;

const channels = new Map<string, Channel | undefined>();

/** The channel of an event, named `petstore-inventory:` and the event; undefined if the runtime has none, such as a browser. */
export function channelOf(event: string): Channel | undefined {
  if (!channels.has(event)) {
    // Node, Bun, Deno and workerd have `getBuiltinModule`; unlike an import, it does not break a bundle for a browser.
    const found = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('diagnostics_channel');
    channels.set(event, found?.channel(`petstore-inventory:${event}`));
  }
  return channels.get(event);
}
