import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type ServedSandbox, serveSandbox } from '../../src/node/serve.ts';
import { freePort } from '../support/free-port.ts';
import { buildCli } from './support/build-cli.ts';
import { runAtTerminal } from './support/run-at-terminal.ts';

let cli: { folder: string; file: string };
let served: ServedSandbox;

beforeAll(async () => {
  cli = await buildCli();
});
afterAll(() => rm(cli.folder, { recursive: true }));

beforeEach(async () => {
  served = await serveSandbox({ pets: 3 });
  return () => served.close();
});

const environment = () => ({ PATH: process.env.PATH, PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder });

interface Ended {
  code: number | null;
  err: string;
}

/** Runs the program with a stdout whose reader closes it at once. */
function runUnread(words: string[], env: Record<string, string> = {}, user: { uid?: number } = {}): Promise<Ended> {
  const start = { env: { ...environment(), ...env }, ...user };
  const child = spawn(process.execPath, [cli.file, ...words], { ...start, stdio: ['ignore', 'pipe', 'pipe'] });
  let err = '';
  child.stdout.destroy();
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, err }));
  });
}

describe('petstore in a process whose stdout nobody reads', () => {
  test('ends a list quietly', async () => {
    expect(await runUnread(['list'])).toEqual({ code: 0, err: '' });
  });

  test('ends a sync with its own exit code', async () => {
    const csv = join(cli.folder, 'wanted.csv');
    await writeFile(csv, 'petId,quantity\n1,777\n99,1\n');
    expect(await runUnread(['sync', csv])).toEqual({ code: 4, err: '' });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(777);
  });

  test('says how to continue a sync that was stopped', async () => {
    const csv = join(cli.folder, 'refused.csv');
    await writeFile(csv, 'petId,quantity\n1,777\n');
    const { code, err } = await runUnread(['sync', csv], { PETSTORE_API_KEY: 'wrong' });
    expect(code).toBe(3);
    expect(err).toContain('the service refused the key: 0 pets updated, 1 pet left; run it again for the rest');
  });
});

test.each(['v20.20.2', 'v22.12.0'])('petstore says on Node %s which one it needs', async (version) => {
  const older = `data:text/javascript,Object.defineProperty(process,"version",{value:"${version}"})`;
  const { code, err } = await runUnread(['list'], { NODE_OPTIONS: `--import=${older.replaceAll('"', '%22')}` });
  expect({ code, err }).toEqual({ code: 2, err: `petstore: needs Node 22.13 or newer, and this is ${version}\n` });
});

test('petstore runs where nothing caches compiled code, as in Deno', async () => {
  const lacking = 'data:text/javascript,import m from "node:module"; delete m.enableCompileCache';
  expect(await runUnread(['list'], { NODE_OPTIONS: `--import=${encodeURI(lacking)}` })).toEqual({ code: 0, err: '' });
});

test.skipIf(process.platform === 'win32')('petstore runs no compiled code from a folder that another user may have made', async () => {
  const temporary = await mkdtemp(join(cli.folder, 'temporary-'));
  await mkdir(join(temporary, 'node-compile-cache'), { mode: 0o777 });
  expect(await runUnread(['list'], { TMPDIR: temporary })).toEqual({ code: 0, err: '' });
  expect(await readdir(join(temporary, 'node-compile-cache'))).toEqual([]);
  expect(await readdir(join(temporary, `petstore-${process.geteuid?.()}`))).toHaveLength(1);
});

test('petstore mcp gives all its answers to a reader that pauses', async () => {
  const child = spawn(process.execPath, [cli.file, 'mcp', '--sandbox'], { env: environment(), stdio: ['pipe', 'pipe', 'ignore'] });
  const begin = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const requests = Array.from({ length: 1_000 }, (_, id) => ({ jsonrpc: '2.0', id: id + 1, method: 'tools/list' }));
  const lines = [
    { jsonrpc: '2.0', id: 0, method: 'initialize', params: begin },
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    ...requests,
  ].map((line) => `${JSON.stringify(line)}\n`);
  child.stdin.end(lines.join(''));
  await once(child.stdout, 'readable');
  // Longer than the command waits for its process to end.
  await setTimeout(2_500);
  const answered = (await child.stdout.toArray()).join('').trim().split('\n');
  expect(answered).toHaveLength(1_001);
  expect(JSON.parse(answered.at(-1) ?? '')).toMatchObject({ id: 1_000 });
});

