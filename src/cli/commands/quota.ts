import type { SyncQuota, SyncQuotaWindow } from '../../sync/index.ts';
import { type Client, type CommonOptions, connect } from '../connect.ts';
import { duration } from '../duration.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { interruptSignal } from '../interrupt.ts';
import { type Terminal, writeText } from '../terminal.ts';

/** Shows what is left of the key's quota; asking the service costs one request. */
export async function quota(options: CommonOptions, terminal: Terminal): Promise<ExitCode> {
  const client = await connect(options, terminal);
  const { signal, stopListening } = interruptSignal(terminal);
  try {
    await askOnce(client, signal);
    const known = client.quota;
    await writeText(terminal.stdout, options.json ? `${JSON.stringify(known)}\n` : describe(known, terminal.now()));
  } finally {
    stopListening();
    client.close();
  }
  return EXIT.done;
}

/** Every answer tells the quota; leaving the list at its first batch spares the rest. */
async function askOnce(client: Client, signal: AbortSignal): Promise<void> {
  for await (const _batch of client.streamInventory({ signal }).batches()) break;
}

function describe({ minute, day, closedUntil }: SyncQuota, nowMs: number): string {
  const closed = closedUntil && closedUntil.getTime() > nowMs ? `nothing can be sent for ${duration(closedUntil.getTime() - nowMs)}\n` : '';
  return `${describeWindow('minute', minute, nowMs)}${describeWindow('day', day, nowMs)}${closed}`;
}

function describeWindow(name: string, { limit, remaining, resetAt }: SyncQuotaWindow, nowMs: number): string {
  const left = limit === undefined ? 'not known' : `${remaining ?? '?'} of ${limit} left`;
  const resets = resetAt ? `, resets in ${duration(Math.max(0, resetAt.getTime() - nowMs))} (${resetAt.toISOString()})` : '';
  return `${name.padEnd(8)}${left}${resets}\n`;
}
