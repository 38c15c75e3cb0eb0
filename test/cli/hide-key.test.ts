import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { KEY } from '../support/client.ts';
import { portOf } from '../support/port-of.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

/** Runs a command with these variables, for the client and for the command line, and gives all that it wrote. */
async function run(words: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const env = { PETSTORE_BASE_URL: 'http://127.0.0.1:1/v1', PETSTORE_API_KEY: KEY, ...variables };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const terminal = new FakeTerminal({ env });
  await runCli(words, terminal);
  return `${terminal.out}${terminal.err}`;
}

describe('the command line hides the key', () => {
  test.each([
    ['set', KEY, '4'],
    ['set', '4', `--${KEY}`],
    ['sync', `./${KEY}.csv`],
    ['list', '--plan', KEY],
    ['list', '--environment', KEY, '--verbose'],
    [KEY],
  ])('that is given as an argument or option (%s %s %s %s)', async (...words) => {
    const written = await run(words);
    expect(written).toMatch(/^petstore: .*\*\*\*/);
    expect(written).not.toContain(KEY);
  });

  test.each(['PETSTORE_LOG', 'PETSTORE_ENVIRONMENT', 'PETSTORE_PLAN'])('that is the value of %s, from doctor too', async (name) => {
    const variables = { [name]: KEY };
    const written = [await run(['list'], variables), await run(['doctor'], variables), await run(['doctor', '--json'], variables)];
    expect(written.map((text) => [text.includes('***'), text.includes(KEY)])).toEqual(Array(3).fill([true, false]));
  });

  test('of a file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-hide-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'key'), `${KEY}\n`);
    const written = await run(['list', '--share', KEY], { PETSTORE_API_KEY: '', PETSTORE_API_KEY_FILE: join(folder, 'key') });
    expect(written).toContain('Cannot use --share ***: it must be');
  });

  test('that is part of the address, from quota and a report too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-hide-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const [stock, report] = [join(folder, 'stock.csv'), join(folder, 'report.txt')];
    writeFileSync(stock, 'petId,quantity\n1,2\n');
    const server = createServer((_request, response) => response.end('[]'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const variables = { PETSTORE_BASE_URL: `http://127.0.0.1:${portOf(server)}/${KEY}/v1` };
    await run(['sync', stock, '--report', report], variables);
    const written = [await run(['quota'], variables), readFileSync(report, 'utf8')];
    expect(written.map((text) => [text.includes('/***/v1'), text.includes(KEY)])).toEqual(Array(2).fill([true, false]));
  });

  test('and nothing else if there is none, or if it is too short for one', async () => {
    expect(await run(['list', '--plan', 'gold'], { PETSTORE_API_KEY: '' })).toContain('Cannot use --plan gold: ');
    expect(await run(['list', '--plan', 'gold'], { PETSTORE_API_KEY: 'gold' })).toContain('Cannot use --plan gold: ');
    expect(await run(['list', '--plan', 'gold'], { PETSTORE_API_KEY: '', PETSTORE_API_KEY_FILE: '/nowhere/key' })).toContain('--plan gold');
  });
});
