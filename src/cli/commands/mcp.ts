import { join, resolve } from 'node:path';
import { Readable, Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { type CommonOptions, connect } from '../connect.ts';
import { refuseGiven } from '../contradictions.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { Interruption, interruptSignal } from '../interrupt.ts';
import { type PlanLimits, Plans } from '../mcp/plans.ts';
import { createMcpServer } from '../mcp/server.ts';
import { maxChangesOf } from '../option-values.ts';
import { stateFolder } from '../state.ts';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface McpOptions extends CommonOptions {
  allowUpdates?: boolean;
  allowNegative?: boolean;
  maxChanges: string;
  journals?: string;
}

/** Less than the time limit of a tool call, which is one minute by default in MCP hosts. */
const MAX_WAIT = '45s';

/** Serves the inventory to an agent by the Model Context Protocol over stdin and stdout, until stdin ends or nobody reads stdout. */
export async function mcp(options: McpOptions, terminal: Terminal): Promise<ExitCode> {
  const maxChanges = maxChangesOf(options);
  if (!options.allowUpdates)
    refuseGiven(
      { '--journals': options.journals, '--allow-negative': options.allowNegative },
      'without --allow-updates: the agent can only read',
    );
  const limits = options.allowUpdates ? { ...limitsOf(options, terminal), maxChanges } : undefined;
  const { client, close } = await connect({ maxWait: MAX_WAIT, ...options }, terminal);
  const { signal, stopListening } = interruptSignal(terminal);
  const input = Readable.from(terminal.stdin);
  const output = outputOf(terminal);
  const server = createMcpServer(client, limits && new Plans(client, limits));
  try {
    const ended = new Promise((end, fail) => {
      input.once('end', end).once('close', end);
      output.on('error', end);
      signal.addEventListener('abort', end, { once: true });
      // Reports every bad message; only one that is too long also closes the server.
      let problem: Error | undefined;
      server.server.onerror = (error) => {
        problem = error;
      };
      server.server.onclose = () => fail(new Error(`Cannot read stdin: ${problem?.message}`, { cause: problem }));
    });
    await server.connect(new StdioServerTransport(input, output));
    await ended;
    return signal.reason instanceof Interruption ? signal.reason.exitCode : EXIT.done;
  } finally {
    await server.close();
    stopListening();
    close();
  }
}

function limitsOf(options: McpOptions, { env, now }: Terminal): Omit<PlanLimits, 'maxChanges'> {
  const state = stateFolder(env, process.platform);
  const journals = options.journals ?? (state && join(state, 'journals'));
  if (journals === undefined) throw new UsageError('Cannot use --allow-updates: there is no folder for journals; name one with --journals');
  // Absolute, since the answers name the journals to a user whose shell is in another folder.
  return { allowNegative: options.allowNegative === true, journals: resolve(journals), now };
}

function outputOf({ stdout }: Terminal): Writable {
  return new Writable({ decodeStrings: false, write: (text: string, _encoding, done) => void stdout.write(text, (error) => done(error)) });
}
