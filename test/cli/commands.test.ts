import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { stateFolder } from '../../src/cli/state.ts';
import { type ServedSandbox, serveSandbox } from '../../src/node/serve.ts';
import { StockView } from '../../src/view/index.ts';
import { portOf } from '../support/port-of.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

let served: ServedSandbox;

beforeAll(async () => {
  served = await serveSandbox({
    pets: [
      { petId: 1, quantity: 5, status: 'available' },
      { petId: 2, quantity: 7, status: 'sold' },
      { petId: 2n ** 60n + 1n, quantity: 0, status: 'pending' },
    ],
  });
});

afterAll(() => served.close());

beforeEach(() => {
  vi.stubEnv('PETSTORE_BASE_URL', served.url);
  vi.stubEnv('PETSTORE_API_KEY', served.keys.pro);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  served.sandbox.faults.clear();
});

async function run(words: string[], terminal = new FakeTerminal()): Promise<{ code: number; out: string; err: string }> {
  const code = await runCli(words, terminal);
  return { code, out: terminal.out, err: terminal.err };
}

test.each([
  [['list', '--sandbox', '--plan', 'x'.repeat(1e6)], /^petstore: Cannot use --plan x{7000,} … x+: it must be one of free, .*\n$/],
  [['list', '--sandbox', `--${'x'.repeat(1e6)}`], /^petstore: unknown option '--x{7000,} … x+'\n$/],
])('A message loses the middle of a long value, and keeps what to do', async (words, expected) => {
  const terminal = new FakeTerminal();
  expect(await runCli(words, terminal)).toBe(2);
  expect(terminal.err).toMatch(expected);
  expect(terminal.err.length).toBeLessThan(10_000);
});

describe('petstore get', () => {
  test('writes one pet with its exact id', async () => {
    expect(await run(['get', '2'])).toEqual({ code: 0, out: 'pet 2: 7 (sold)\n', err: '' });
    const { out } = await run(['get', '1152921504606846977', '--json']);
    expect(out).toBe('{"petId":1152921504606846977,"quantity":0,"status":"pending"}\n');
  });

  test.each([
    ['99', 1, /Cannot get pet 99: the list of the stock has no such pet/],
    ['one', 2, /Cannot use "one" as petId: it must be an integer/],
    ['9223372036854775808', 2, /Cannot use 9223372036854775808 as petId: it is beyond int64\n$/],
  ])('says why there is no pet %s', async (petId, code, err) => {
    expect(await run(['get', petId])).toEqual({ code, out: '', err: expect.stringMatching(err) });
  });
});

test('--base-url is the address of staging if PETSTORE_ENVIRONMENT says so', async () => {
  vi.stubEnv('PETSTORE_BASE_URL', undefined);
  vi.stubEnv('PETSTORE_ENVIRONMENT', 'staging');
  const terminal = new FakeTerminal({ env: { PETSTORE_ENVIRONMENT: 'staging' } });
  expect(await run(['get', '2', '--base-url', served.url], terminal)).toEqual({ code: 0, out: 'pet 2: 7 (sold)\n', err: '' });
});

describe('petstore watch', () => {
  const FAST = { requestsPerMinute: 100_000, requestsPerDay: 100_000_000 };

  /** Starts a watch, changes pet 1 while it runs, and interrupts it when it has written so much. */
  async function watching(words: string[], until: RegExp): Promise<{ code: number; out: string; err: string }> {
    // Its own, since half of its quota is spent.
    const { url, keys, sandbox, close } = await serveSandbox({ pets: [{ petId: 1, quantity: 5 }], plans: { business: FAST } });
    vi.stubEnv('PETSTORE_BASE_URL', url);
    vi.stubEnv('PETSTORE_API_KEY', keys.business);
    const terminal = new FakeTerminal();
    const running = run(['watch', '--plan', 'unlimited', '--no-state', ...words], terminal);
    await expect.poll(() => sandbox.report().requests).toBeGreaterThan(1);
    sandbox.inventory.set(1, { quantity: 20 });
    const lists = sandbox.report().requests;
    await expect.poll(() => sandbox.report().requests).toBeGreaterThan(lists + 1);
    sandbox.inventory.set(1, { quantity: 5 });
    await expect.poll(() => terminal.out).toMatch(until);
    terminal.interrupt();
    return running.finally(close);
  }

  test('writes each change until it is interrupted, with a list a second if the plan has no limit', async () => {
    const changes = vi.spyOn(StockView.prototype, 'changes');
    onTestFinished(() => changes.mockRestore());
    const { code, out, err } = await watching([], /-> 5/);
    expect(changes).toHaveBeenCalledWith(expect.objectContaining({ maxAgeMs: 1_000 }));
    expect(out).toBe('pet 1: 5 (available) -> 20 (available)\npet 1: 20 (available) -> 5 (available)\n');
    expect({ code, err }).toEqual({ code: 130, err: 'petstore: interrupted\n' });
  });

  test('writes the pets that are below a quantity now, as JSON', async () => {
    const { out } = await watching(['--below', '10', '--status', 'available', '--json'], /\n/);
    const [before, after] = [20, 5].map((quantity) => `{"petId":1,"quantity":${quantity},"status":"available"}`);
    expect(out).toBe(`{"petId":1,"before":${before},"after":${after}}\n`);
  });

  test('says that no pet has an unknown status, without a list of its own', async () => {
    const before = served.sandbox.requests.length;
    const terminal = new FakeTerminal();
    const running = run(['watch', '--no-state', '--json', '--status', 'availble'], terminal);
    await expect.poll(() => terminal.err).toBe('petstore: no pet has the status "availble"; known are available, pending, sold\n');
    terminal.interrupt();
    expect((await running).code).toBe(130);
    expect(served.sandbox.requests.length - before).toBe(1);
  });

  test('says until when a closed key keeps it from listing', async () => {
    const closed = await serveSandbox({ faults: [{ status: 429, headers: { 'retry-after': '3600' } }] });
    vi.stubEnv('PETSTORE_BASE_URL', closed.url);
    vi.stubEnv('PETSTORE_API_KEY', closed.keys.pro);
    const terminal = new FakeTerminal();
    const running = run(['watch', '--no-state'], terminal);
    await expect.poll(() => terminal.err).toMatch(/^petstore: .*answered 429.* until 20\S+Z\); watching again then\n$/);
    terminal.interrupt();
    expect((await running).code).toBe(130);
    await closed.close();
  });
});

