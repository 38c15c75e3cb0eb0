import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { type CommonOptions, connect } from '../connect.ts';
import { refuseGiven } from '../contradictions.ts';
import { EXIT, type ExitCode, Interruption } from '../exit-code.ts';
import { stdinBytes } from '../input/open-input.ts';
import type { Interrupts } from '../interrupt.ts';
import { HostTransport } from '../mcp/host-transport.ts';
import { type PlanLimits, Plans } from '../mcp/plans.ts';
import { createMcpServer } from '../mcp/server.ts';
import { Unanswered } from '../mcp/unanswered.ts';
import { maxChangesOf } from '../option-values.ts';
import { stateFolder } from '../state.ts';
import { tell } from '../tell.ts';
import { PATIENCE_MS, ReaderGoneError, type Terminal, writeText } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface McpOptions extends CommonOptions {
  allowUpdates?: boolean;
  allowNegative?: boolean;
  maxChanges?: string;
  journals?: string;
}

/** The `--max-changes` of a server that may update. */
const MOST_CHANGES = '100';

/** As long as a host waits for an answer. */
const LAST_ANSWERS_MS = 60_000;

/**
 * Serves the inventory to an agent by the Model Context Protocol over stdin and stdout, until stdin ends, nobody reads stdout, or a signal.
 * Calls under way are answered after the end of stdin; else they are aborted, and only updates under way finish.
 */
export async function mcp(options: McpOptions, terminal: Terminal): Promise<ExitCode> {
  const limits = options.allowUpdates ? limitsOf(options, terminal) : undefined;
  if (!limits) refuseUpdating(options);
  const { client, signal, end, close } = await connect(options, terminal);
  // Nobody types the protocol: whoever tries the command at a terminal would see nothing.
  if (terminal.stdout.isTTY) tell(terminal, 'petstore: this server is for an agent, whose host starts it; Ctrl-C ends it');
  const plans = limits && new Plans(client, limits);
  const server = createMcpServer(client, plans, signal);
  let isRead = true;
  try {
    isRead = await serve(server, { terminal, signal, end });
    return exitCodeAt(signal);
  } finally {
    end(new Interruption('the server ends', EXIT.done));
    await plans?.settled();
    await server.close();
    close();
    if (limits?.areKept === false) rmSync(limits.journals, { recursive: true, force: true });
    // What stdout still holds for a host that takes nothing would keep the process. A slow host gets as long as the reader of any command.
    if (!isRead) setTimeout(() => terminal.exit(exitCodeAt(signal)), PATIENCE_MS).unref();
  }
}

function exitCodeAt({ reason }: AbortSignal): ExitCode {
  return reason instanceof Interruption ? reason.exitCode : EXIT.done;
}

interface Serving extends Pick<Interrupts, 'signal' | 'end'> {
  terminal: Terminal;
}

/**
 * Resolves once stdin has ended or the signal is aborted, and every answer is written; or as soon as no answer can be written any more: to
 * false if the host takes none, although its end of stdout is open. @throws an Error for a full disk and the like
 */
async function serve(server: McpServer, { terminal, signal, end }: Serving): Promise<boolean> {
  const output = outputOf(terminal, signal);
  const transport = new HostTransport(stdinBytes(terminal), output);
  const unanswered = new Unanswered(transport);
  const { promise: ended, resolve, reject } = Promise.withResolvers<boolean>();
  output.on('error', (error) => {
    const isUnread = error === signal.reason;
    end(new Interruption('nobody reads stdout', EXIT.done));
    if (isUnread || error instanceof ReaderGoneError) resolve(!isUnread);
    else reject(error);
  });
  let timer: NodeJS.Timeout | undefined;
  const answerLast = (): void => {
    timer ??= setTimeout(() => end(new Interruption('stdin ended a minute ago', EXIT.done)), LAST_ANSWERS_MS);
    unanswered.none().then(() => resolve(true));
  };
  transport.input.once('error', reject).once('end', answerLast).once('close', answerLast);
  signal.addEventListener('abort', answerLast, { once: true });
  failWhenClosed(server, reject);
  try {
    await server.connect(transport);
    return await ended;
  } finally {
    transport.input.off('end', answerLast).off('close', answerLast);
    signal.removeEventListener('abort', answerLast);
    clearTimeout(timer);
  }
}

/** The server reports every bad message; only one that is too long also closes it. */
function failWhenClosed({ server }: McpServer, fail: (error: Error) => void): void {
  let problem: Error | undefined;
  server.onerror = (error) => {
    problem = error;
  };
  server.onclose = () => fail(new Error(`Cannot read stdin: ${problem?.message}`, { cause: problem }));
}

/** @throws UsageError */
function refuseUpdating({ journals, allowNegative, maxChanges }: McpOptions): void {
  refuseGiven(
    { '--journals': journals, '--allow-negative': allowNegative, '--max-changes': maxChanges },
    'without --allow-updates: the agent can only read; add --allow-updates, or leave it out',
  );
}

function limitsOf(options: McpOptions, terminal: Terminal): PlanLimits {
  if (options.sandbox)
    refuseGiven({ '--journals': options.journals }, 'with --sandbox: that sandbox ends with the server, so no plan could be undone');
  const maxChanges = maxChangesOf({ maxChanges: MOST_CHANGES, ...options });
  const journals = options.journals ?? journalsFolder(options, terminal);
  if (journals === undefined) throw new UsageError('Cannot use --allow-updates: there is no folder for journals; name one with --journals');
  // Absolute, since the answers name the journals to a user whose shell is in another folder.
  return {
    maxChanges,
    allowNegative: options.allowNegative === true,
    journals: resolve(journals),
    areKept: !options.sandbox,
    now: terminal.now,
  };
}

/** The folder for journals if none is named; undefined for a user without a home folder. The journals of a sandbox end with it. */
function journalsFolder({ sandbox }: McpOptions, terminal: Terminal): string | undefined {
  if (sandbox) return join(tmpdir(), `petstore-${randomUUID()}`);
  const state = stateFolder(terminal, process.platform);
  return state && join(state, 'journals');
}

/** Fails like `writeText`, so that a host which reads nothing does not keep a server alive that is told to end. */
function outputOf({ stdout }: Terminal, signal: AbortSignal): Writable {
  const write = (text: string, _encoding: unknown, done: (error?: Error) => void) =>
    void writeText(stdout, text, { signal }).then(() => done(), done);
  // Without a buffer of its own, so that the transport waits until each answer is written.
  const output = new Writable({ decodeStrings: false, highWaterMark: 0, write });
  // Each answer that waits for a slow reader is a listener; from the eleventh on Node would warn of a leak.
  return output.setMaxListeners(0);
}
