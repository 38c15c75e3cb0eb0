import type { PetStoreClient } from '../client.ts';
import { type AskedAddress, nameAddress } from './asked-address.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';

/** In an outage every call fails: one line in this time tells of it. */
const QUIET_MS = 2_000;

/** Says that an attempt failed and is made again, once a call at most. Refusals for quota are waits, and told as such. */
export function tellRetries(client: PetStoreClient<'bigint'>, asked: AskedAddress, terminal: Terminal): void {
  const told = new Set<number>();
  let quietUntilMs = 0;
  client.on('retry', ({ callId, error }) => {
    const nowMs = terminal.now();
    if (error.kind === 'rate-limit' || told.has(callId) || nowMs < quietUntilMs) return;
    told.add(callId);
    quietUntilMs = nowMs + QUIET_MS;
    tell(terminal, `petstore: ${error.message}; trying ${nameAddress(asked, error)} again`);
  });
}