describe('petstore list', () => {
  test('writes a table whose ids are exact', async () => {
    const { code, out, err } = await run(['list']);
    expect(out).toBe(
      [
        '     petId    quantity  status',
        '         1           5  available',
        '         2           7  sold',
        '1152921504606846977           0  pending',
        '',
      ].join('\n'),
    );
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  test('writes JSON whose ids are numbers, however long', async () => {
    const { out } = await run(['list', '--json', '--status', 'pending']);
    expect(out).toBe('[\n  {"petId":1152921504606846977,"quantity":0,"status":"pending"}\n]\n');
  });

  test.each([
    [['--json'], '[]\n'],
    [['--csv'], 'petId,quantity,status\n'],
    [[], '     petId    quantity  status\n'],
  ])('says which statuses are known when nothing has one that is not, with %j', async (format, out) => {
    const err = 'petstore: no pet has the status "availble"; known are available, pending, sold\n';
    expect(await run(['list', ...format, '--status', 'availble'])).toEqual({ code: 0, out, err });
  });

  test('says nothing of a status that only the service knows, or that no pet has now', async () => {
    const items = JSON.stringify([{ petId: 1, quantity: 2, status: 'lost' }]);
    const json = { 'content-type': 'application/json' };
    served.sandbox.faults.add({ times: 2, status: 200, body: items, headers: json });
    expect(await run(['list', '--csv', '--status', 'lost'])).toEqual({ code: 0, out: 'petId,quantity,status\n1,2,lost\n', err: '' });
    expect(await run(['list', '--csv', '--status', 'sold'])).toEqual({ code: 0, out: 'petId,quantity,status\n', err: '' });
    served.sandbox.faults.add({ times: 1, status: 200, body: items, headers: json });
    expect((await run(['list', '--csv', '--status', 'lots'])).err).toMatch(/; known are available, pending, sold, lost\n$/);
  });

  test.each([[['--json']], [['--csv']], [[]]])('with %j writes nothing when it fails', async (words) => {
    vi.stubEnv('PETSTORE_API_KEY', 'wrong');
    expect(await run(['list', ...words])).toMatchObject({ code: 3, out: '' });
  });

  test('writes an empty list of an empty store', async () => {
    const empty = await serveSandbox({ pets: [] });
    vi.stubEnv('PETSTORE_BASE_URL', empty.url);
    vi.stubEnv('PETSTORE_API_KEY', empty.keys.pro);
    expect((await run(['list', '--json'])).out).toBe('[]\n');
    expect((await run(['list', '--csv'])).out).toBe('petId,quantity,status\n');
    await empty.close();
  });

  test('writes CSV', async () => {
    expect((await run(['list', '--csv', '--status', 'sold'])).out).toBe('petId,quantity,status\n2,7,sold\n');
  });

  test.each([
    [true, '�2J'],
    [false, '\u009b2J'],
  ])('writes a status with control characters to a terminal (%s) as CSV that cannot move its cursor', async (isTTY, status) => {
    const body = JSON.stringify([{ petId: 1, quantity: 2, status: '\u009b2J' }]);
    served.sandbox.faults.add({ times: 1, status: 200, body, headers: { 'content-type': 'application/json' } });
    expect((await run(['list', '--csv'], new FakeTerminal({ isTTY }))).out).toBe(`petId,quantity,status\n1,2,${status}\n`);
  });

  test('needs no key with --sandbox', async () => {
    vi.stubEnv('PETSTORE_API_KEY', '');
    vi.stubEnv('PETSTORE_BASE_URL', '');
    const { code, out } = await run(['list', '--sandbox']);
    expect(code).toBe(0);
    expect(out.split('\n')).toHaveLength(14);
  });

  test.each([
    [{}, true],
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'dumb' }, false],
  ])('uses colour at a terminal with the environment %o: %s', async (env, isPainted) => {
    const { out, err } = await run(['list'], new FakeTerminal({ isTTY: true, env }));
    expect(out.includes('\u001b[')).toBe(isPainted);
    expect(err).toBe('3 pets\n');
  });

  test.each(['EPIPE', 'EOF'])('ends quietly when the reader of its output has closed it (%s)', async (stdoutError) => {
    expect(await run(['list'], new FakeTerminal({ stdoutError }))).toMatchObject({ code: 0, err: '' });
  });

  test('reports a full disk', async () => {
    const { code, err } = await run(['list'], new FakeTerminal({ stdoutError: 'ENOSPC' }));
    expect({ code, err }).toEqual({ code: 1, err: 'petstore: Cannot write to stdout: ENOSPC: write (--verbose shows more)\n' });
  });

  test('ends with 130 when it is interrupted', async () => {
    const terminal = new FakeTerminal();
    const interruptSoon = (): boolean => {
      setTimeout(() => terminal.interrupt(), 5);
      return true;
    };
    served.sandbox.faults.add({ fail: 'stall', when: interruptSoon });
    expect(await run(['list'], terminal)).toMatchObject({ code: 130, err: 'petstore: interrupted\n' });
  });
});

