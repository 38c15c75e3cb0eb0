import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { runCli } from '../../src/cli/run-cli.ts';
import { FakeTerminal } from './support/fake-terminal.ts';
import { jobFolder } from './support/job-folder.ts';

describe('the limits of a command', () => {
  test.each([
    ['--share', '0', 'it must be a part of the quota such as 0.5 or 50%'],
    ['--share', '1.5', 'it must be a part of the quota'],
    ['--share', 'half', 'it must be a part of the quota'],
    ['--max-wait', '10', 'it must be a time such as 30s, 10m or 1h30m'],
    ['--timeout', '0s', 'it must be longer than 0s'],
    ['--plan', '5000/', 'it must be one of free, pro, business, unlimited, or requests a minute and a day such as 5000/1000000'],
    ['--plan', '0/5', 'it must be one of free, pro, business, unlimited, or requests a minute and a day such as 5000/1000000'],
    ['--priority', 'high', 'it must be low or normal'],
    ['--concurrency', '1001', 'it must be a whole number from 1 to 1000'],
  ])('%s %s is refused, and nothing is sent', async (option, value, reason) => {
    const { served, sync } = await jobFolder();
    const { code, err } = await sync('petId,quantity\n1,9\n', [option, value]);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(`Cannot use ${option} ${value}: ${reason}`) });
    expect(served.sandbox.requests).toEqual([]);
  });

  test('--wait with --max-wait is refused', async () => {
    const { sync } = await jobFolder();
    expect(await sync('petId,quantity\n1,9\n', ['--wait', '--max-wait', '5m'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('Cannot use --wait with --max-wait'),
    });
  });

  test('--plan and PETSTORE_PLAN take requests a minute and a day', async () => {
    const { run } = await jobFolder();
    expect((await run(['quota', '--plan', '5000/70000'])).out).toMatch(/^day {5}unknown \(at most \d+ of 70000\)$/m);
    vi.stubEnv('PETSTORE_PLAN', '4000/60000');
    expect((await run(['quota'])).out).toMatch(/^day {5}unknown \(at most \d+ of 60000\)$/m);
    expect((await run(['quota', '--sandbox', '--plan', '70/700'])).out).toContain('minute  69 of 70 left');
    vi.stubEnv('PETSTORE_PLAN', '5000/many');
    expect(await run(['quota'])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/"5000\/many" as PETSTORE_PLAN: .* such as PETSTORE_PLAN=5000\/1000000/),
    });
  });

  test('--timeout ends an attempt', async () => {
    const { served, run } = await jobFolder();
    served.sandbox.faults.add({ fail: 'stall', times: 1 });
    const terminal = new FakeTerminal();
    expect((await run(['list', '--timeout', '200ms', '--csv'], terminal)).code).toBe(0);
    expect(terminal.err).toContain('200 ms');
  });
});