test("petstore ends, although Node's fetch connects for ever to a proxy that closes its connections", async () => {
  const proxy = createServer().on('connect', (_request, socket) => socket.destroy());
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void proxy.close());
  const address = proxy.address();
  const env = {
    ...environment(),
    PETSTORE_BASE_URL: 'https://shop.example/v1',
    HTTPS_PROXY: `http://127.0.0.1:${typeof address === 'object' && address?.port}`,
    NODE_USE_ENV_PROXY: '1',
  };
  const words = ['list', '--no-state', '--timeout', '500ms', '--max-wait', '1s'];
  const ending = promisify(execFile)(process.execPath, [cli.file, ...words], { env, timeout: 60_000 });
  await expect(ending).rejects.toMatchObject({ code: 1, killed: false, stderr: expect.stringContaining('had no complete answer') });
});

test('petstore quota says at once for how long nothing can be sent, if other runs have used up the minute', async () => {
  await using limited = await serveSandbox({ plans: { pro: { requestsPerMinute: 2 } }, policy: 'fixed-first' });
  const home = join(cli.folder, 'used-up');
  const env = {
    ...environment(),
    PETSTORE_BASE_URL: limited.url,
    PETSTORE_API_KEY: limited.keys.pro,
    HOME: home,
    XDG_STATE_HOME: home,
    LOCALAPPDATA: home,
  };
  const ask = () => promisify(execFile)(process.execPath, [cli.file, 'quota'], { env });
  for (const left of [1, 0]) expect((await ask()).stdout).toContain(`minute  ${left} of 2 left`);
  // A reset in whole seconds ends up to a second after the minute, of which the runs before took a part.
  await expect(ask()).rejects.toMatchObject({
    code: 5,
    stdout: expect.stringMatching(/^of production, .*\nminute .*\nday .*\nnothing can be sent for (6[01]|[1-5]?\d) s\n$/),
    stderr: expect.stringContaining('used up until'),
  });
  expect(limited.sandbox.requests).toHaveLength(2);
});

interface Ending {
  requests: number;
  signal: NodeJS.Signals;
  env?: Record<string, string>;
}

