import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { checkSettings } from '../../src/cli/settings.ts';
import { type ServedSandbox, serveSandbox } from '../../src/node/serve.ts';
import { Certificates } from '../support/certificates.ts';
import { portOf } from '../support/port-of.ts';
import { buildCli } from './support/build-cli.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const VARIABLES = ['PETSTORE_API_KEY', 'PETSTORE_API_KEY_FILE', 'PETSTORE_BASE_URL', 'PETSTORE_STAGING_BASE_URL', 'PETSTORE_PLAN'];
let served: ServedSandbox;

beforeAll(async () => {
  served = await serveSandbox();
});
afterAll(() => served.close());
beforeEach(() => {
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
});
afterEach(() => {
  vi.unstubAllEnvs();
});

/** Runs it with these variables, for the client and for the command line. */
async function doctor(env: Record<string, string>, ...words: string[]) {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const terminal = new FakeTerminal({ env });
  const code = await runCli(['doctor', ...words], terminal);
  return { code, out: terminal.out, err: terminal.err };
}

/** The lines of the problems that it found. */
function problemsIn(out: string): string[] {
  return out.split('\n').filter((line) => line.startsWith('problem'));
}

const well = () => ({ PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro });

describe('petstore doctor', () => {
  test('says whom to ask about an Error body with a status that the specification does not name', async () => {
    const body = JSON.stringify({ code: 'forbidden', message: 'No', status: 403 });
    const refusing = await serveSandbox({ faults: [{ status: 403, body }] });
    const { code, out } = await doctor({ PETSTORE_BASE_URL: refusing.url, PETSTORE_API_KEY: refusing.keys.pro });
    await refusing.close();
    const advice = 'ask whoever runs the service: its specification names no 403 for this request';
    expect({ code, out }).toEqual({
      code: 1,
      out: expect.stringContaining(`problem  answer       the service answered 403 forbidden: No\n${' '.repeat(22)}-> ${advice}\n`),
    });
  });

  test('ends with 0 if all is well, after one request, and never shows the key', async () => {
    const before = served.sandbox.requests.length;
    const { code, out, err } = await doctor({ ...well(), PETSTORE_PLAN: 'pro' });
    expect([code, err, served.sandbox.requests.length - before]).toEqual([0, '', 1]);
    expect(out).toContain(`ok       address      ${served.url}: plain http to this machine, ends in /v1 (PETSTORE_BASE_URL)\n`);
    expect(out).toContain('ok       key          from PETSTORE_API_KEY\n');
    expect(out).toContain('ok       plan given   pro (PETSTORE_PLAN)\n');
    expect(out).toMatch(/\nAll is well\n$/);
    expect(out).not.toContain(served.keys.pro);
  });

  test('asks each environment once, and says which each is', async () => {
    const before = served.sandbox.requests.length;
    const env = { ...well(), PETSTORE_STAGING_BASE_URL: served.stagingUrl.replace('127.0.0.1', 'localhost') };
    const { code, out } = await doctor(env, '--json', '--environment', 'production', 'staging');
    const { isWell, environments } = JSON.parse(out);
    expect([code, isWell, served.sandbox.requests.length - before]).toEqual([0, true, 2]);
    expect(environments.map(({ environment, address }: Record<string, unknown>) => [environment, address])).toEqual([
      ['production', served.url],
      ['staging', env.PETSTORE_STAGING_BASE_URL],
    ]);
  });

  test('names the place of --quota-store', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'doctor-')), 'quota.db');
    // A key that this process has not used: it would find the new store restarted.
    const env = { ...well(), PETSTORE_API_KEY: served.keys.free };
    const { code, out } = await doctor(env, '--quota-store', `file:${file}`);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining(`ok       shared       the quota is shared with others in file:${file} (--quota-store)\n`),
    ]);
    rmSync(dirname(file), { recursive: true });
  });

  test.skipIf(process.platform !== 'linux')('does not call the quota shared if the state cannot be opened', async () => {
    const { code, out, err } = await doctor({ ...well(), XDG_STATE_HOME: '/dev/null' });
    expect(err).toContain('this run does not share the quota with others');
    expect([code, out]).toEqual([0, expect.stringContaining('ok       shared       the quota is not shared with other runs\n')]);
  });

  test('names the place of a --quota-store in Redis without its password', () => {
    const settings = checkSettings({ quotaStore: 'redis://user:secret@redis.test:6380/1' }, new FakeTerminal());
    expect(settings.find(({ check }) => check === 'shared')?.message).toBe(
      'the quota is shared with others in redis://redis.test:6380 (--quota-store)',
    );
  });

  test('finds that staging is production', async () => {
    const { code, out } = await doctor({ ...well(), PETSTORE_STAGING_BASE_URL: `${served.url}/` });
    expect(code).toBe(1);
    expect(problemsIn(out)).toEqual([
      expect.stringMatching(/^problem {2}environments production and staging are the same host, 127\.0\.0\.1:\d+$/),
    ]);
    expect(out).toContain('docs/domains.md#production-and-staging');
  });

  test('notes that one host serves both, as a sandbox does', async () => {
    const { code, out } = await doctor({ ...well(), PETSTORE_STAGING_BASE_URL: served.stagingUrl });
    expect([code, out]).toEqual([0, expect.stringMatching(/^note {5}environments .*, at different paths$/m)]);
  });

  test('finds that there is neither key nor address, and sends nothing', async () => {
    const { code, out } = await doctor({});
    expect(code).toBe(3);
    expect(problemsIn(out)).toEqual([
      'problem  key          there is none',
      'problem  client       Cannot make a client without the production address: give --base-url or set PETSTORE_BASE_URL',
    ]);
    expect(out).toMatch(/\n2 problems\n$/);
  });

  test('counts what two environments share once', async () => {
    const env = { PETSTORE_BASE_URL: 'https://shop.example/v1', PETSTORE_STAGING_BASE_URL: 'https://staging.example/v1' };
    const { code, out } = await doctor(env, '--environment', 'production', 'staging');
    expect([code, problemsIn(out)]).toEqual([3, ['problem  key          there is none', 'problem  key          there is none']]);
    expect(out).toMatch(/\n1 problem\n$/);
  });

  test('reads the key file before it says where the key is from', async () => {
    const { code, out } = await doctor({ PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY_FILE: '/nowhere/key' });
    expect([code, out]).toEqual([3, expect.not.stringMatching(/^ok +key /m)]);
    expect(problemsIn(out)).toEqual([
      'problem  key          Cannot read the key from /nowhere/key, which PETSTORE_API_KEY_FILE names: there is no such file',
    ]);
  });

  test.skipIf(process.platform !== 'linux')('ends with 1 as other commands do if the system fails to read the key file', async () => {
    // The beginning of a process's memory cannot be read: EIO.
    const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY_FILE: '/proc/self/mem' };
    const { code, out } = await doctor(env);
    const list = await runCli(['list'], new FakeTerminal({ env }));
    const why = 'Cannot read the key from /proc/self/mem, which PETSTORE_API_KEY_FILE names: it cannot be read (EIO)';
    expect([list, code, problemsIn(out)]).toEqual([1, 1, [`problem  key          ${why}`]]);
  });

  test.each([
    [{ PETSTORE_PLAN: 'gold' }, 'plan given   Cannot use "gold" as PETSTORE_PLAN: it must be '],
    [{ PETSTORE_BASE_URL: 'https://shop.example' }, 'client       Cannot use "https://shop.example" as PETSTORE_BASE_URL: it must be '],
  ])('finds what is wrong beside a bad key: %o', async (bad, other) => {
    const { code, out } = await doctor({ ...well(), PETSTORE_API_KEY: 'psk 1', ...bad });
    const key = 'problem  key          from PETSTORE_API_KEY: it has characters that a key cannot have';
    expect([code, problemsIn(out)]).toEqual([3, [key, expect.stringContaining(`problem  ${other}`)]]);
    expect(out).not.toContain('ok       plan given   gold');
  });

  test('finds that two variables give a key', async () => {
    const { code, out } = await doctor({ ...well(), PETSTORE_API_KEY_FILE: '/nowhere/key' });
    const why = 'Cannot choose between PETSTORE_API_KEY and PETSTORE_API_KEY_FILE: unset one';
    expect([code, problemsIn(out)]).toEqual([3, [`problem  key          ${why}`]]);
  });

  test.each([
    ['"psk_1"', 'it is in quotes'],
    ['Bearer psk_1', 'it begins with "Bearer", which the client adds'],
    ['psk_1\n', 'it begins or ends with white space'],
    ['your-key', 'it is a placeholder'],
    ['psk_ä', 'it has characters that a key cannot have'],
  ])('finds what is wrong with the shape of the key %j', async (key, fault) => {
    const { code, out } = await doctor({ ...well(), PETSTORE_API_KEY: key });
    expect([code, problemsIn(out)]).toEqual([3, [`problem  key          from PETSTORE_API_KEY: ${fault}`]]);
    expect(out).not.toContain(key);
  });

  test('finds what is wrong with the shape of a key in a file', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'doctor-')), 'key');
    writeFileSync(file, '"psk_1"\n');
    const { code, out } = await doctor({ PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY_FILE: file });
    const found = `problem  key          from the file ${file} (PETSTORE_API_KEY_FILE): it is in quotes`;
    expect([code, problemsIn(out)]).toEqual([3, [found]]);
    rmSync(dirname(file), { recursive: true });
  });

  test('finds that the key is one of another environment', async () => {
    const { code, out } = await doctor({ ...well(), PETSTORE_API_KEY: 'psk_of_another' });
    expect([code, problemsIn(out)]).toEqual([3, [expect.stringMatching(/^problem {2}answer {7}the service answered 401 /)]]);
    expect(out).toContain('-> the key is not one of this environment, or is banned for a while');
  });

  test('ends with 3 if the service refuses the key, and with 1 if another environment has another problem', async () => {
    await using stack = new AsyncDisposableStack();
    const server = createServer((_request, response) => response.writeHead(401).end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    stack.defer(() => void server.close());
    const url = `http://127.0.0.1:${portOf(server)}/v1`;
    expect((await doctor({ ...well(), PETSTORE_BASE_URL: url })).code).toBe(3);
    const words = ['--environment', 'production', 'staging'];
    expect((await doctor({ ...well(), PETSTORE_STAGING_BASE_URL: url }, ...words)).code).toBe(3);
    const env = { ...well(), PETSTORE_BASE_URL: `${served.url}/no/v1`, PETSTORE_STAGING_BASE_URL: url };
    expect((await doctor(env, ...words)).code).toBe(1);
  });

  test('ends with 5 if the service closed the key, with one piece of advice', async () => {
    served.sandbox.faults.add({ times: 1, status: 429, headers: { 'retry-after': '900' } });
    const { code, out } = await doctor({ ...well(), PETSTORE_API_KEY: served.keys.business }, '--no-state');
    const lines = [/^problem {2}state .*\n {22}-> wait until then; .*\n/m, /^note {5}answer .* answered 429 .*\nok /m];
    expect({ code, missing: lines.filter((line) => !line.test(out)) }).toEqual({ code: 5, missing: [] });
  });

  test('names the option of the time limit that a silent server exceeds', async () => {
    const server = createServer(() => {});
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    const env = { ...well(), PETSTORE_BASE_URL: `http://localhost:${portOf(server)}/v1` };
    const { code, out } = await doctor(env, '--timeout', '300ms');
    expect([code, problemsIn(out)]).toEqual([1, [expect.stringMatching(/within its --timeout of 300 ms$/)]]);
    server.close();
  });

  test('finds an address without /v1, and one with plain http', async () => {
    expect((await doctor({ ...well(), PETSTORE_BASE_URL: 'https://shop.example' })).out).toMatch(/^problem {2}client .*ends in \/v1$/m);
    expect((await doctor({ ...well(), PETSTORE_BASE_URL: 'http://shop.example/v1' })).out).toMatch(/^problem {2}client .*must be https/m);
  });

  test('says that the option chose the environment if the variable names another', async () => {
    const lines = (out: string) => out.split('\n').filter((line) => line.startsWith('ok       environment '));
    const { out } = await doctor({ ...well(), PETSTORE_ENVIRONMENT: 'staging' }, '--environment', 'production');
    expect(lines(out)).toEqual(['ok       environment  production (--environment)']);
  });

  test('refuses one address for two environments, and sends nothing', async () => {
    const before = served.sandbox.requests.length;
    const err = 'petstore: Cannot use --base-url with two environments: it is the address of one; leave one out\n';
    const words = ['--base-url', served.url, '--environment', 'production', 'staging'];
    expect(await doctor(well(), ...words)).toEqual({ code: 2, out: '', err });
    expect(served.sandbox.requests).toHaveLength(before);
  });

  test('refuses an environment that does not exist', async () => {
    expect(await doctor(well(), '--environment', 'test')).toMatchObject({ code: 2, out: '' });
  });

  test('names the variable whose environment does not exist', async () => {
    const err = 'petstore: Cannot use PETSTORE_ENVIRONMENT=test: it must be one of production, staging\n';
    expect(await doctor({ ...well(), PETSTORE_ENVIRONMENT: 'test' })).toEqual({ code: 2, out: '', err });
  });

  test('names the variable whose plan does not exist', async () => {
    const { code, out } = await doctor({ ...well(), PETSTORE_PLAN: 'gold' });
    expect([code, out]).toEqual([1, expect.stringContaining('problem  plan given   Cannot use "gold" as PETSTORE_PLAN: it must be ')]);
    expect(out).not.toMatch(/^ok +plan given /m);
  });

  test('needs no key with --sandbox', async () => {
    expect(await doctor({}, '--sandbox')).toMatchObject({ code: 0, out: expect.stringMatching(/\nAll is well\n$/) });
  });

  test('reads no environment with --sandbox, which has none', async () => {
    expect((await doctor({ PETSTORE_ENVIRONMENT: 'test' }, '--sandbox')).code).toBe(0);
  });

  test('looks for no proxy, name or connection with --sandbox, which has none', async () => {
    const { out } = await doctor({ HTTP_PROXY: 'http://127.0.0.1:9' }, '--sandbox');
    expect(out).not.toMatch(/^\w+ +(?:proxy|dns|connection) /m);
  });
});

