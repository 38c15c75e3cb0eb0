import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod/mini';
import { $ZodError } from 'zod/v4/core';
import { type CommonOptions, connect } from '../connect.ts';
import { refuseGiven } from '../contradictions.ts';
import { EXIT, type ExitCode, Interruption } from '../exit-code.ts';
import type { Interrupts } from '../interrupt.ts';
import { type PlanLimits, Plans } from '../mcp/plans.ts';
import { createMcpServer } from '../mcp/server.ts';
import { Unanswered } from '../mcp/unanswered.ts';
import { maxChangesOf } from '../option-values.ts';
import { readRecord, stateFolder } from '../state.ts';
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

const LINE_FEED = 0x0a;
const INVALID_REQUEST =
  'Invalid Request: a line must be one message of JSON-RPC 2.0, not a batch, and the id of a request a string or an integer';

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

const Request = z.object({ id: z.union([z.string(), z.int()]) });
/** Only a response has a result or an error. */
const Response = z.union([z.looseObject({ result: z.unknown() }), z.looseObject({ error: z.unknown() })]);

/**
 * The answer to a line that the SDK does not take: with the id of the request, if it has one (JSON-RPC 2.0, section 5). A response gets none,
 * not even a bad one, since a host that does the same would answer that answer, and so on for ever.
 */
function badLineAnswer(line: string, error: unknown): string {
  if (!(error instanceof SyntaxError || error instanceof $ZodError) || readRecord(Response, line)) return '';
  const failure = error instanceof SyntaxError ? { code: -32700, message: 'Parse error' } : { code: -32600, message: INVALID_REQUEST };
  return `${JSON.stringify({ jsonrpc: '2.0', id: readRecord(Request, line)?.id ?? null, error: failure })}\n`;
}

const Issues = z.array(z.object({ path: z.array(z.union([z.string(), z.number()])), message: z.string() }));

/** A message of the SDK that says in words what is wrong with the params of a request. The SDK says it in JSON, as an internal error. */
function paramsInWords(message: JSONRPCMessage): JSONRPCMessage {
  const issues = 'error' in message && readRecord(Issues, message.error.message);
  if (!issues) return message;
  const why = issues.map(({ path, message: what }) => `${path.join('.')}: ${what}`).join('; ');
  return { ...message, error: { code: -32602, message: `Invalid params: ${why}` } };
}

/** Cuts a stream at the ends of its lines, so that each part belongs to one line. */
async function* partsOfLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of stream) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED) + 1; end > 0; end = chunk.indexOf(LINE_FEED, from) + 1) {
      yield chunk.subarray(from, end);
      from = end;
    }
    if (from < chunk.length) yield chunk.subarray(from);
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
  const input = Readable.from(partsOfLines(terminal.stdin));
  const output = outputOf(terminal, signal);
  const transport = new StdioServerTransport(input, output);
  const unanswered = new Unanswered(transport);
  const send = transport.send.bind(transport);
  transport.send = (message) => send(paramsInWords(message));
  // The SDK reports a bad line and does not answer it; the messages that it sends cannot have `id: null`.
  let line: Uint8Array[] = [];
  const noteLine = (part: Uint8Array): void => {
    if (line.at(-1)?.at(-1) === LINE_FEED) line = [];
    line.push(part);
  };
  input.on('data', noteLine);
  transport.onerror = (error) => {
    const text = badLineAnswer(Buffer.concat(line).toString(), error);
    if (text) output.write(text);
  };
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
  input.once('end', answerLast).once('close', answerLast);
  signal.addEventListener('abort', answerLast, { once: true });
  failWhenClosed(server, reject);
  try {
    await server.connect(transport);
    return await ended;
  } finally {
    input.off('end', answerLast).off('close', answerLast).off('data', noteLine);
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
