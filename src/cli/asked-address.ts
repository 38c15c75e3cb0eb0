import type { PetStoreClient } from '../client.ts';
import type { NamedProxy } from '../options/proxy.ts';

/** The address that was asked, and the option or variable that gave it. */
export interface AskedAddress {
  address: string;
  source: string;
  /** The proxy through which it is asked; undefined where there is none. */
  proxy: NamedProxy | undefined;
}

/** Where a failed call was sent. */
const addresses = new WeakMap<object, AskedAddress>();

/** Lets the failures of a client tell which address was asked. */
export function noteAddress(client: PetStoreClient<'bigint'>, asked: AskedAddress): void {
  client.on('settled', ({ error }) => {
    if (typeof error === 'object' && error !== null) addresses.set(error, asked);
  });
}

/** The proxy through which a failed call was sent; undefined where there was none. */
export function askedProxy(error: Error): NamedProxy | undefined {
  return addresses.get(error)?.proxy;
}

/** The address that was asked, as `nameAddress` gives it. */
export function askedAddress(error: Error): string | undefined {
  const asked = addresses.get(error);
  return asked && nameAddress(asked, error);
}

/** What gave the address, after the address itself where the error does not name its host. */
export function nameAddress({ address, source }: AskedAddress, { message }: Error): string {
  return message.includes(new URL(address).host) ? source : `${address} (${source})`;
}
