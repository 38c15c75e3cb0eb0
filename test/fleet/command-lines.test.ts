import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serveSandbox } from 'petstore-inventory/node';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { takeLock } from '../../src/cli/job-lock.ts';
import { openState } from '../../src/cli/state.ts';
import { FakeTerminal } from '../cli/support/fake-terminal.ts';
import { samplesOf } from '../docs/support/samples.ts';
import { runTogether } from './command-lines.ts';
import { HAS_REDIS, RedisServer } from './redis-server.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LIBRARIES = ['ioredis', 'redis'];
/** What the program needs beside one of them. */
const DEPENDENCIES = ['bottleneck', 'is-network-error', 'ky', 'p-retry', 'zod'];

test('Two command lines and an application that share a file are not banned if windows are shorter than a minute', async () => {
  const seen = await runTogether('file', { windowMs: 5_000, ban: { after: 2, forMs: 600_000 } });
  expect(seen).toMatchObject({ codes: [0, 0], bans: 0 });
  expect(seen.refused).toBeLessThan(3);
});

/** What a program said until its end. */
async function ended(child: ChildProcess): Promise<{ code: number | null; said: string }> {
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      said += chunk;
    });
  }
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, said };
}

describe.skipIf(!HAS_REDIS && !process.env.CI)('petstore --quota-store redis://', () => {
  let redis: RedisServer;

  beforeEach(async () => {
    redis = await RedisServer.start();
  });
  afterEach(() => redis.kill());

  async function open() {
    const state = await openState({ quotaStore: redis.url }, new FakeTerminal());
    if (!state) return expect.unreachable();
    onTestFinished(() => state.close());
    return state;
  }

  test('keeps a lock for one of two machines, and says which one holds it', async () => {
    const terminal = new FakeTerminal();
    const [here, there] = [await open(), await open()];
    const { signal } = new AbortController();
    const wanted = { name: 'restock', onLost: () => expect.unreachable(), signal, terminal };
    const lock = await takeLock({ ...wanted, state: here });
    const second = () => takeLock({ ...wanted, state: there });
    await expect(second()).rejects.toThrow(
      new RegExp(`the lock restock in ${redis.url} is held by process ${process.pid} on .*free in (?:30|2\\d) s`),
    );
    await lock.release();
    await (await second()).release();
  });

  test('frees a lock whose holder died, and renews only for its holder', async () => {
    const lock = (await open()).lock('restock');
    expect(await lock({ id: 'dead', text: 'dead', heldMs: 5_000 })).toBeUndefined();
    expect(await lock({ id: 'next', text: 'next', heldMs: 30_000 })).toEqual({ text: 'dead', leftMs: expect.any(Number) });
    expect(await lock({ id: 'dead', text: 'dead', heldMs: 300 })).toBeUndefined();
    await expect.poll(() => lock({ id: 'next', text: 'next', heldMs: 30_000 })).toBeUndefined();
    expect(await lock({ id: 'dead', text: 'dead', heldMs: 0 })).toEqual({ text: 'next', leftMs: expect.any(Number) });
  });

  /** Runs a packed program beside these libraries, and gives what it said. */
  async function runBeside(libraries: string[], words: string[], env: Record<string, string>) {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-beside-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const modules = join(folder, 'node_modules');
    cpSync(join(ROOT, 'dist'), join(modules, 'petstore-inventory/dist'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(modules, 'petstore-inventory/package.json'));
    for (const name of [...DEPENDENCIES, ...libraries]) {
      mkdirSync(dirname(join(modules, name)), { recursive: true });
      symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
    }
    // One in a folder above must not be found.
    for (const name of LIBRARIES.filter((library) => !libraries.includes(library))) {
      mkdirSync(join(modules, name));
      writeFileSync(join(modules, name, 'package.json'), '{"main":"not-there.js"}');
    }
    const child = spawn(process.execPath, [join(modules, 'petstore-inventory/dist/cli.js'), ...words], {
      env: { PATH: process.env.PATH, ...env },
    });
    return ended(child);
  }

  test.each([['ioredis'], ['redis']])('shares the quota by %s, and quota --reset deletes it', async (library) => {
    const served = await serveSandbox({ plans: { fleet: { requestsPerMinute: 60, requestsPerDay: 1 } }, policy: 'fixed-first' });
    onTestFinished(() => served.close());
    const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.fleet };
    const store = ['--quota-store', redis.url];
    expect(await runBeside([library], ['list', '--csv', ...store], env)).toMatchObject({ code: 0 });
    expect(await runBeside([library], ['list', ...store], env)).toMatchObject({ code: 5 });
    expect(await runBeside([library], ['list', ...store], env)).toMatchObject({ code: 5 });
    expect(served.sandbox.requests.map(({ status }) => status)).toEqual([200, 429]);
    expect(await redis.ask('DBSIZE')).toBe(1);
    expect(await runBeside([library], ['quota', '--reset', ...store], env)).toEqual({
      code: 0,
      said: `forgotten: the quota of this key in ${redis.url}\n`,
    });
    expect(await redis.ask('DBSIZE')).toBe(0);
  });

  test.each([['ioredis'], ['redis']])('that restarts during a run is used again, by %s', async (library) => {
    const petIds = Array.from({ length: 250 }, (_, index) => index + 1);
    const served = await serveSandbox({ window: 4_000, latency: 1_000, pets: petIds.map((petId) => ({ petId, quantity: 0 })) });
    onTestFinished(() => served.close());
    const folder = mkdtempSync(join(tmpdir(), 'petstore-restart-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'tonight.csv');
    writeFileSync(file, `petId,quantity\n${petIds.map((petId) => `${petId},5\n`).join('')}`);
    const env = { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.business, PETSTORE_PLAN: 'business' };
    const running = runBeside([library], ['sync', file, '--quota-store', redis.url], env);
    await expect.poll(() => served.sandbox.requests.length).toBeGreaterThan(5);
    await redis.kill();
    await redis.restart();
    expect(await redis.ask('DBSIZE')).toBe(0);
    expect(await running).toMatchObject({ code: 0 });
    expect(await redis.ask('DBSIZE')).toBe(1);
    expect(served.sandbox.requests.filter(({ status }) => status === 429)).toEqual([]);
  });

  test('with the command for two machines, one of them does the job, once', async () => {
    const [recipe] = samplesOf('docs/cli.md', 'sh two-machines/restock.sh');
    const served = await serveSandbox({ latency: 1_000, pets: [{ petId: 1, quantity: 5 }] });
    onTestFinished(() => served.close());
    const common = mkdtempSync(join(tmpdir(), 'petstore-machines-'));
    onTestFinished(() => rmSync(common, { recursive: true }));
    const line = (recipe?.code ?? '')
      .replace('npx petstore-inventory', `"${process.execPath}" "${join(ROOT, 'dist/cli.js')}"`)
      .replace('redis://10.0.0.5:6379', redis.url)
      .replace('/srv/jobs', common);
    /** Runs the line on a machine, which has its own folder. */
    const runOn = (machine: string) => {
      const cwd = join(common, machine);
      mkdirSync(cwd, { recursive: true });
      writeFileSync(join(cwd, 'tonight.csv'), 'petId,adjust\n1,+2\n');
      const env = { PATH: process.env.PATH, PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, XDG_STATE_HOME: cwd };
      return ended(spawn('sh', ['-c', line], { cwd, env }));
    };
    const together = await Promise.all([runOn('one'), runOn('two')]);
    expect(together.map(({ code }) => code).toSorted()).toEqual([0, 1]);
    expect(together.map(({ said }) => said).join('')).toMatch(/the lock restock in redis:.* is held by process \d+ on /);
    const updates = () => served.sandbox.requests.filter(({ method }) => method === 'PATCH').length;
    expect([updates(), (await runOn('two')).code, updates()]).toEqual([1, 0, 1]);
    expect(served.sandbox.inventory.get(1)).toMatchObject({ quantity: 7 });
  });

  test('without a Redis library says what to install', async () => {
    const env = { PETSTORE_BASE_URL: 'https://pets.test/v1', PETSTORE_API_KEY: 'psk' };
    expect(await runBeside([], ['list', '--quota-store', redis.url], env)).toEqual({
      code: 2,
      said: `petstore: Cannot use ${redis.url} as --quota-store: it needs ioredis or redis: npm install ioredis\n`,
    });
  });
});