describe('petstore set', () => {
  test('sets a quantity, and a negative one only with --allow-negative', async () => {
    expect(await run(['set', '1', '-3', '--allow-negative'])).toEqual({ code: 0, out: 'pet 1: -3 (available)\n', err: '' });
    expect(await run(['set', '1', '-3'])).toEqual({
      code: 2,
      out: '',
      err: 'petstore: Cannot use -3 as quantity: a stock below zero is probably a mistake; correct it, or allow it with --allow-negative\n',
    });
    expect((await run(['set', '1', '5', '--json'])).out).toBe('{"petId":1,"quantity":5,"status":"available"}\n');
  });

  test.each([
    [[], 'pet 1: 6 (available)\n'],
    [['--json'], '{"petId":1,"quantity":6,"status":"available"}\n'],
  ])('%j ends with 4 if the answer has another quantity, and names both', async (options, out) => {
    const body = '{"petId":1,"quantity":6,"status":"available"}';
    served.sandbox.faults.add({ times: 1, status: 200, body, headers: { 'content-type': 'application/json' } });
    expect(await run(['set', '1', '5', ...options])).toEqual({
      code: 4,
      out,
      err: 'petstore: Cannot confirm the update of pet 1: the service answered with the quantity 6, not 5\n',
    });
  });

  test('says that the quantity was set if its answer cannot be written', async () => {
    served.sandbox.inventory.set(1, { quantity: 8 });
    const set = (stdoutError: string) => run(['set', '1', '5'], new FakeTerminal({ stdoutError }));
    const err = 'petstore: Cannot write to stdout: ENOSPC: write; pet 1 was set to 5 (--verbose shows more)\n';
    expect(await set('ENOSPC')).toEqual({ code: 1, out: '', err });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(5);
    expect(await set('EPIPE')).toEqual({ code: 0, out: '', err: '' });
  });

  test('that is not confirmed does not say that the quantity was set, although its answer cannot be written', async () => {
    const body = '{"petId":1,"quantity":6,"status":"available"}';
    served.sandbox.faults.add({ times: 1, status: 200, body, headers: { 'content-type': 'application/json' } });
    const { code, err } = await run(['set', '1', '5'], new FakeTerminal({ stdoutError: 'ENOSPC' }));
    expect({ code, lines: err.split('\n') }).toEqual({
      code: 1,
      lines: [
        'petstore: Cannot confirm the update of pet 1: the service answered with the quantity 6, not 5',
        'petstore: Cannot write to stdout: ENOSPC: write (--verbose shows more)',
        '',
      ],
    });
  });

  test('that is interrupted says whether the quantity may have been set', async () => {
    served.sandbox.faults.add({ fail: 'stall' });
    const { requests } = served.sandbox.report();
    const terminal = new FakeTerminal();
    const running = run(['set', '1', '5'], terminal);
    await expect.poll(() => served.sandbox.report().requests).toBeGreaterThan(requests);
    terminal.interrupt();
    expect(await running).toEqual({ code: 130, out: '', err: 'petstore: interrupted: pet 1 may have been set to 5\n' });
  });

  test('that is interrupted before any attempt was connected does not say so', async () => {
    const gone = await serveSandbox();
    await gone.close();
    const terminal = new FakeTerminal();
    const running = run(['set', '1', '5', '--base-url', gone.url], terminal);
    await expect.poll(() => terminal.err).toContain('trying --base-url again');
    terminal.interrupt();
    expect(await running).toMatchObject({ code: 130, err: expect.stringMatching(/again\npetstore: interrupted\n$/) });
  });

  test('that fails says whether it may have been applied', async () => {
    served.sandbox.faults.add({ times: 1, status: 200, body: 'x' });
    const { code, err } = await run(['set', '1', '5']);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining('; it may have been applied; check that') });
    expect((await run(['set', '99', '5'])).err).not.toContain('applied');
  });

  test.each([
    [['set', 'one', '5'], 2, 'petstore: Cannot use "one" as petId: it must be an integer\n'],
    [['set', '9223372036854775808', '5'], 2, 'petstore: Cannot use 9223372036854775808 as petId: it is beyond int64\n'],
    [['set', '1', '−5'], 2, 'petstore: Cannot use "−5" as quantity: it must be an integer: write the minus as "-", not as U+2212\n'],
    [['set', '1', '5.5'], 2, 'petstore: Cannot use "5.5" as quantity: it must be an integer\n'],
    [['set', '1', '9007199254740993'], 2, 'petstore: Cannot use 9007199254740993 as quantity: it is beyond ±(2^53−1)\n'],
    [['set', '1'], 2, "petstore: missing required argument 'quantity'\n"],
    [['set', '1', '5', '--bad'], 2, "petstore: unknown option '--bad'\n"],
    [['set', '1', '5', '--base-ur=x'], 2, "petstore: unknown option '--base-ur=…' (Did you mean --base-url?)\n"],
    [
      ['set', '1', '5', "--api-key=it's-secret"],
      2,
      /^petstore: unknown option '--api-key=…': no option takes the key: set PETSTORE_API_KEY\n$/,
    ],
    [
      ['set', '1', '5', '--api-key', 'secret'],
      2,
      /^petstore: unknown option '--api-key': no option takes the key: set PETSTORE_API_KEY\n$/,
    ],
    [['set', '1', '5', '--json=secret'], 2, /^petstore: unknown option '--json=…'\n$/],
    [['set', '1', '5', '-ksecret'], 2, /^petstore: unknown option '-k…'\n$/],
    [['set', '1', '5', '-1secret'], 2, /^petstore: unknown option '-1…'\n$/],
    [['set', '1', '5', '-k'], 2, /^petstore: unknown option '-k'\n$/],
    [
      ['set', '1', '5', '--plan', 'gold'],
      2,
      'petstore: Cannot use --plan gold: it must be one of free, pro, business, unlimited, or requests a minute and a day such as 5000/1000000\n',
    ],
    [['set', '1', '5', '--environment', 'staging'], 2, /Cannot make a client without the staging address.*PETSTORE_STAGING_BASE_URL/],
    [['list', 'psk_secret'], 2, "petstore: too many arguments for 'list': it takes 0, but got 1\n"],
    [['set', '1', '5', 'secret', 'x'], 2, "petstore: too many arguments for 'set': it takes 2, but got 4\n"],
    [['sk-secret1'], 2, "petstore: unknown command '…'\n"],
    [["it's-secret"], 2, "petstore: unknown command '…'\n"],
    [['secret-secret-secret-s'], 2, "petstore: unknown command '…'\n"],
    [['lits'], 2, "petstore: unknown command 'lits' (Did you mean list?)\n"],
  ])('%j ends with %i and one line', async (words, code, line) => {
    const result = await run(words);
    expect(result.code).toBe(code);
    expect(result.err).toMatch(line);
    expect(result.err.trimEnd()).not.toContain('\n');
  });

  test('says which pets do not exist', async () => {
    const { code, err } = await run(['set', '99', '5']);
    expect(code).toBe(1);
    expect(err).toMatch(/^petstore: Cannot update pet 99: .*`petstore list` shows which pets exist \(--verbose shows more\)\n$/);
  });

  test('reaches staging by its own address', async () => {
    const { code, out } = await run(['list', '--environment', 'staging', '--base-url', served.stagingUrl, '--csv']);
    expect(code).toBe(0);
    expect(out).toContain('petId,quantity,status\n1,');
  });
});