/** Runs the program, tells it to end when the sandbox has seen so many requests, and gives what it said. */
async function runAndEnd(words: string[], { requests, signal, env }: Ending) {
  const child = spawn(process.execPath, [cli.file, ...words], { env: { ...environment(), ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
    if (said.err.includes('finishing the requests under way')) served.sandbox.clock.release();
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  await expect.poll(() => served.sandbox.requests.length).toBeGreaterThanOrEqual(requests);
  child.kill(signal);
  return { code: await closed, ...said };
}

/** Lets no update be answered before the program says that it has heard the signal. */
function holdUpdates(): void {
  served.sandbox.clock.hold();
  served.sandbox.faults.add({ delayMs: 1, when: ({ method }) => method === 'PATCH' });
}

describe.skipIf(process.platform === 'win32')('petstore in a process that is told to end', () => {
  test.each([
    ['SIGTERM', 143, 'terminated'],
    ['SIGHUP', 129, 'the terminal was closed'],
  ] as const)('by %s lets the request under way finish, reports, closes the journal and ends with %i', async (signal, exitCode, why) => {
    holdUpdates();
    const [csv, journal] = [join(cli.folder, `${signal}.csv`), join(cli.folder, `${signal}.journal`)];
    await writeFile(csv, 'petId,adjust\n1,1\n2,1\n3,1\n');
    const words = ['sync', csv, '--journal', journal, '--concurrency', '1', '--json'];
    const { code, out, err } = await runAndEnd(words, { requests: served.sandbox.requests.length + 2, signal });
    expect({ code, report: JSON.parse(out) }).toEqual({
      code: exitCode,
      report: { updated: 1, unchanged: 0, missing: 0, failed: 0, pending: 2, stopped: 'abort' },
    });
    expect(err).toContain(`petstore: ${why}: 1 pet updated, 2 pets left; run the same command again to continue`);
    expect(await readFile(journal, 'utf8')).toMatch(/"done","petId":1\}\n$/);
    served.sandbox.faults.clear();
    expect((await runUnread(words)).code).toBe(0);
  });

  test('takes a signal that comes twice at once, as from GNU timeout, for one', async () => {
    holdUpdates();
    const [csv, report] = [join(cli.folder, 'twice.csv'), join(cli.folder, 'twice.json')];
    await writeFile(csv, 'petId,adjust\n1,1\n2,1\n');
    // The process itself sends the second one: another may be held up between the two.
    const again = 'data:text/javascript,process.once("SIGTERM",()=>process.kill(process.pid,"SIGTERM"))';
    const env = { NODE_OPTIONS: `--import=${again.replaceAll('"', '%22')}` };
    const ending = { requests: 2, signal: 'SIGTERM', env } as const;
    expect((await runAndEnd(['sync', csv, '--report', report, '--concurrency', '1'], ending)).code).toBe(143);
    expect(JSON.parse(await readFile(report, 'utf8'))).toMatchObject({ exitCode: 143, counts: { updated: 1, pending: 1 } });
  });

  test('writes the report, and ends, although nobody reads stdout and stderr', async () => {
    const file = (name: string) => join(cli.folder, `unread.${name}`);
    const [csv, report, journal] = [file('csv'), file('json'), file('journal')];
    await writeFile(csv, 'petId,adjust\n1,1\n');
    // The shell holds both ends of the pipe, and fills it.
    const script =
      'mkfifo "$3"; exec 7<>"$3"; head -c 65536 /dev/zero >&7; exec "$0" "$1" sync "$2" --report "$4" --journal "$5" -v >&7 2>&7';
    const words = ['-c', script, process.execPath, cli.file, csv, file('pipe'), report, journal];
    const child = spawn('sh', words, { env: environment(), stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    await expect.poll(() => readFile(journal, 'utf8').catch(String)).toContain('"end"');
    await setTimeout(500);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(JSON.parse(await readFile(report, 'utf8'))).toMatchObject({ exitCode: 0, counts: { updated: 1 } });
  });

  test('ends a list with 143', async () => {
    served.sandbox.faults.add({ fail: 'stall' });
    expect(await runAndEnd(['list'], { requests: 1, signal: 'SIGTERM' })).toEqual({ code: 143, out: '', err: 'petstore: terminated\n' });
  });

  test('ends a sandbox with 0', async () => {
    const child = spawn(process.execPath, [cli.file, 'sandbox', '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] });
    child.stderr.once('data', () => child.kill('SIGTERM'));
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(0);
  });
});

test.skipIf(process.platform !== 'linux')('petstore runs without a state if no folder can be made in the home', async () => {
  // A hang would be ended with the code null.
  const child = spawn(process.execPath, [cli.file, 'get', '1'], { env: { ...environment(), HOME: '/proc' }, timeout: 60_000 });
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const [code] = await once(child, 'close');
  expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('this run does not share the quota with others: ENOENT') });
});

test.each([
  ['without HOME', {}],
  ['with an empty HOME', { HOME: '' }],
])('petstore knows the home folder %s, as a supervisor may start it', async (_how, without) => {
  const { HOME, ...env } = environment();
  // Fails before it opens anything in that folder.
  const words = ['mcp', '--allow-updates', '--no-state', '--base-url', 'nowhere'];
  const child = spawn(process.execPath, [cli.file, ...words], { env: { ...env, ...without, LOCALAPPDATA: HOME }, timeout: 60_000 });
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  await once(child, 'close');
  expect(err).toContain('nowhere');
});

describe('petstore after a new start of the sandbox', () => {
  /** Starts `petstore sandbox` with two requests a day; gives its variables. */
  async function start(port: string) {
    const words = [cli.file, 'sandbox', '--port', port, '--limits', '60/2', '--json'];
    const child = spawn(process.execPath, words, { env: environment(), stdio: ['ignore', 'pipe', 'ignore'] });
    const { url, keys } = JSON.parse(String(await new Promise((resolve) => child.stdout.once('data', resolve))));
    const stop = () => new Promise((resolve) => child.once('close', resolve) && child.kill('SIGTERM'));
    onTestFinished(async () => void (child.exitCode ?? (await stop())));
    return { port: new URL(url).port, stop, env: { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: keys.pro } };
  }

  test('does not remember the quota of the sandbox before, nor after --reset', async () => {
    const first = await start(String(await freePort()));
    // At midnight the day begins anew.
    const list = async () => (await runUnread(['list'], first.env)).code;
    await expect.poll(list, { timeout: 20_000 }).toBe(5);
    await first.stop();
    const { port, env } = await start(first.port);
    expect(env).toEqual(first.env);
    expect([await list(), await list()]).toEqual([0, 0]);
    expect((await runUnread(['sandbox', '--reset', '--port', port])).code).toBe(0);
    expect(await list()).toBe(0);
  });
});

const CTRL_C = '\u0003';
const CLEAR_LINE = '\r\u001b[2K';
/** Sets a mode of a terminal, such as a hidden cursor or cut lines, and moves the cursor by what was saved. */
const TERMINAL_STATE = /ESC(?:\[\?\d+[hl]|[78])/;

describe.skipIf(process.platform !== 'linux')('petstore at a terminal', () => {
  test('is unchanged when a second interrupt ends a sync', async () => {
    served.sandbox.faults.add({ fail: 'stall', when: ({ method }) => method === 'PATCH' });
    const csv = join(cli.folder, 'stalled.csv');
    await writeFile(csv, 'petId,quantity\n1,777\n');
    const typed = [
      { after: '0/1, 1 request', keys: CTRL_C },
      { after: 'interrupt again to end at once', keys: CTRL_C },
    ];
    const { code, screen } = await runAtTerminal([process.execPath, cli.file, 'sync', csv], { typed, env: environment() });
    expect(code).toBe(130);
    expect(screen.replaceAll('\u001b', 'ESC')).not.toMatch(TERMINAL_STATE);
    expect(screen.endsWith(CLEAR_LINE)).toBe(true);
  });

  test('says until when a list waits, and leaves a clean line when it is interrupted', async () => {
    served.sandbox.faults.add({ status: 429, headers: { 'retry-after': '60' } });
    const typed = [{ after: ', as the service asked', keys: CTRL_C }];
    const { code, screen } = await runAtTerminal([process.execPath, cli.file, 'list'], { typed, env: environment() });
    expect(code).toBe(130);
    expect(screen).toMatch(/waiting until \d\d:\d\d:\d\d, as the service asked/);
    expect(screen.slice(screen.lastIndexOf(CLEAR_LINE))).toBe(`${CLEAR_LINE}petstore: interrupted\r\n`);
  });
});

describe.skipIf(process.platform === 'win32')('petstore sync of a named pipe', () => {
  test.each([
    ['that has no writer', ''],
    ['whose writer has begun', 'petId,quantity\n1,5\n'],
  ])('%s ends at the first interrupt', async (_title, begun) => {
    const pipe = join(cli.folder, `pipe-${begun.length}`);
    execFileSync('mkfifo', [pipe]);
    const tells = 'data:text/javascript,process.on("newListener",(event)=>event==="SIGINT"&&process.stderr.write("it%20listens"))';
    const env = { ...environment(), NODE_OPTIONS: `--import=${tells.replaceAll('"', '%22')}` };
    const child = spawn(process.execPath, [cli.file, 'sync', pipe], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    const listening = once(child.stderr, 'data');
    onTestFinished(() => void child.kill('SIGKILL'));
    const writer = begun === '' ? undefined : await open(pipe, 'w');
    onTestFinished(() => writer?.close());
    await writer?.write(begun);
    expect(String(await listening)).toBe('it listens');
    // It opens the pipe after that.
    await setTimeout(500);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(served.sandbox.requests).toEqual([]);
  });
});

test.skipIf(process.platform === 'win32')('petstore refuses a named pipe as --quota-store, and does not wait for its reader', async () => {
  const pipe = join(cli.folder, 'quota-pipe');
  execFileSync('mkfifo', [pipe]);
  const words = [cli.file, 'list', '--quota-store', `file:${pipe}`];
  const ended = promisify(execFile)(process.execPath, words, { env: environment(), timeout: 60_000 });
  const stderr = `petstore: Cannot use "${pipe}" as the file of a quota store: it is not a file\n`;
  await expect(ended).rejects.toMatchObject({ code: 2, stderr });
});

test.skipIf(process.platform === 'win32')('petstore sync - does not write to the file that the shell redirects to stdin', async () => {
  const csv = join(cli.folder, 'redirected.csv');
  await writeFile(csv, 'petId,quantity\n1,777\n');
  const command = `"${process.execPath}" "${cli.file}" sync - --rejects "${csv}" < "${csv}"`;
  const { code, stderr } = await promisify(execFile)('sh', ['-c', command], { env: environment() }).catch((failure) => failure);
  expect([code, stderr]).toEqual([2, `petstore: Cannot use ${csv} as --rejects: it is the input already\n`]);
  expect(await readFile(csv, 'utf8')).toBe('petId,quantity\n1,777\n');
});

/** Runs words of a shell in a folder that is removed. */
function runInRemoved(words: string) {
  const command = `cd "$(mktemp -d)" && rmdir "$PWD" && "${process.execPath}" "${cli.file}" ${words}`;
  return promisify(execFile)('sh', ['-c', command], { env: environment() }).catch((failure) => failure);
}

test.runIf(process.platform === 'linux').each([
  ['a folder is its stdin', 'sync - --allow-empty < /', 'stdin: it is a directory'],
  ['a folder is the stdin of its server', 'mcp < /', 'stdin: it is a directory'],
  ['the stdin of its server cannot be read', 'mcp 0> /dev/null', 'stdin: it cannot be read (EBADF)'],
  ['its working folder was removed', 'sync pets.csv', 'a relative path: the working folder was removed'],
])('petstore says that %s', async (_what, words, why) => {
  expect(await runInRemoved(words)).toMatchObject({ code: 1, stderr: `petstore: Cannot use ${why} (--verbose shows more)\n` });
});

test.skipIf(process.platform === 'win32')('petstore sync writes a --report in place in a folder that takes no new files', async () => {
  const folder = join(cli.folder, 'closed');
  const [csv, held, added] = [join(folder, 'in.csv'), join(folder, 'r.json'), join(folder, 'new.json')];
  await mkdir(folder);
  await writeFile(csv, 'petId,quantity\n1,9\n');
  await writeFile(held, 'held');
  await chmod(held, 0o666);
  await chmod(cli.folder, 0o755);
  await chmod(folder, 0o555);
  onTestFinished(() => chmod(folder, 0o755));
  // To root, every folder takes new files.
  const user = process.geteuid?.() === 0 ? { uid: 65_534 } : {};
  expect((await runUnread(['sync', csv, '--report', added], {}, user)).code).toBe(2);
  expect((await runUnread(['sync', csv, '--report', held], {}, user)).code).toBe(0);
  expect(JSON.parse(await readFile(held, 'utf8')).counts).toMatchObject({ updated: 1 });
});
