import type { PetStoreClient } from '../client.ts';
import type { NamedProxy } from '../options/proxy.ts';

/** The address that a client uses, and the option or variable that set it. */
export interface AskedAddress {
  address: string;
  source: string;
  /** The proxy through which requests to the address go; undefined if there is none. */
  proxy: NamedProxy | undefined;
}

/** The address for each error with which a call failed. */
const addresses = new WeakMap<object, AskedAddress>();

/** Remembers for every error of the client's calls the address to which the call was sent. */
export function noteAddress(client: PetStoreClient<'bigint'>, asked: AskedAddress): void {
  client.on('settled', ({ error }) => {
    if (typeof error === 'object' && error !== null) addresses.set(error, asked);
  });
}

/** The proxy through which a failed call was sent; undefined if there was none. */
export function askedProxy(error: Error): NamedProxy | undefined {
  return addresses.get(error)?.proxy;
}

/** The address to which the call was sent, as `nameAddress` gives it. */
export function askedAddress(error: Error): string | undefined {
  const asked = addresses.get(error);
  return asked && nameAddress(asked, error);
}

/** The option or variable that set the address. If the error does not name the host, the address comes first. */
export function nameAddress({ address, source }: AskedAddress, { message }: Error): string {
  return message.includes(new URL(address).host) ? source : `${address} (${source})`;
}