describe('a failure', () => {
  test.each([
    [['sync', 'night.csv\r'], 'petstore: Cannot use night.csv�: there is no such file\n'],
    [['list', '--plan', '\u001b[31mgold'], 'petstore: Cannot use --plan �[31mgold: it must be one of free, '],
    [['list\r'], "petstore: unknown command 'list�' (Did you mean list?)\n"],
  ])('shows the control characters of the words %j', async (words, err) => {
    const terminal = new FakeTerminal();
    expect(await runCli(words, terminal)).toBe(2);
    expect(terminal.err).toContain(err);
  });

  test('of the key ends with 3, and says what to check', async () => {
    vi.stubEnv('PETSTORE_API_KEY', 'wrong');
    const { code, err } = await run(['list']);
    expect(code).toBe(3);
    expect(err).toMatch(/401.*check the key in PETSTORE_API_KEY or PETSTORE_API_KEY_FILE: .*, or is banned for a while\n$/);
  });

  test('to connect is reported at once, with the host and the variable that named it', async () => {
    const { url, close } = await serveSandbox();
    await close();
    const terminal = new FakeTerminal();
    const running = run(['list', '--base-url', url], terminal);
    const failure = `Cannot read the inventory: the connection to ${new URL(url).host} failed: ECONNREFUSED`;
    await expect.poll(() => terminal.err).toBe(`petstore: ${failure}; trying --base-url again\n`);
    terminal.interrupt();
    expect(await running).toMatchObject({ code: 130, out: '' });
  });

  test('that makes a call wait is reported once, as a retry', async () => {
    served.sandbox.faults.add({ status: 500, headers: { 'retry-after': '60' } });
    const terminal = new FakeTerminal();
    const running = run(['list', '--base-url', served.url], terminal);
    await expect.poll(() => terminal.err).toContain(' again\n');
    terminal.interrupt();
    await running;
    expect(terminal.err.match(/trying|waiting/g)).toEqual(['trying']);
  });

  test.each([
    ['PETSTORE_ENVIRONMENT', ['list'], { PETSTORE_ENVIRONMENT: 'staging' }],
    ['--environment', ['list', '--environment', 'staging'], {}],
  ])('of an address that %s chose names its variable', async (_what, words, env: Record<string, string>) => {
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', served.stagingUrl);
    vi.stubEnv('PETSTORE_ENVIRONMENT', env.PETSTORE_ENVIRONMENT);
    served.sandbox.faults.add({ status: 200, body: '<html>' });
    expect((await run(words, new FakeTerminal({ env }))).err).toContain(`${served.stagingUrl} (PETSTORE_STAGING_BASE_URL) is the address`);
  });

  test('at an address without the service names the address and its variable', async () => {
    served.sandbox.faults.add({ status: 200, body: '<html>' });
    expect((await run(['list'])).err).toContain(`check that ${served.url} (PETSTORE_BASE_URL) is the address of the service`);
  });

  test.each([
    [
      404,
      'the service answered 404 without an Error body at URL/inventory; check the address: the list exists even if there are no pets; PETSTORE_BASE_URL sets the address',
    ],
    [302, 'the service answered 302 without an Error body at URL/inventory; check that PETSTORE_BASE_URL is the address of the service'],
  ])('at an address that answers a page with %i names it once, and its variable', async (status, line) => {
    served.sandbox.faults.add({ status, body: '<html>', times: 1 });
    expect((await run(['list'])).err).toContain(`Cannot read the inventory: ${line.replace('URL', served.url)} (`);
  });

  test('of a connection that the other side closed during a write ends with 1', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
    const cause = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('fetch failed', { cause });
    });
    // Of an address of its own: that it is down is remembered.
    const running = run(['set', '1', '5', '--base-url', 'https://pets.test/v1']);
    await vi.advanceTimersByTimeAsync(300_000);
    expect(await running).toMatchObject({ code: 1, out: '', err: expect.stringContaining('Cannot update pet 1') });
  });

  test('that passes is reported once for each call', async () => {
    served.sandbox.faults.add({ status: 500, times: 2 });
    const { code, err } = await run(['list', '--csv']);
    expect(code).toBe(0);
    expect(err.match(/trying .* again\n/g)).toEqual([`trying ${served.url} (PETSTORE_BASE_URL) again\n`]);
  });

  test('without a key ends with 3, and names the sandbox', async () => {
    vi.stubEnv('PETSTORE_API_KEY', '');
    const { code, err } = await run(['list']);
    expect(code).toBe(3);
    expect(err).toContain('Cannot make a client without a key: set PETSTORE_API_KEY or PETSTORE_API_KEY_FILE; or try --sandbox');
  });

  test('without an address ends with 2, and names the option and the variable', async () => {
    vi.stubEnv('PETSTORE_BASE_URL', '');
    const { code, err } = await run(['list']);
    expect(code).toBe(2);
    expect(err).toContain('without the production address: give --base-url or set PETSTORE_BASE_URL; or try --sandbox');
  });

  test('of the quota ends with 5', async () => {
    const limited = await serveSandbox({ plans: { free: { requestsPerMinute: 60, requestsPerDay: 1 } }, policy: 'fixed-first' });
    vi.stubEnv('PETSTORE_BASE_URL', limited.url);
    vi.stubEnv('PETSTORE_API_KEY', limited.keys.free);
    expect((await run(['list'])).code).toBe(0);
    expect((await run(['set', '1', '5'])).code).toBe(5);
    await limited.close();
  });

  test.each(['--verbose', '-v'])('shows everything with %s, but never the key', async (option) => {
    const { err } = await run(['set', '99', '5', option]);
    expect(err).toContain('update pet 99 sends attempt 1: PATCH /inventory/99 (call 1)');
    expect(err).toContain('"kind":"not-found"');
    expect(err).toContain('at ');
    expect(err).not.toContain(served.keys.pro);
  });

  test.each([
    ['list', '--status'],
    ['get 1', '--base-url'],
    ['sync -', '--rejects'],
    ['mcp --allow-updates', '--journals'],
    ['sandbox', '--db'],
    ['doctor', '--environment'],
    ['sandbox --cors http://localhost:5173', '--cors'],
  ])('of petstore %s %s "" asks for the variable that is not set', async (words, option) => {
    const err = `petstore: Cannot use ${option} with an empty value: is the variable that it comes from set?\n`;
    expect(await run([...words.split(' '), option, ''])).toEqual({ code: 2, out: '', err });
  });

  test.each([
    ['list', '--status', '--json'],
    ['get 1', '--base-url', '-v'],
    ['sync -', '--journal', '--dry-run'],
    ['undo restock.journal', '--journal', '--help'],
    ['doctor', '--environment', '--verbose'],
  ])('of petstore %s %s takes no option such as %s as a value', async (words, option, next) => {
    const err = `petstore: Cannot use ${option} without a value: another option follows it\n`;
    expect(await run([...words.split(' '), option, next])).toEqual({ code: 2, out: '', err });
  });

  test('shows everything with --verbose, whatever PETSTORE_LOG says', async () => {
    const { err } = await run(['get', '1', '--verbose'], new FakeTerminal({ env: { PETSTORE_LOG: 'error' } }));
    expect(err).toContain('sends attempt 1: GET /inventory');
  });

  test('takes a -v that is the value of an option or an argument for no --verbose', async () => {
    expect((await run(['get', '--', '-v'])).err).toBe('petstore: Cannot use "-v" as petId: it must be an integer\n');
    expect((await run(['list', '--environment', '-v'])).err).not.toContain('UsageError');
  });

  test('of PETSTORE_LOG names the levels', async () => {
    expect(await run(['list'], new FakeTerminal({ env: { PETSTORE_LOG: 'loud' } }))).toMatchObject({ code: 2 });
  });
});

