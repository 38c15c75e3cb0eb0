import { isPetStoreError } from '../errors.ts';
import type { Client } from './connect.ts';

/** Hears the refusals of a client and tells the latest instant before which they say that there is no quota. */
export function hearQuotaReturn(client: Client): () => Date | undefined {
  let latest: Date | undefined;
  client.on('settled', ({ error }) => {
    if (!isPetStoreError(error) || error.kind !== 'rate-limit' || error.retryAt === undefined) return;
    if (latest === undefined || error.retryAt > latest) latest = error.retryAt;
  });
  return () => latest;
}
