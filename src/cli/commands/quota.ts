import { isPetStoreError, type PetStoreFailure } from '../../errors.ts';
import { keyFromVariables } from '../../options/client-options.ts';
import type { Quota, WindowQuota } from '../../quota/ledger/quota.ts';
import { type Client, type CommonOptions, connect } from '../connect.ts';
import { refuseSharing } from '../contradictions.ts';
import { duration } from '../duration.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { explainError } from '../explain-error.ts';
import { hideKey } from '../hide-key.ts';
import type { SharedState } from '../state.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface QuotaCommandOptions extends CommonOptions {
  reset?: boolean;
}

/** Shows what is left of the key's quota, at the cost of one request, or of none if nothing can be sent. */
export async function quota(options: QuotaCommandOptions, terminal: Terminal): Promise<ExitCode> {
  refuseSharing({ '--reset': options.reset }, options);
  const needsState = options.reset ? '--reset' : undefined;
  const { client, state, environment, signal, close } = await connect(options, terminal, { needsState });
  const serviceClock = observeClock(client, terminal);
  try {
    if (options.reset) return await reset({ client, state, options, terminal });
    const refusal = await askOnce(client, signal);
    // That other runs have used up the window is known from the refusal alone.
    const closedUntil = client.quota.closedUntil ?? refusal?.retryAt;
    const asked = { environment, address: hideKey(client.baseUrl, terminal), ...client.quota, closedUntil };
    const text = textOf(asked, options, { nowMs: terminal.now(), serviceNowMs: serviceClock() });
    await writeResult(terminal.stdout, text, { signal, outcome: refusal && explainError(refusal) });
    if (refusal) throw refusal;
  } finally {
    close();
  }
  return EXIT.done;
}

/** The service's clock in milliseconds since 1970, by the Date header of its last answer; before the first one, this machine's clock. */
function observeClock(client: Client, { now }: Terminal): () => number {
  let aheadMs = 0;
  client.on('response', ({ date }) => {
    if (date) aheadMs = date.getTime() - now();
  });
  return () => now() + aheadMs;
}

interface Reset {
  client: Client;
  state: SharedState | undefined;
  options: QuotaCommandOptions;
  terminal: Terminal;
}

/** Deletes what runs share about the key's quota, such as until when the key is closed. The service's own count does not change. */
async function reset({ client, state, options, terminal }: Reset): Promise<ExitCode> {
  const source = keyFromVariables();
  const apiKey = typeof source === 'function' ? await source() : source;
  if (!state || apiKey === undefined) throw new UsageError('Cannot use --reset: this run shares nothing with others; give --quota-store');
  await state.forget({ address: client.baseUrl, apiKey });
  const outcome = `forgotten: the quota of this key in ${state.name}`;
  const text = options.json ? JSON.stringify({ forgotten: true, store: state.name }) : outcome;
  await writeResult(terminal.stdout, `${text}\n`, { outcome });
  return EXIT.done;
}

/**
 * Every answer reports the quota, so the rest of the list after the first batch is not read. Returns the error if the key is closed or
 * used up: what is known of it can still be shown.
 */
async function askOnce(client: Client, signal: AbortSignal): Promise<PetStoreFailure | undefined> {
  try {
    for await (const _batch of client.streamInventory({ signal }).batches()) break;
    return undefined;
  } catch (error) {
    if (isPetStoreError(error) && (error.kind === 'rate-limit' || client.quota.closedUntil)) return error;
    throw error;
  }
}

/** What an answer reported of a window. If no answer did, `atMost` bounds what is left, since other programs may use the key. */
interface Known {
  limit: number | undefined;
  /** Null if no answer reported it. */
  remaining: number | null;
  atMost?: number | undefined;
  resetAt?: Date | undefined;
}

/** A window without a reset was not reported by any header. `isReported` says whether any window was. */
function knownOf({ limit, remaining, resetAt }: WindowQuota, isReported: boolean): Known {
  if (resetAt !== undefined) return { limit, remaining: remaining ?? null, resetAt };
  return isReported ? { limit, remaining: null, atMost: remaining } : { limit: undefined, remaining: null };
}

/** The opening of a closed key is an instant of this machine's clock, a window's reset one of the service's clock. */
interface Clocks {
  nowMs: number;
  serviceNowMs: number;
}

/** The quota with its environment and address. */
interface AskedQuota extends Quota {
  environment: string;
  address: string;
}

function textOf({ environment, address, ...quota }: AskedQuota, { json }: CommonOptions, { nowMs, serviceNowMs }: Clocks): string {
  const isReported = quota.minute.resetAt !== undefined || quota.day.resetAt !== undefined;
  const [minute, day] = [knownOf(quota.minute, isReported), knownOf(quota.day, isReported)];
  if (json) return `${JSON.stringify({ environment, address, minute, day, closedUntil: quota.closedUntil })}\n`;
  const closedMs = (quota.closedUntil?.getTime() ?? 0) - nowMs;
  const closed = closedMs > 0 ? `nothing can be sent for ${duration(closedMs)}\n` : '';
  const asked = `of ${environment}, ${address}\n`;
  return `${asked}${describeWindow('minute', minute, serviceNowMs)}${describeWindow('day', day, serviceNowMs)}${closed}`;
}

function describeWindow(name: string, { limit, remaining, atMost, resetAt }: Known, nowMs: number): string {
  const of = limit === undefined ? '' : ` of ${limit}`;
  const bound = atMost === undefined ? '' : ` (at most ${atMost}${of})`;
  const left = remaining === null ? `unknown${bound}` : `${remaining}${of} left`;
  const resets = resetAt ? `, resets in ${duration(Math.max(0, resetAt.getTime() - nowMs))} (${resetAt.toISOString()})` : '';
  return `${name.padEnd(8)}${left}${resets}\n`;
}