/** A state of which all but SQLite's first page is damaged: it can be opened, and no record can be read. */
async function damagedState(): Promise<{ env: Record<string, string>; path: string }> {
  const home = mkdtempSync(join(tmpdir(), 'damaged-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const [env, path] = [{ XDG_STATE_HOME: home }, join(home, 'petstore', 'quota.db')];
  await run(['get', '1'], new FakeTerminal({ env }));
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.fill(0xff, 4_096));
  return { env, path };
}

describe.skipIf(process.platform !== 'linux')('a state that runs share and that is damaged', () => {
  const refusal = (path: string): string => `Cannot use "${path}" as the file of a quota store: it is damaged; delete it`;

  test('slows a command down, which says why', async () => {
    const { env, path } = await damagedState();
    const err = `petstore: the quota is not shared, so this run keeps to its part of it: ${refusal(path)}\n`;
    expect(await run(['get', '1'], new FakeTerminal({ env }))).toEqual({ code: 0, out: 'pet 1: 5 (available)\n', err });
  });

  test.each([[['quota', '--reset']], [['sync', '-', '--lock', 'job']]])('fails %j with its path', async (words) => {
    const { env, path } = await damagedState();
    const terminal = new FakeTerminal({ env, stdin: 'petId,quantity\n1,5\n' });
    expect(await run(words, terminal)).toEqual({ code: 1, out: '', err: `petstore: ${refusal(path)} (--verbose shows more)\n` });
  });

  test('is a problem for petstore doctor', async () => {
    const { env, path } = await damagedState();
    vi.stubEnv('XDG_STATE_HOME', env.XDG_STATE_HOME);
    const { code, out } = await run(['doctor'], new FakeTerminal({ env: { ...env, PETSTORE_API_KEY: served.keys.pro } }));
    expect([code, out.match(/^.* shared .*$/gm)]).toEqual([1, [`problem  shared       the quota is not shared: ${refusal(path)}`]]);
  });
});

describe('what runs share', () => {
  let home: string;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'petstore-'));
    return () => rmSync(home, { recursive: true });
  });

  test.each([
    ['was done', ['list'], 0],
    ['failed', ['set', '99', '5'], 1],
    ['could not begin', ['list', '--base-url', 'nowhere'], 2],
  ])('is a file that is closed when a command %s', async (_how, words, code) => {
    const env = { XDG_STATE_HOME: home, HOME: home, LOCALAPPDATA: home };
    expect(await run(words, new FakeTerminal({ env }))).toMatchObject({ code });
    expect(readdirSync(stateFolder({ env, home }, process.platform) ?? home)).toEqual(['quota.db']);
  });

  test.each([['--no-state'], ['--sandbox']])('is nothing with %s', async (option) => {
    const env = { XDG_STATE_HOME: home, HOME: home, LOCALAPPDATA: home };
    expect(await run(['list', option], new FakeTerminal({ env }))).toMatchObject({ code: 0 });
    expect(readdirSync(home)).toEqual([]);
  });

  test('is the quota: a run knows that the run before was refused', async () => {
    const closed = await serveSandbox({ plans: { pro: { requestsPerMinute: 60, requestsPerDay: 1 } }, policy: 'fixed-first' });
    vi.stubEnv('PETSTORE_BASE_URL', closed.url);
    vi.stubEnv('PETSTORE_API_KEY', closed.keys.pro);
    const env = { XDG_STATE_HOME: home, HOME: home, LOCALAPPDATA: home };
    expect((await run(['list'], new FakeTerminal({ env }))).code).toBe(0);
    expect((await run(['list'], new FakeTerminal({ env }))).code).toBe(5);
    expect((await run(['list'], new FakeTerminal({ env }))).code).toBe(5);
    expect(closed.sandbox.requests.map(({ status }) => status)).toEqual([200, 429]);
    await closed.close();
  });
});

