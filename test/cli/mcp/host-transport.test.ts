import { expect, test } from 'vitest';
import { runCli } from '../../../src/cli/run-cli.ts';
import { FakeTerminal } from '../support/fake-terminal.ts';

/** The answers of a server whose stdin has these lines, in parts. */
async function answersTo(lines: readonly string[]): Promise<unknown[]> {
  const terminal = new FakeTerminal({ stdin: `${lines.join('\n')}\n` });
  expect(await runCli(['mcp', '--sandbox'], terminal)).toBe(0);
  return terminal.out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

const INVALID = {
  code: -32600,
  message: expect.stringMatching(/^Invalid Request: a line must be one message of JSON-RPC 2.0, not a batch/),
};

test('HostTransport answers a line that is not one message of JSON-RPC with an error, but no response, and goes on', async () => {
  const ping = '{"jsonrpc":"2.0","id":7,"method":"ping"}';
  const responses = ['"error":{"code":-32600,"message":"Invalid Request"}', '"result":5'].map(
    (end) => `{"jsonrpc":"2.0","id":null,${end}}`,
  );
  const failed = (error: object) => ({ jsonrpc: '2.0', id: null, error });
  expect(await answersTo([...responses, 'not JSON', '[]', `[${ping}]`, ping.replace('7', 'null'), ping])).toEqual([
    failed({ code: -32700, message: 'Parse error' }),
    failed(INVALID),
    failed(INVALID),
    failed(INVALID),
    { jsonrpc: '2.0', id: 7, result: {} },
  ]);
});

test('HostTransport answers a bad request with its id, and says in words what is wrong with its params', async () => {
  const bad = [
    { id: 7, method: 5 },
    { id: 'a', method: 'tools/call', params: [1] },
    { id: 1.5, method: 'ping' },
    { id: 8, method: 'tools/call' },
    { id: 9, method: 'tools/call', params: { name: 5 } },
  ].map((request) => JSON.stringify({ jsonrpc: '2.0', ...request }));
  const params = (what: string) => ({ code: -32602, message: `Invalid params: ${what}` });
  expect(await answersTo(bad)).toEqual([
    { jsonrpc: '2.0', id: 7, error: INVALID },
    { jsonrpc: '2.0', id: 'a', error: INVALID },
    { jsonrpc: '2.0', id: null, error: INVALID },
    { jsonrpc: '2.0', id: 8, error: params('params: Invalid input: expected object, received undefined') },
    { jsonrpc: '2.0', id: 9, error: params('params.name: Invalid input: expected string, received number') },
  ]);
});