describe('in virtual time', () => {
  const NOON = new Date(2026, 10, 21, 12, 0, 0);
  let keys = 0;
  let sentMs: number[];

  /** A service that does not report the day, whose day is used up after the list for this long. */
  function closeFor(seconds: number): void {
    let closedUntilMs = 0;
    sentMs = [];
    vi.stubGlobal('fetch', async (url: string, { method = 'GET', body }: RequestInit) => {
      sentMs.push(Date.now() - NOON.getTime());
      if (method === 'GET') return Response.json([{ petId: 1, quantity: 5, status: 'available' }]);
      closedUntilMs ||= Date.now() + seconds * 1_000;
      const leftMs = closedUntilMs - Date.now();
      if (leftMs > 0) return new Response(null, { status: 429, headers: { 'retry-after': String(Math.ceil(leftMs / 1_000)) } });
      return Response.json({ petId: Number(String(url).split('/').at(-1)), ...JSON.parse(String(body)), status: 'available' });
    });
  }

  beforeEach(() => {
    vi.stubEnv('PETSTORE_BASE_URL', 'https://pets.test/v1');
    keys += 1;
    // What is known of the quota of a key outlives a client.
    vi.stubEnv('PETSTORE_API_KEY', `limits-${keys}`);
    vi.useFakeTimers({ now: NOON, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  });

  async function sync(words: string[]): Promise<{ code: number; err: string }> {
    const terminal = new FakeTerminal({ stdin: 'petId,quantity\n1,9\n' });
    const running = runCli(['sync', '-', ...words], terminal);
    for (let hours = 0; hours < 30; hours++) await vi.advanceTimersByTimeAsync(3_600_000);
    return { code: await running, err: terminal.err };
  }

  test('a wait of six hours ends a job with 5, and --wait continues after it', async () => {
    closeFor(21_600);
    const refused = await sync([]);
    expect(refused).toMatchObject({ code: 5, err: expect.stringContaining('run it again after') });
    expect(refused.err).toContain('petstore: Cannot update pet 1: the service answered 429');
    vi.stubEnv('PETSTORE_API_KEY', `limits-${keys}-again`);
    closeFor(21_600);
    expect((await sync(['--wait'])).code).toBe(0);
    expect(sentMs).toHaveLength(3);
  });

  test('--max-wait 10m waits for nine minutes, and not for eleven', async () => {
    closeFor(540);
    expect((await sync(['--max-wait', '10m'])).code).toBe(0);
    vi.stubEnv('PETSTORE_API_KEY', `limits-${keys}-again`);
    closeFor(660);
    expect((await sync(['--max-wait', '10m'])).code).toBe(5);
  });

  test('--share 0.5 spreads 60 requests of a plan of 60 over two minutes', async () => {
    closeFor(0);
    const rows = Array.from({ length: 59 }, (_, index) => ({ petId: index + 1, quantity: 5, status: 'available' }));
    vi.stubGlobal('fetch', async (url: string, { method = 'GET', body }: RequestInit) => {
      sentMs.push(Date.now() - NOON.getTime());
      if (method === 'GET') return Response.json(rows);
      return Response.json({ petId: Number(String(url).split('/').at(-1)), ...JSON.parse(String(body)), status: 'available' });
    });
    const terminal = new FakeTerminal({ stdin: `petId,adjust\n${rows.map(({ petId }) => `${petId},1`).join('\n')}\n` });
    const running = runCli(['sync', '-', '--plan', '60/1000', '--share', '50%'], terminal);
    await vi.advanceTimersByTimeAsync(59_000);
    expect(sentMs.length).toBeLessThanOrEqual(30);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(await running).toBe(0);
  });
});

describe('--quota-store', () => {
  let home: string;

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'petstore-store-'));
    return () => rmSync(home, { recursive: true });
  });

  /** A service with one request a day, and a run that was refused since a run before has used it. */
  async function usedUp(words: string[]) {
    const job = await jobFolder({ plans: { business: { requestsPerMinute: 60, requestsPerDay: 1 } }, policy: 'fixed-first' });
    await job.run(['list', ...words]);
    await job.run(['list', ...words]);
    return job;
  }

  test('file:PATH shares the quota of the key, and quota --reset deletes it', async () => {
    const words = ['--quota-store', `file:${join(home, 'q.db')}`];
    const { served, run } = await usedUp(words);
    expect((await run(['list', ...words])).code).toBe(5);
    expect(served.sandbox.requests.map(({ status }) => status)).toEqual([200, 429]);
    expect(await run(['quota', '--reset', ...words])).toEqual({
      code: 0,
      out: `forgotten: the quota of this key in file:${join(home, 'q.db')}\n`,
      err: '',
    });
    expect(served.sandbox.requests).toHaveLength(2);
  });

  test('quota --reset deletes what the command line stores by itself, as JSON too', async () => {
    const { run } = await usedUp([]);
    const env = { XDG_STATE_HOME: home, HOME: home, LOCALAPPDATA: home };
    const { code, out } = await run(['quota', '--reset', '--json'], new FakeTerminal({ env }));
    expect({ code, answer: JSON.parse(out) }).toEqual({ code: 0, answer: { forgotten: true, store: expect.stringContaining('quota.db') } });
  });

  test('quota --reset says what it has deleted if it cannot write that to stdout', async () => {
    const { run } = await usedUp([]);
    const terminal = new FakeTerminal({ env: { XDG_STATE_HOME: home, HOME: home, LOCALAPPDATA: home }, stdoutError: 'ENOSPC' });
    const err = expect.stringMatching(/^petstore: Cannot write to stdout: ENOSPC: write; forgotten: the quota of this key in /);
    expect(await run(['quota', '--reset', '--json'], terminal)).toEqual({ code: 1, out: '', err });
  });

  test('quota --reset finds the quota of a key that is part of the address', async () => {
    const { served, run } = await jobFolder();
    const words = ['--quota-store', `file:${join(home, 'q.db')}`, '--base-url', `http://127.0.0.1:9/${served.keys.business}/v1`];
    expect((await run(['list', '--timeout', '1s', ...words])).code).not.toBe(0);
    const records = () => {
      const file = new DatabaseSync(join(home, 'q.db'));
      const { count } = z.object({ count: z.number() }).parse(file.prepare('SELECT count(*) AS count FROM quotas').get());
      file.close();
      return count;
    };
    const before = records();
    const terminal = new FakeTerminal({ env: { PETSTORE_API_KEY: served.keys.business } });
    expect((await run(['quota', '--reset', ...words], terminal)).code).toBe(0);
    expect([before, records()]).toEqual([1, 0]);
  });

  test('quota --reset and --lock are refused for a user without a home folder', async () => {
    const { run, sync } = await jobFolder();
    const refused = (option: string) => {
      const err = `petstore: Cannot use ${option}: this run shares nothing with others; give --quota-store\n`;
      return { code: 2, out: '', err };
    };
    expect(await run(['quota', '--reset'], new FakeTerminal({ env: {} }))).toEqual(refused('--reset'));
    expect(await sync('petId,quantity\n1,2\n', ['--lock', 'a'], new FakeTerminal({ env: {} }))).toEqual(refused('--lock'));
  });

  test.each([
    ['nowhere', 2, 'Cannot use "nowhere" as --quota-store: it must be file:PATH or redis://HOST:PORT'],
    ['file:/no/such/folder/q.db', 2, 'make the folder /no/such/folder first'],
    ['redis://user:secret@host:port', 2, 'Cannot use this as --quota-store: it must be file:PATH or redis://HOST:PORT'],
    ['redis://user:secret@127.0.0.1:1', 1, 'Cannot use redis://127.0.0.1:1 as --quota-store: connect ECONNREFUSED 127.0.0.1:1'],
  ])('%s is refused before anything is sent, and shows no password', async (place, code, reason) => {
    const { served, run } = await jobFolder();
    const refused = await run(['list', '--quota-store', place]);
    expect(refused).toMatchObject({ code, out: '', err: expect.stringContaining(reason) });
    expect(refused.err).not.toContain('secret');
    expect(served.sandbox.requests).toEqual([]);
  });
});