describe('petstore quota', () => {
  test('shows both windows for one request', async () => {
    const before = served.sandbox.requests.length;
    const { code, out } = await run(['quota']);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^of production, http:\/\/127\.0\.0\.1:\d+\/v1\nminute {2}\d+ of 300 left, resets in \d+ s \(.*Z\)\nday {5}unknown \(at most \d+ of 10000\)\n$/,
    );
    expect(served.sandbox.requests.length - before).toBe(1);
  });

  test('writes JSON, in which values that no header reported are null', async () => {
    expect(JSON.parse((await run(['quota', '--json'])).out)).toMatchObject({
      environment: 'production',
      address: served.url,
      minute: { limit: 300, remaining: expect.any(Number) },
      day: { limit: 10_000, remaining: null, atMost: expect.any(Number) },
    });
  });

  test.each([
    ['free', 'minute  59 of 60 left'],
    ['pro', 'minute  299 of 300 left'],
    ['business', 'minute  999 of 1000 left'],
    ['unlimited', 'minute  999999999 of 1000000000 left'],
  ])('asks a sandbox with the key of --plan %s', async (plan, line) => {
    expect((await run(['quota', '--sandbox', '--plan', plan])).out).toContain(line);
  });

  test('asks a sandbox with the key of the pro plan unless told otherwise', async () => {
    expect((await run(['quota', '--sandbox'])).out).toContain('minute  299 of 300 left');
  });

  test('uses --plan for values that no header reports', async () => {
    expect((await run(['quota', '--plan', 'business'])).out).toMatch(/^day {5}unknown \(at most \d+ of 100000\)$/m);
  });

  test('checks --plan and --environment with --sandbox too', async () => {
    expect(await run(['quota', '--sandbox', '--plan', 'gold'])).toMatchObject({ code: 2, out: '' });
    expect(await run(['quota', '--sandbox', '--environment', 'test'])).toMatchObject({ code: 2, out: '' });
  });

  test('says that it asked staging, and which address', async () => {
    vi.stubEnv('PETSTORE_ENVIRONMENT', 'staging');
    vi.stubEnv('PETSTORE_STAGING_BASE_URL', served.url);
    expect((await run(['quota'], new FakeTerminal({ env: { PETSTORE_ENVIRONMENT: 'staging' } }))).out).toContain(
      `of staging, ${served.url}\n`,
    );
  });

  test("shows a reset by the service's clock, however wrong that is", async () => {
    const dateMs = Date.now() - 300_000;
    const server = createServer((_request, response) => {
      const limits = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '59', 'x-ratelimit-reset': `${Math.floor(dateMs / 1000) + 30}` };
      response.writeHead(200, { ...limits, date: new Date(dateMs).toUTCString() }).end('[]');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    vi.stubEnv('PETSTORE_BASE_URL', `http://127.0.0.1:${portOf(server)}/v1`);
    expect((await run(['quota'])).out).toMatch(/^minute {2}59 of 60 left, resets in (2\d|3[01]) s/m);
    server.close();
  });

  test.each([
    [429, 5, /^petstore: .*answered 429.*; try again then\n$/],
    [503, 1, /^petstore: .*answered 503/],
  ])('shows until when a %i closed the key, and ends with %i', async (status, exitCode, message) => {
    const closed = await serveSandbox({ faults: [{ status, headers: { 'retry-after': '3600' } }] });
    vi.stubEnv('PETSTORE_BASE_URL', closed.url);
    vi.stubEnv('PETSTORE_API_KEY', closed.keys.pro);
    const { code, out, err } = await run(['quota']);
    expect([code, out]).toEqual([
      exitCode,
      expect.stringMatching(/^of production, .*\nminute .*\nday .*\nnothing can be sent for (?:60 min(?: 1 s)?|59 min \d+ s)\n$/),
    ]);
    expect(err).toMatch(message);
    await closed.close();
  });

  test('does not say that nothing can be sent after a Retry-After that closes no key', async () => {
    const refusing = await serveSandbox({ faults: [{ status: 403, headers: { 'retry-after': '3600' } }] });
    vi.stubEnv('PETSTORE_BASE_URL', refusing.url);
    vi.stubEnv('PETSTORE_API_KEY', refusing.keys.pro);
    expect(await run(['quota'])).toEqual({ code: 1, out: '', err: expect.stringMatching(/^petstore: .*answered 403/) });
    await refusing.close();
  });

  test('tells the refusal if stdout cannot be written to', async () => {
    const closed = await serveSandbox({ faults: [{ status: 429, headers: { 'retry-after': '3600' } }] });
    vi.stubEnv('PETSTORE_BASE_URL', closed.url);
    vi.stubEnv('PETSTORE_API_KEY', closed.keys.pro);
    const { code, err } = await run(['quota'], new FakeTerminal({ stdoutError: 'ENOSPC' }));
    expect([code, err]).toEqual([1, expect.stringMatching(/^petstore: Cannot write to stdout: ENOSPC: write; .*answered 429/)]);
    await closed.close();
  });

  test('shows nothing if no header says anything', async () => {
    const headers = { 'x-ratelimit-limit': null, 'x-ratelimit-remaining': null, 'x-ratelimit-reset': null };
    const silent = await serveSandbox({ faults: [{ headers }] });
    vi.stubEnv('PETSTORE_BASE_URL', silent.url);
    vi.stubEnv('PETSTORE_API_KEY', silent.keys.pro);
    expect((await run(['quota'])).out).toBe(`of production, ${silent.url}\nminute  unknown\nday     unknown\n`);
    await silent.close();
  });
});

