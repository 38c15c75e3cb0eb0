import { Readable, type Writable } from 'node:stream';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import * as z from 'zod/mini';
import { $ZodError } from 'zod/v4/core';
import { readRecord } from '../state.ts';

const LINE_FEED = 0x0a;
const INVALID_REQUEST =
  'Invalid Request: a line must be one message of JSON-RPC 2.0, not a batch, and the id of a request a string or an integer';

/** The SDK's transport over stdin and stdout, which also answers bad lines: the SDK reports them, and cannot send `id: null`. */
export class HostTransport extends StdioServerTransport {
  readonly input: Readable;
  /** The parts of the latest line. */
  #line: Uint8Array[] = [];

  constructor(stdin: AsyncIterable<Uint8Array>, output: Writable) {
    const input = Readable.from(partsOfLines(stdin));
    super(input, output);
    this.input = input.on('data', this.#noteLine);
    this.onerror = (error) => {
      const text = badLineAnswer(Buffer.concat(this.#line).toString(), error);
      if (text) output.write(text);
    };
  }

  override send(message: JSONRPCMessage): Promise<void> {
    return super.send(paramsInWords(message));
  }

  override close(): Promise<void> {
    this.input.off('data', this.#noteLine);
    return super.close();
  }

  readonly #noteLine = (part: Uint8Array): void => {
    if (this.#line.at(-1)?.at(-1) === LINE_FEED) this.#line = [];
    this.#line.push(part);
  };
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
