import type { PetStoreClient } from '../client.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import type { ClientEvents, WaitReason } from '../events.ts';
import { withoutControls } from '../redactor.ts';
import { type AskedAddress, nameAddress } from './asked-address.ts';
import { duration } from './duration.ts';
import { messageLine } from './explain-error.ts';
import { hideKey } from './hide-key.ts';
import { StatusLine } from './status-line.ts';
import type { Terminal } from './terminal.ts';

/** In an outage every call fails, so at most one line about failures is written in this time. */
const QUIET_MS = 2_000;

/** Shorter waits are not reported. */
const TOLD_WAIT_MS = 2_000;

/** Writes a text to stderr, above the status line, as `messageText` gives it. */
export function tell(terminal: Terminal, text: string): void {
  StatusLine.of(terminal).tell(messageText(text, terminal));
}

/**
 * A text in the form of a message: without the key, with a sign for control characters, such as the \r of a script from Windows, and with
 * the middle of very long lines left out.
 */
export function messageText(text: string, terminal: Terminal): string {
  const lines = hideKey(text, terminal).split('\n');
  return lines.map((line) => withoutMiddle(withoutControls(line, '�'))).join('\n');
}

/** A longer line, such as one that names a value of a megabyte, loses its middle: what to do stands at its end. */
const LONGEST_LINE = 10_000;

function withoutMiddle(line: string): string {
  return line.length <= LONGEST_LINE ? line : `${line.slice(0, 0.8 * LONGEST_LINE)} … ${line.slice(-0.1 * LONGEST_LINE)}`;
}

/** Reports retries, at most one for each call. A rate limit is not reported here, but as a wait. */
export function tellRetries(client: PetStoreClient<'bigint'>, asked: AskedAddress, terminal: Terminal): void {
  const told = new Set<number>();
  let quietUntilMs = 0;
  client.on('retry', ({ callId, error }) => {
    const nowMs = monotonicMs();
    if (error.kind === 'rate-limit' || told.has(callId) || nowMs < quietUntilMs) return;
    told.add(callId);
    quietUntilMs = nowMs + QUIET_MS;
    tell(terminal, `petstore: ${messageLine(error.message)}; trying ${nameAddress(asked, error)} again`);
  });
}

/** Reports that the quota can no longer be shared, so that the command is slower, and that it is shared again. */
export function tellStore(client: PetStoreClient<'bigint'>, terminal: Terminal): void {
  client.on('quotaStore', ({ state, reason }) => {
    const lost = `the quota is not shared, so this run keeps to its part of it: ${messageLine(reason ?? '')}`;
    tell(terminal, `petstore: ${state === 'local' ? lost : 'the quota is shared again'}`);
  });
}

type Wait = Pick<ClientEvents['wait'], 'callId' | 'reason' | 'ms'>;

/** Reports what calls wait for: in the status line until the call is sent or, if that cannot be drawn, in one line for each wait. */
export function tellWaits(client: PetStoreClient<'bigint'>, terminal: Terminal): void {
  if (StatusLine.of(terminal).canDraw) showWaits(client, terminal);
  else writeWaits(client, terminal);
}

function showWaits(client: PetStoreClient<'bigint'>, terminal: Terminal): void {
  const status = StatusLine.of(terminal);
  let toldCall = 0;
  const show = ({ callId, reason, ms }: Wait): void => {
    if (ms < TOLD_WAIT_MS) return;
    toldCall = callId;
    // An instant, since the line is only drawn on events, and a countdown would not move.
    const until = new Date(terminal.now() + ms).toLocaleTimeString('en-GB');
    status.show({ wait: waitText(reason, until) });
  };
  client.on('wait', show);
  // The gate reports here that a wait became longer.
  client.on('queue', show);
  // Only the call that is shown ends its wait: other calls may be sent meanwhile.
  const end = ({ callId }: { callId: number }): void => (callId === toldCall ? status.show({ wait: '' }) : undefined);
  client.on('request', end);
  client.on('settled', end);
}

function writeWaits(client: PetStoreClient<'bigint'>, terminal: Terminal): void {
  let toldUntilMs = 0;
  const write = ({ reason, ms }: Wait): void => {
    const untilMs = monotonicMs() + ms;
    // A backoff is reported as a retry.
    if (reason === 'backoff' || ms < TOLD_WAIT_MS || untilMs < toldUntilMs + TOLD_WAIT_MS) return;
    toldUntilMs = untilMs;
    tell(terminal, `petstore: waiting ${duration(ms)} (${reason})`);
  };
  client.on('wait', write);
  client.on('queue', write);
}

function waitText(reason: WaitReason, until: string): string {
  // The reason is a 429, or a 503 with Retry-After.
  if (reason === 'rate-limit') return `waiting until ${until}, as the service asked`;
  return `waiting for ${reason === 'quota' ? 'quota' : 'the service'} until ${until}`;
}
