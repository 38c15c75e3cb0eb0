import type { PetStoreClient } from '../client.ts';

/** Where a failed call was sent. */
const addresses = new WeakMap<object, string>();

/** Lets the failures of a client tell which address was asked. */
export function noteAddress(client: PetStoreClient<'bigint'>, address: string): void {
  client.on('settled', ({ error }) => {
    if (typeof error === 'object' && error !== null) addresses.set(error, address);
  });
}

/** The address that was asked, and in brackets the option or variable that gave it. */
export function askedAddress(error: object): string | undefined {
  return addresses.get(error);
}
