/** The part of a channel of `diagnostics_channel` that is needed to publish. */
export interface Channel {
  readonly hasSubscribers: boolean;
  publish(message: unknown): void;
}

declare const process: { getBuiltinModule?: (name: 'diagnostics_channel') => { channel(name: string): Channel } | undefined } | undefined;

const channels = new Map<string, Channel | undefined>();

/** The channel of an event, `petstore-inventory:` and its name; undefined where the runtime has none, as in a browser. */
export function channelOf(event: string): Channel | undefined {
  const known = channels.get(event);
  if (known || channels.has(event)) return known;
  const found = openChannel(`petstore-inventory:${event}`);
  channels.set(event, found);
  return found;
}

/** Node, Bun, Deno and workerd have it; no bundler and no browser has to know. */
function openChannel(name: string): Channel | undefined {
  return typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('diagnostics_channel')?.channel(name);
}
