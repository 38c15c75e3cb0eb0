import { isPetStoreError } from '../errors.ts';
import type { Client } from './connect.ts';

/** What the service said when it refused the key, or had no quota for it. */
export interface Refusals {
  latest(): {
    /** Before this instant there is no quota. */
    retryAt: Date | undefined;
    /** The service's own words, in a sentence; undefined where it was not asked. */
    refusal: string | undefined;
  };
}

/** Hears the refusals of a client. */
export function hearRefusals(client: Client): Refusals {
  let retryAt: Date | undefined;
  let refusal: string | undefined;
  client.on('settled', ({ error }) => {
    if (!isPetStoreError(error) || (error.kind !== 'rate-limit' && error.kind !== 'authentication')) return;
    // Without a status it is the client that refuses, before it asks.
    if (error.status !== undefined) refusal = error.message;
    if (error.retryAt !== undefined && (retryAt === undefined || error.retryAt > retryAt)) retryAt = error.retryAt;
  });
  return { latest: () => ({ retryAt, refusal }) };
}