describe('petstore sandbox', () => {
  test('serves until it is interrupted, and prints what a client needs', async () => {
    const terminal = new FakeTerminal();
    const running = runCli(['sandbox', '--port', '0', '--pets', '3', '--limits', '30/90', '--json'], terminal);
    await expect.poll(() => terminal.err).toContain('Ctrl-C ends it');
    const { url, keys } = JSON.parse(terminal.out);
    const answer = await fetch(`${url}/inventory`, { headers: { authorization: `Bearer ${keys.free}` } });
    expect(answer.headers.get('x-ratelimit-limit')).toBe('30');
    expect(await answer.json()).toHaveLength(3);
    terminal.interrupt();
    expect(await running).toBe(0);
  });

  test('prints the addresses of staging and of the page as JSON too', async () => {
    const terminal = new FakeTerminal();
    const running = runCli(['sandbox', '--port', '0', '--json'], terminal);
    await expect.poll(() => terminal.err).toContain('Ctrl-C ends it');
    const { url, stagingUrl, pageUrl, keys } = JSON.parse(terminal.out);
    expect({ stagingUrl, pageUrl }).toEqual({ stagingUrl: url.replace('/v1', '/staging/v1'), pageUrl: url.replace('v1', '') });
    expect((await fetch(`${stagingUrl}/inventory`, { headers: { authorization: `Bearer ${keys.pro}` } })).status).toBe(200);
    expect((await fetch(pageUrl)).headers.get('content-type')).toContain('text/html');
    terminal.interrupt();
    await running;
  });

  test('--cors lets pages of each origin call it', async () => {
    const terminal = new FakeTerminal();
    const running = runCli(['sandbox', '--port', '0', '--cors', 'http://localhost:5173', 'https://shop.example', '--json'], terminal);
    await expect.poll(() => terminal.err).toContain('Ctrl-C ends it');
    const { url } = JSON.parse(terminal.out);
    const answers = [
      await fetch(`${url}/inventory`, { headers: { origin: 'http://localhost:5173' } }),
      await fetch(`${url}/inventory`, { headers: { origin: 'https://shop.example' } }),
    ];
    expect(answers.map(({ headers }) => headers.get('access-control-allow-origin'))).toEqual([
      'http://localhost:5173',
      'https://shop.example',
    ]);
    terminal.interrupt();
    await running;
  });

  test('prints variables', async () => {
    const terminal = new FakeTerminal();
    const running = runCli(['sandbox', '--port', '0'], terminal);
    await expect.poll(() => terminal.err).toContain('Ctrl-C ends it');
    const comments = terminal.out.split('\n').filter((line) => line.startsWith('#'));
    expect(comments.map((line) => line.slice(2, 12).trimEnd())).toEqual([
      'page',
      'production',
      'staging',
      'free key',
      'pro key',
      'business k',
    ]);
    expect(terminal.out.replace(/^#.*\n/gm, '')).toMatch(
      /^PETSTORE_BASE_URL=(http:\/\/127.0.0.1:\d+)\/v1\nPETSTORE_STAGING_BASE_URL=\1\/staging\/v1\nPETSTORE_API_KEY=\S+\n$/,
    );
    terminal.interrupt();
    await running;
  });

  test('--state shows what is left at a port, and --reset restores that sandbox to its beginning', async () => {
    const own = await serveSandbox({ plans: { free: { requestsPerMinute: 1, requestsPerDay: 5 } }, policy: 'fixed-first' });
    const port = new URL(own.url).port;
    const ask = () => fetch(`${own.url}/inventory`, { headers: { authorization: `Bearer ${own.keys.free}` } });
    await ask();
    expect((await run(['sandbox', '--state', '--port', port])).out).toMatch(/\n1 request, 0 with 429, 0 during a penalty, 0 bans\n$/);
    await ask();
    own.sandbox.inventory.delete(1);
    const before = await run(['sandbox', '--state', '--port', port]);
    expect(before.out).toMatch(/^free {6}minute 0 of 1 left, resets in \d+ s; day 4 of 5 left, resets in .+; asked to wait for \d+ s$/m);
    expect(before.out).toMatch(/\n2 requests, 1 with 429, 0 during a penalty, 0 bans\n$/);
    expect(await run(['sandbox', '--reset', '--port', port])).toEqual({ code: 0, out: '', err: '' });
    const onFullDisk = await run(['sandbox', '--reset', '--state', '--port', port], new FakeTerminal({ stdoutError: 'ENOSPC' }));
    expect(onFullDisk.err).toMatch(/^petstore: Cannot write to stdout: ENOSPC: write; the sandbox is reset /);
    const { keys, report } = JSON.parse((await run(['sandbox', '--state', '--json', '--port', port])).out);
    expect([keys[0].minute.remaining, report.requests, own.sandbox.inventory.size]).toEqual([1, 0, 12]);
    await own.close();
    expect(await run(['sandbox', '--state', '--port', port])).toMatchObject({ code: 1, err: expect.stringContaining('start it with') });
  });

  test('ends by an interrupt that comes before its addresses are written', async () => {
    const terminal = new FakeTerminal();
    const listen = terminal.onInterrupt.bind(terminal);
    terminal.onInterrupt = (listener) => {
      queueMicrotask(() => terminal.interrupt());
      return listen(listener);
    };
    expect(await runCli(['sandbox', '--port', '0'], terminal)).toBe(0);
    expect(terminal.exited).toBeUndefined();
  });

  test('keeps serving when the reader of its variables has closed its output', async () => {
    const terminal = new FakeTerminal({ stdoutError: 'EPIPE' });
    const running = runCli(['sandbox', '--port', '0'], terminal);
    await expect.poll(() => terminal.err).toContain('Ctrl-C ends it');
    const [pageUrl = ''] = /http\S+(?=;)/.exec(terminal.err) ?? [];
    expect((await fetch(pageUrl)).status).toBe(200);
    terminal.interrupt();
    expect(await running).toBe(0);
  });

  test.each([
    [['--port', 'x'], 2, 'Cannot use --port x: it must be a whole number'],
    [['--port', '65536'], 2, 'Cannot use --port 65536: it must be at most 65535, or 0 for a free one'],
    [['--pets', '10000001'], 2, 'Cannot use --pets 10000001: it must be a whole number from 0 to 10000000'],
    [['--limits', '0'], 2, 'Cannot use --limits 0: it must be requests a minute and a day, such as 60/1000'],
    [['--port', '0', '--db', '/'], 2, 'Cannot use "/" as --db: '],
    [['--port', '0', '--cors', 'http://localhost:5173/'], 2, 'Cannot use "http://localhost:5173/" as --cors: it must be an origin'],
    [['--state', '--cors', 'http://localhost:5173'], 2, 'Cannot use --cors with --state: the sandbox at --port is already served'],
    [['--reset', '--pets', '500'], 2, 'Cannot use --pets with --reset: the sandbox at --port is already served'],
    [['--state', '--limits', '5/20'], 2, 'Cannot use --limits with --state: the sandbox at --port is already served'],
    [['--state', '--reset', '--db', 'x.sqlite'], 2, 'Cannot use --db with --reset: the sandbox at --port is already served'],
  ])('refuses %j', async (words, code, message) => {
    const result = await run(['sandbox', ...words]);
    expect(result.code).toBe(code);
    expect(result.err).toContain(message);
  });
});

const ADVICE = 'without --allow-updates: the agent can only read; add --allow-updates, or leave it out\n';

test.each([
  [['list', '--json', '--csv'], 'Cannot use --csv with --json: the output has one format; leave one out'],
  [['set', '1', '5', '--sandbox', '--base-url', 'https://a.example/v1'], 'Cannot use --base-url with --sandbox, which uses no other'],
  [
    ['get', '1', '--sandbox', '--environment', 'staging'],
    'Cannot use --environment with --sandbox, which uses no other service; leave one out\n',
  ],
  [
    ['doctor', '--sandbox', '--environment', 'staging'],
    'Cannot use --environment with --sandbox, which uses no other service; leave one out\n',
  ],
  [['quota', '--sandbox', '--quota-store', 'file:q.db'], 'Cannot use --quota-store with --sandbox, which shares nothing; leave one out\n'],
  [
    ['watch', '--no-state', '--quota-store', 'file:q.db'],
    'Cannot use --quota-store with --no-state, which shares nothing; leave one out\n',
  ],
  [['sync', '-', '--json', '--lists', '--dry-run'], 'Cannot use --lists with --dry-run, which lists the pets anyway; leave --lists out\n'],
  [['sync', '-', '--lists'], 'Cannot use --lists without --json: it changes only the JSON output; add --json\n'],
  [['sync', '-', '--sandbox', '--lock', 'a'], 'Cannot use --lock with --sandbox, which shares nothing; leave one out\n'],
  [['quota', '--sandbox', '--reset'], 'Cannot use --reset with --sandbox, which shares nothing; leave one out\n'],
  [['quota', '--no-state', '--reset'], 'Cannot use --reset with --no-state, which shares nothing; leave one out\n'],
  [['mcp', '--journals', 'j'], `Cannot use --journals ${ADVICE}`],
  [['mcp', '--max-changes', '5'], `Cannot use --max-changes ${ADVICE}`],
  [['mcp', '--allow-negative'], `Cannot use --allow-negative ${ADVICE}`],
  [['mcp', '--sandbox', '--allow-updates', '--journals', 'j'], 'Cannot use --journals with --sandbox: that sandbox ends with the server'],
])('petstore %j is refused, since an option would have no effect', async (words, message) => {
  const sent = served.sandbox.requests.length;
  expect(await run(words)).toEqual({ code: 2, out: '', err: expect.stringContaining(`petstore: ${message}`) });
  expect(served.sandbox.requests.length).toBe(sent);
});

test.each([[['--help']], [['--version']], [['list', '--help']], [['help', 'sync']]])(
  'petstore %j ends with 1 on a full disk',
  async (words) => {
    const err = 'petstore: Cannot write to stdout: ENOSPC: write (--verbose shows more)\n';
    expect(await run(words, new FakeTerminal({ stdoutError: 'ENOSPC' }))).toEqual({ code: 1, out: '', err });
    expect(await run(words, new FakeTerminal({ stdoutError: 'EPIPE' }))).toEqual({ code: 0, out: '', err: '' });
  },
);

test.each([
  ['list', '2m'],
  ['quota', '5s'],
  ['mcp', '45s'],
])('the help of %s shows the longest wait that it has without --max-wait', async (command, maxWait) => {
  const { out } = await run([command, '--help']);
  expect(out.replaceAll(/\s+/g, ' ')).toContain(`such as 10m (default: ${maxWait})`);
});

test('the help of a command shows its own options before those that every command has', async () => {
  const { out } = await run(['sync', '--help']);
  const flags = Array.from(out.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm), ([, flag]) => flag);
  expect(flags[0]).toBe('--dry-run');
  expect(flags.slice(flags.indexOf('--json'))).toEqual([
    ...['--json', '--sandbox', '--base-url', '--environment', '--plan', '--share', '--max-wait', '--timeout', '--quota-store'],
    ...['--no-state', '--verbose', '--record'],
  ]);
});

test('the help lists the commands in the order of the guide', async () => {
  const { out } = await run(['--help']);
  const guide = readFileSync('docs/cli.md', 'utf8');
  const listed = Array.from(guide.matchAll(/^\| `(\w+)[ \w<>]*` \|/gm), ([, name]) => name).slice(0, 10);
  expect(Array.from(out.matchAll(/^ {2}(\w+) \[/gm), ([, name]) => name)).toEqual([...listed, 'help']);
});

test('help and version end with 0', async () => {
  expect((await run(['--help'])).code).toBe(0);
  expect((await run(['sync', '--help'])).out).toContain('Usage: petstore sync');
  expect((await run(['--version'])).out).toMatch(/^\d+\.\d+\.\d+(-[a-z]+\.\d+)?\n$/);
});
