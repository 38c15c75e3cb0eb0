import { PassThrough } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import { runCli } from '../../../src/cli/run-cli.ts';
import { FakeTerminal } from './fake-terminal.ts';

/** `petstore mcp` in this process, which a client of the protocol is connected to as to one that it has spawned. */
export class AgentHost implements Transport {
  onclose?: Transport['onclose'];
  onmessage?: Transport['onmessage'];
  readonly #words: readonly string[];
  readonly #terminal: TalkingTerminal;
  #running: Promise<number> | undefined;

  constructor(words: readonly string[], env: Record<string, string>) {
    this.#words = words;
    this.#terminal = new TalkingTerminal(env);
  }

  async start(): Promise<void> {
    let begun = '';
    this.#terminal.said.setEncoding('utf8').on('data', (text: string) => {
      const lines = (begun + text).split('\n');
      begun = lines.pop() ?? '';
      for (const line of lines) this.onmessage?.(JSONRPCMessageSchema.parse(JSON.parse(line)));
    });
    this.#running = runCli(['mcp', ...this.#words], this.#terminal);
  }

  async send(message: object): Promise<void> {
    this.#terminal.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Resolves when the command has ended. */
  async close(): Promise<void> {
    this.#terminal.stdin.end();
    await this.#running;
    this.onclose?.();
  }
}

/** A terminal whose stdin goes on, and whose stdout is read as it comes. */
class TalkingTerminal extends FakeTerminal {
  readonly said = new PassThrough();
  override readonly stdout = Object.assign(this.said, { isTTY: false, columns: 80 });
  readonly #stdin = new PassThrough();

  constructor(env: Record<string, string>) {
    super({ env });
  }

  override get stdin(): PassThrough {
    return this.#stdin;
  }
}