describe('petstore doctor, as a process', () => {
  let cli: { folder: string; file: string };
  let certificates: Certificates;

  beforeAll(async () => {
    cli = await buildCli();
    certificates = await Certificates.open();
    await certificates.makeAuthority('Example Corporation CA');
    await certificates.make('inside', { host: 'localhost', days: 60, by: 'Example Corporation CA' });
  });
  afterAll(async () => {
    await certificates[Symbol.asyncDispose]();
    await rm(cli.folder, { recursive: true });
  });

  async function run(env: Record<string, string>, command = 'doctor'): Promise<{ code: number | null; out: string; err: string }> {
    const child = spawn(process.execPath, [cli.file, command, '--no-state'], { env: { PETSTORE_API_KEY: 'psk_1', ...env } });
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    return { code: await ended, out, err };
  }

  /** A service with a certificate of the company's authority. */
  async function serveInside(stack: AsyncDisposableStack): Promise<string> {
    const server = createHttpsServer(await certificates.get('inside'), (_request, response) => {
      const reset = Math.floor(Date.now() / 1000) + 30;
      response.writeHead(200, { 'x-ratelimit-limit': 60, 'x-ratelimit-remaining': 59, 'x-ratelimit-reset': reset }).end('[]');
    });
    await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
    stack.defer(() => {
      server.closeAllConnections();
      server.close();
    });
    return `https://localhost:${portOf(server)}/v1`;
  }

  /** A proxy that answers every CONNECT with a status, and makes a tunnel if that is 200. */
  async function serveProxy(status: number, stack: AsyncDisposableStack, host = '127.0.0.1'): Promise<string> {
    const proxy = createServer();
    proxy.on('connect', ({ url = '' }, socket) => {
      socket.on('error', () => {});
      if (status !== 200) return socket.end(`HTTP/1.1 ${status} No\r\nContent-Length: 0\r\n\r\n`);
      const [host, port] = url.split(':');
      const onward = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      onward.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, host, resolve));
    stack.defer(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    return `http://user:secret@${host === '::1' ? '[::1]' : host}:${portOf(proxy)}`;
  }

  test('finds an unknown certificate authority, and no problem once NODE_EXTRA_CA_CERTS names it', async () => {
    await using stack = new AsyncDisposableStack();
    const url = await serveInside(stack);
    const before = await run({ PETSTORE_BASE_URL: url });
    expect([before.code, before.out]).toEqual([1, expect.stringContaining('UNABLE_TO_VERIFY_LEAF_SIGNATURE')]);
    const extra = certificates.pathOf('Example Corporation CA');
    const after = await run({ PETSTORE_BASE_URL: url, NODE_EXTRA_CA_CERTS: extra });
    expect([after.code, after.out]).toEqual([0, expect.stringContaining('issued by Example Corporation CA, 59 days left')]);
  });

  test.each([
    [407, '-> check the user and the password: HTTPS_PROXY=http://user:password@…'],
    [403, 'or name the host in NO_PROXY'],
    [502, 'refused to connect to localhost'],
  ])('finds that the proxy answers %i, and does not show its password', async (status, advice) => {
    await using stack = new AsyncDisposableStack();
    const [url, proxy] = [await serveInside(stack), await serveProxy(status, stack)];
    const { code, out } = await run({ PETSTORE_BASE_URL: url, HTTPS_PROXY: proxy });
    expect([code, out]).toEqual([1, expect.stringContaining(advice)]);
    expect(out).toMatch(new RegExp(`^note {5}answer .*a proxy in between refused it with ${status}`, 'm'));
    expect(out).not.toContain('secret');
  });

  test('reaches a proxy over TLS directly, not through itself', async () => {
    const asked: (string | undefined)[] = [];
    const proxy = createHttpsServer(await certificates.get('inside'));
    proxy.on('connect', ({ url }, socket) => {
      asked.push(url);
      socket.on('error', () => {}).end('HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n');
    });
    await new Promise<void>((resolve) => proxy.listen(0, 'localhost', resolve));
    const env = { HTTPS_PROXY: `https://localhost:${portOf(proxy)}`, NODE_EXTRA_CA_CERTS: certificates.pathOf('Example Corporation CA') };
    const { out } = await run({ PETSTORE_BASE_URL: 'https://pets.test/v1', ...env });
    proxy.close();
    expect(out).toMatch(/^problem {2}connection .* refused to connect to pets\.test:443: 407$/m);
    expect(asked).toEqual(['pets.test:443', 'pets.test:443']);
  });

  test('is recommended by other commands, which name the proxy that refused, without its password', async () => {
    await using stack = new AsyncDisposableStack();
    const [url, proxy] = [await serveInside(stack), await serveProxy(407, stack)];
    const { code, err } = await run({ PETSTORE_BASE_URL: url, HTTPS_PROXY: proxy }, 'list');
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(
        /check the proxy http:\/\/\*{3}@127\.0\.0\.1:\d+, which HTTPS_PROXY names, and PETSTORE_BASE_URL, or run `petstore doctor`/,
      ),
    ]);
    expect(err).not.toContain('secret');
  });

  test.each([
    ['other.test, *', 0],
    ['*.localhost', 1],
  ])('reads NO_PROXY=%s by the documented rules, as other commands do', async (exempt, ending) => {
    await using stack = new AsyncDisposableStack();
    const [url, proxy] = [await serveInside(stack), await serveProxy(403, stack)];
    const ca = certificates.pathOf('Example Corporation CA');
    const env = { PETSTORE_BASE_URL: url, HTTPS_PROXY: proxy, NO_PROXY: exempt, NODE_EXTRA_CA_CERTS: ca };
    expect([(await run(env)).code, (await run(env, 'list')).code]).toEqual([ending, ending]);
  });

  test('says which variable names no proxy', async () => {
    const { code, err } = await run({ PETSTORE_BASE_URL: 'https://pets.test/v1', HTTPS_PROXY: 'http://user:100%sure@127.0.0.1:9' });
    const why =
      /^petstore: Cannot use "http:\/\/\*\*\*@127\.0\.0\.1:9" as HTTPS_PROXY: it must be the address .* in the password as .* as %25\n$/;
    expect([code, err]).toEqual([2, expect.stringMatching(why)]);
  });

  test.each([
    ['127.0.0.1', 'http://'],
    ['127.0.0.1', ''],
    ['::1', 'http://'],
  ])('goes through the proxy at %s, which the variable names with the beginning "%s"', async (host, beginning) => {
    await using stack = new AsyncDisposableStack();
    const [url, proxy] = [await serveInside(stack), await serveProxy(200, stack, host)];
    const env = { HTTPS_PROXY: proxy.replace('http://', beginning), NODE_EXTRA_CA_CERTS: certificates.pathOf('Example Corporation CA') };
    const { code, out } = await run({ PETSTORE_BASE_URL: url, ...env });
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^ok {7}proxy {8}http:\/\/\*{3}@(?:127\.0\.0\.1|\[::1\]):\d+, which HTTPS_PROXY names$/m),
    ]);
    expect(out).toMatch(/^ok {7}connection {3}the proxy \S+ leads to localhost:\d+$/m);
  });
});
