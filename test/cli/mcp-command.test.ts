import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { Writable } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import * as z from 'zod/mini';
import { runCli } from '../../src/cli/run-cli.ts';
import { PetStoreClient } from '../../src/client.ts';
import { fileJournal } from '../../src/node/file-journal.ts';
import { type ServedSandbox, serveSandbox } from '../../src/node/serve.ts';
import { undoSync } from '../../src/sync/index.ts';
import { AgentHost } from './support/agent-host.ts';
import { buildCli } from './support/build-cli.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

let cli: { folder: string; file: string };
let served: ServedSandbox;

beforeAll(async () => {
  cli = await buildCli();
});
afterAll(() => rm(cli.folder, { recursive: true }));
beforeEach(async () => {
  served = await serveSandbox({ pets: [...PETS] });
  return () => served.close();
});

const LONG_ID = 9_007_199_254_740_993n;
const PETS = [
  { petId: 1n, quantity: 0, status: 'available' },
  { petId: 2n, quantity: 5, status: 'sold' },
  { petId: LONG_ID, quantity: 7, status: 'available' },
];

const Result = z.object({ content: z.array(z.object({ text: z.string() })), isError: z.optional(z.boolean()) });

/** The official client of a server in this process. */
async function startAgent(options: string[] = [], env: Record<string, string> = {}) {
  const settings = { ...settingsOf(), ...env };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return connect(new AgentHost(['--no-state', ...options], settings));
}

/** The official client, of a server in a process of its own. */
function startProcess(options: string[] = [], env: Record<string, string> = {}) {
  const args = [cli.file, 'mcp', '--no-state', ...options];
  return connect(new StdioClientTransport({ command: process.execPath, args, env: { ...settingsOf(), ...env }, stderr: 'pipe' }));
}

const settingsOf = () => ({ PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder });

async function connect(transport: AgentHost | StdioClientTransport) {
  const agent = new Client({ name: 'test', version: '1.0.0' });
  await agent.connect(transport);
  onTestFinished(() => agent.close());
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    const { content, isError = false } = Result.parse(await agent.callTool({ name, arguments: args }));
    const text = content.map((part) => part.text).join('');
    return isError ? text : JSON.parse(text);
  };
  return { agent, call };
}

const quantities = () => PETS.map(({ petId }) => served.sandbox.inventory.get(petId)?.quantity);
const withJournals = () => ['--allow-updates', '--journals', join(cli.folder, 'my journals')];

describe('petstore mcp', () => {
  test('offers only tools that read, unless updates are allowed', async () => {
    const [reading, updating] = [await startProcess(), await startProcess(withJournals())];
    const namesOf = async ({ agent }: typeof reading) =>
      (await agent.listTools()).tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint]);
    const readOnly = [
      ['list_inventory', true],
      ['get_quota', true],
    ];
    expect(await namesOf(reading)).toEqual(readOnly);
    expect(await namesOf(updating)).toEqual([...readOnly, ['plan_updates', true], ['apply_plan', false]]);
    expect(await reading.call('apply_plan', { planId: 'x' })).toContain('apply_plan not found');
  });

  test('ends as with its stdin when the host no longer reads its stdout, without a stack trace', async () => {
    const host = spawn(process.execPath, [cli.file, 'mcp', '--no-state'], {
      env: { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder },
    });
    onTestFinished(() => void host.kill());
    let err = '';
    host.stderr.on('data', (text) => {
      err += text;
    });
    const clientInfo = { name: 'test', version: '1.0.0' };
    const ask = (id: number, method: string, params: object) =>
      host.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    await once(host.stdout, 'data');
    host.stdout.destroy();
    await once(host.stdout, 'close');
    host.stdin.on('error', () => {});
    ask(2, 'tools/list', {});
    const [code] = await once(host, 'close');
    expect({ code, err }).toEqual({ code: 0, err: '' });
  });

  test.skipIf(process.platform !== 'linux')('ends with 1 and the reason if its answers cannot be written', async () => {
    const full = await open('/dev/full', 'w');
    onTestFinished(() => full.close());
    const host = spawn(process.execPath, [cli.file, 'mcp', '--sandbox'], { stdio: ['pipe', full.fd, 'pipe'] });
    onTestFinished(() => void host.kill());
    let err = '';
    host.stderr?.on('data', (text) => {
      err += text;
    });
    host.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
    const [code] = await once(host, 'close');
    expect({ code, err }).toEqual({ code: 1, err: expect.stringMatching(/^petstore: Cannot write to stdout: ENOSPC: .*\n$/) });
  });

  test('says at a terminal who starts it', async () => {
    const terminal = new FakeTerminal({ isTTY: true });
    expect(await runCli(['mcp', '--sandbox'], terminal)).toBe(0);
    expect(terminal.err).toContain('petstore: this server is for an agent, whose host starts it; Ctrl-C ends it\n');
  });

  test('refuses a bad --max-changes', async () => {
    const host = spawn(process.execPath, [cli.file, 'mcp', '--sandbox', '--max-changes', 'x', '--allow-updates']);
    let err = '';
    host.stderr.on('data', (text) => {
      err += text;
    });
    host.stdin.end();
    const [code] = await once(host, 'close');
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('Cannot use --max-changes x: it must be') });
  });

  test('ends with 1 and the reason at a message that is too long, although its stdin stays open', async () => {
    const host = spawn(process.execPath, [cli.file, 'mcp', '--sandbox']);
    onTestFinished(() => void host.kill());
    let err = '';
    host.stderr.on('data', (text) => {
      err += text;
    });
    host.stdin.on('error', () => {});
    host.stdin.write('a'.repeat(11_000_000));
    const [code] = await once(host, 'close');
    const why = 'petstore: Cannot read stdin: ReadBuffer exceeded maximum size of 10485760 bytes (--verbose shows more)\n';
    expect({ code, err }).toEqual({ code: 1, err: why });
  });

  test('lists pets by page, with ids that JSON does not round, for one request', async () => {
    const { call } = await startAgent();
    const first = await call('list_inventory', { status: 'available', limit: 1 });
    expect(first).toMatchObject({ pets: [{ petId: 1, quantity: 0, status: 'available' }], matching: 2, total: 3, nextOffset: 1 });
    const rest = await call('list_inventory', { status: 'available', offset: first.nextOffset });
    expect(rest).toMatchObject({ pets: [{ petId: String(LONG_ID), quantity: 7 }], matching: 2 });
    expect(rest.nextOffset).toBeUndefined();
    expect((await call('list_inventory', { petIds: ['002', String(LONG_ID)], below: 6 })).pets).toEqual([
      { petId: 2, quantity: 5, status: 'sold' },
    ]);
    expect(await call('get_quota')).toMatchObject({ quota: { minute: { limit: 300, remaining: 299 } } });
  });

  test('says which statuses are known if no pet has an unknown one', async () => {
    served.sandbox.inventory.set(9, { quantity: 2, status: 'lost' });
    const { call } = await startAgent();
    const note = 'no pet has the status "availble"; known are available, pending, sold, lost';
    expect(await call('list_inventory', { status: 'availble' })).toMatchObject({ pets: [], matching: 0, note });
    expect(await call('list_inventory', { status: 'pending' })).not.toHaveProperty('note');
    expect(await call('list_inventory', { status: 'lost', below: 1 })).not.toHaveProperty('note');
  });

  test('says which of the ids that are asked for the list lacks', async () => {
    const { call } = await startAgent();
    const petIds = [1, 999, String(LONG_ID + 2n)];
    const note = `not in the list: 999, ${LONG_ID + 2n}`;
    expect(await call('list_inventory', { petIds })).toMatchObject({ pets: [{ petId: 1 }], note });
    expect(await call('list_inventory', { petIds: [1], below: 0 })).not.toHaveProperty('note');
  });

  test('plans, applies a shown plan once, and keeps a journal that can be undone', async () => {
    const { call } = await startProcess(withJournals());
    const updates = [
      { petId: 1, quantity: 40 },
      { petId: String(LONG_ID), adjust: -2 },
      { petId: 2, quantity: 5 },
      { petId: 99, quantity: 1 },
    ];
    const plan = await call('plan_updates', { updates });
    expect(plan).toMatchObject({
      changes: [
        { petId: 1, from: 0, to: 40 },
        { petId: String(LONG_ID), from: 7, to: 5 },
      ],
      unchanged: 1,
      missing: [99],
      requests: 3,
    });
    expect(quantities()).toEqual([0, 5, 7]);
    const { planId } = plan;
    const applied = await call('apply_plan', { planId });
    const undo = `petstore undo '${applied.journal}'`;
    expect(applied).toMatchObject({ updated: 2, unchanged: 1, missing: [99], failed: [], pending: 0, undo });
    expect(quantities()).toEqual([40, 5, 5]);
    const sent = served.sandbox.requests.length;
    expect(await call('apply_plan', { planId })).toMatchObject({ updated: 2, finishedAt: expect.any(String) });
    expect(served.sandbox.requests.slice(sent)).toEqual([]);

    const client = new PetStoreClient({ baseUrl: served.url, apiKey: served.keys.pro, int64: 'bigint' });
    await undoSync(client, { journal: fileJournal(applied.journal) });
    expect(quantities()).toEqual([0, 5, 7]);
  });

  test('keeps no journal of a sandbox once it ends, and names none', async () => {
    const home = await mkdtemp(join(tmpdir(), 'petstore-home-'));
    onTestFinished(() => rm(home, { recursive: true }));
    const env = { HOME: home, LOCALAPPDATA: home, TMPDIR: home, TEMP: home, NODE_DISABLE_COMPILE_CACHE: '1' };
    const { agent, call } = await startProcess(['--sandbox', '--allow-updates'], env);
    const { planId } = await call('plan_updates', { updates: [{ petId: 1, quantity: 40 }] });
    const applied = await call('apply_plan', { planId });
    expect([applied.updated, applied.journal, applied.undo]).toEqual([1, undefined, undefined]);
    await agent.close();
    await expect.poll(() => readdir(home)).toEqual([]);
  });

  test('applies a plan to its end for one call, even if another call of it that began the run is cancelled', async () => {
    const { agent, call } = await startAgent(withJournals());
    const { planId } = await call('plan_updates', { updates: [1, 2].map((petId) => ({ petId, quantity: 30 })) });
    served.sandbox.faults.add({ delayMs: 300, when: ({ method }) => method === 'PATCH', times: 1 });
    const controller = new AbortController();
    const first = agent.callTool({ name: 'apply_plan', arguments: { planId } }, undefined, controller).catch(() => {});
    await expect.poll(() => served.sandbox.requests.at(-1)?.method).toBe('PATCH');
    const second = call('apply_plan', { planId });
    await new Promise((resolve) => setTimeout(resolve, 50));
    controller.abort();
    expect(await second).toMatchObject({ updated: 2, pending: 0 });
    await first;
    expect(quantities()).toEqual([30, 30, 7]);
  });

  test('applies a plan for one call, even if another call of it is cancelled before its journal is read', async () => {
    const { agent, call } = await startAgent(withJournals());
    const plans = [1, 2].map((petId) => call('plan_updates', { updates: [{ petId, quantity: 30 }] }));
    const [{ planId: other }, { planId }] = await Promise.all(plans);
    served.sandbox.faults.add({ delayMs: 300, when: ({ method }) => method === 'PATCH', times: 1 });
    const controller = new AbortController();
    const before = call('apply_plan', { planId: other });
    const first = agent.callTool({ name: 'apply_plan', arguments: { planId } }, undefined, controller).catch(() => {});
    const second = call('apply_plan', { planId });
    await expect.poll(() => served.sandbox.requests.at(-1)?.method).toBe('PATCH');
    controller.abort();
    expect([await before, await second]).toMatchObject([{ updated: 1 }, { updated: 1 }]);
    await first;
    expect(quantities()).toEqual([30, 30, 7]);
  });

  test('applies only one of two plans that adjust the same pet, even if both are applied at once', async () => {
    const { call } = await startAgent(withJournals());
    const adjustments = [3, 4].map((adjust) => call('plan_updates', { updates: [{ petId: 2, adjust }] }));
    const plans = await Promise.all(adjustments);
    served.sandbox.faults.add({ delayMs: 50 });
    const [first, second] = await Promise.all(plans.map(({ planId }) => call('apply_plan', { planId })));
    expect([first, second]).toEqual([
      expect.objectContaining({ updated: 1 }),
      'Cannot apply the plan: pet 2 would now go from 8 to 12, and the plan shows 5 to 9; make a new plan',
    ]);
    expect(quantities()).toEqual([0, 8, 7]);
  });

  test('says until when the key is closed, for a plan and for one that it had begun to apply', async () => {
    const { agent, call } = await startAgent(withJournals());
    const updates = [1, 2].map((petId) => ({ petId, quantity: 30 }));
    const { planId } = await call('plan_updates', { updates });
    const closed = { status: 429, headers: { 'retry-after': '3600' } };
    served.sandbox.faults.add({ ...closed, when: ({ petId }) => petId === 2n, times: 1 });
    const result = Result.parse(await agent.callTool({ name: 'apply_plan', arguments: { planId } }));
    const until = /^Cannot .*20\d\d-\d\d-\d\dT.*Z.*; try again then$/;
    expect(result.isError).toBe(true);
    expect(JSON.parse(result.content[0]?.text ?? '')).toMatchObject({ stopped: 'quota', error: expect.stringMatching(until) });
    expect(await call('plan_updates', { updates })).toMatch(until);
  });

  test('applies no plan that it did not show, and none that would now change something else', async () => {
    const { call } = await startAgent(withJournals());
    expect(await call('apply_plan', { planId: 'made-up'.repeat(100) })).toBe(
      'Cannot apply the plan "made-upmade-upmade-upmade-upmade-upmade-": it is not among the last 100 plans that were shown; make a new one with plan_updates',
    );
    const { planId } = await call('plan_updates', { updates: [{ petId: 1, adjust: 3 }] });
    served.sandbox.inventory.set(1, { quantity: 10 });
    expect(await call('apply_plan', { planId })).toBe(
      'Cannot apply the plan: pet 1 would now go from 10 to 13, and the plan shows 0 to 3; make a new plan',
    );
    expect(quantities()).toEqual([10, 5, 7]);
  });

  test.each([
    [
      'more changes than --max-changes',
      ['--max-changes', '1'],
      [
        { petId: 1, quantity: 1 },
        { petId: 2, quantity: 1 },
      ],
      '--max-changes` allows at most 1',
    ],
    ['a stock below zero', [], [{ petId: 2, adjust: -6 }], 'pet 2 would go from 5 to -1; a stock below zero needs --allow-negative'],
    ['both of quantity and adjust', [], [{ petId: 2, adjust: 1, quantity: 1 }], 'Cannot plan for pet 2: give either quantity or adjust'],
    ['an id that is none', [], [{ petId: 'one', quantity: 1 }], 'petId'],
  ])('refuses a plan of %s, and sends no update', async (_what, options, updates, message) => {
    const { call } = await startAgent([...withJournals(), ...options]);
    expect(await call('plan_updates', { updates })).toContain(message.replace('`', ''));
    expect(served.sandbox.requests.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });

  test('refuses a plan of more than 100 changes by default', async () => {
    const petIds = Array.from({ length: 101 }, (_, index) => index + 1);
    for (const petId of petIds) served.sandbox.inventory.set(petId, { quantity: 1 });
    const { call } = await startAgent(withJournals());
    const planOf = (ids: number[]) => call('plan_updates', { updates: ids.map((petId) => ({ petId, quantity: 2 })) });
    expect(await planOf(petIds)).toContain('--max-changes allows at most 100');
    expect((await planOf(petIds.slice(1))).changes).toHaveLength(100);
  });

  test('says in words what is wrong with a call, without the key, and continues', async () => {
    const key = 'psk_wrong_S3cret';
    const { call, agent } = await startAgent([], { PETSTORE_API_KEY: key });
    const text = await call('list_inventory');
    expect(text).toMatch(
      /^Cannot read the inventory: the service answered 401 .*check the key in PETSTORE_API_KEY or PETSTORE_API_KEY_FILE: .*, or is banned for a while$/,
    );
    expect(text).not.toContain(key);
    await agent.ping();
  });

  test('refuses an argument that it does not know, and names the known ones', async () => {
    const { call } = await startAgent(withJournals());
    expect(await call('list_inventory', { pet_id: 1 })).toContain('Unknown argument pet_id (known: status, below, petIds, offset, limit)');
    expect(await call('plan_updates', { updates: [{ petId: 1, qty: 3, quantity: 2 }] })).toContain(
      'Unknown argument qty (known: petId, quantity, adjust) at updates[0]',
    );
    expect(await call('apply_plan', { planId: 'x', dryRun: true })).toContain('Unknown argument dryRun (known: planId)');
    // Some hosts send an argument to a tool that has none.
    expect(await call('get_quota', { random_string: '' })).toHaveProperty('quota');
  });

  test('refuses an id beyond int64, which no pet can have', async () => {
    const { call } = await startAgent();
    expect(await call('list_inventory', { petIds: ['9223372036854775808'] })).toContain('Beyond int64 at petIds[0]');
    expect(await call('list_inventory', { petIds: ['9223372036854775807', '-9223372036854775808'] })).toMatchObject({ pets: [] });
    expect(await call('list_inventory', { petIds: ['one'] })).toContain('must match pattern /^-?\\d{1,19}$/ at petIds[0]');
  });

  test('reports progress, and ends when its stdin ends', async () => {
    const { agent, call } = await startProcess(withJournals());
    const { planId } = await call('plan_updates', { updates: [{ petId: 1, quantity: 3 }] });
    const told: { progress: number; total?: number | undefined }[] = [];
    const onprogress = (progress: (typeof told)[number]) => told.push(progress);
    await agent.callTool({ name: 'apply_plan', arguments: { planId } }, undefined, { onprogress });
    // The client may drop the last one, which comes with the answer.
    expect(told[0]).toEqual({ progress: 0, total: 1 });
    // The protocol wants each larger than the one before.
    const steps = told.map(({ progress }) => progress);
    expect(steps).toEqual([...new Set(steps)]);
    const { transport } = agent;
    const pid = transport instanceof StdioClientTransport ? (transport.pid ?? 0) : 0;
    await agent.close();
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  describe('answers the calls under way', () => {
    const initialize = {
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
    };
    const toolCall = (id: number, name: string, args: object = {}) => ({ id, method: 'tools/call', params: { name, arguments: args } });
    const lineOf = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
    const Answers = z.array(z.object({ id: z.number(), result: z.unknown() }));
    const answersIn = (out: string) =>
      Answers.parse(
        out
          .split('\n')
          .filter(Boolean)
          .map((line) => JSON.parse(line)),
      );

    /** A server whose stdin a test ends, with an agent's plan for three pets that it has begun to apply. */
    async function startApplying() {
      const host = spawn(process.execPath, [cli.file, 'mcp', '--no-state', ...withJournals()], {
        env: { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder },
      });
      onTestFinished(() => void host.kill('SIGKILL'));
      let out = '';
      host.stdout.on('data', (text) => {
        out += text;
      });
      const say = (message: object) => host.stdin.write(lineOf(message));
      const answerTo = (id: number) => Result.parse(answersIn(out).find((answer) => answer.id === id)?.result).content[0]?.text ?? '';
      say(initialize);
      say(toolCall(2, 'plan_updates', { updates: PETS.map(({ petId }) => ({ petId: String(petId), adjust: 5 })) }));
      await expect.poll(() => answerTo(2)).toContain('planId');
      const { planId } = JSON.parse(answerTo(2));
      served.sandbox.faults.add({ delayMs: 300, when: ({ method }) => method === 'PATCH' });
      say(toolCall(3, 'apply_plan', { planId }));
      await expect.poll(() => served.sandbox.requests.at(-1)?.method, { interval: 5 }).toBe('PATCH');
      const kinds = async () => {
        const folder = join(cli.folder, 'my journals');
        const [name = ''] = (await readdir(folder)).filter((each) => each.includes(planId));
        return [...(await readFile(join(folder, name), 'utf8')).matchAll(/"type":"(\w+)"/g)].map(([, kind]) => kind);
      };
      return { host, say, answerTo, kinds };
    }

    const WHOLE_JOB = ['job', 'run', 'intent', 'intent', 'intent', 'done', 'done', 'done', 'end'];

    test('when its stdin ends', async () => {
      const host = spawn(process.execPath, [cli.file, 'mcp', '--no-state'], {
        env: { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder },
      });
      onTestFinished(() => void host.kill('SIGKILL'));
      let out = '';
      host.stdout.on('data', (text) => {
        out += text;
      });
      host.stdin.end([initialize, toolCall(2, 'list_inventory'), { id: 3, method: 'tools/list', params: {} }].map(lineOf).join(''));
      const [code] = await once(host, 'close');
      expect([code, answersIn(out).map(({ id }) => id)]).toEqual([0, [1, 3, 2]]);
    });

    test.each([
      ['its stdin ends', 0, (host: ChildProcessWithoutNullStreams) => host.stdin.end()],
      ['SIGTERM comes', 143, (host: ChildProcessWithoutNullStreams) => host.kill('SIGTERM')],
    ])('when %s while a plan is applied, and closes its journal', async (_what, exitCode, end) => {
      const { host, answerTo, kinds } = await startApplying();
      end(host);
      const [code] = await once(host, 'close');
      expect([code, JSON.parse(answerTo(3))]).toEqual([exitCode, expect.objectContaining({ updated: 3, pending: 0 })]);
      expect(await kinds()).toEqual(WHOLE_JOB);
    });

    test.each([
      [
        'its call is cancelled',
        ({ say }: Awaited<ReturnType<typeof startApplying>>) => say({ method: 'notifications/cancelled', params: { requestId: 3 } }),
      ],
      ['its host no longer reads', ({ host }: Awaited<ReturnType<typeof startApplying>>) => host.stdout.destroy()],
    ])('but not that of a plan if %s: it finishes its updates, and closes its journal', async (_what, leave) => {
      const started = await startApplying();
      leave(started);
      started.host.stdin.end();
      const [code] = await once(started.host, 'close');
      expect(code).toBe(0);
      expect(await started.kinds()).toEqual(WHOLE_JOB);
    });

    test('however slowly they are read, with nothing on stderr', async () => {
      for (let petId = 1; petId <= 1000; petId += 1) served.sandbox.inventory.set(petId, { quantity: 1, status: 'available' });
      const host = spawn(process.execPath, [cli.file, 'mcp', '--no-state'], {
        env: { PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro, HOME: cli.folder },
      });
      onTestFinished(() => void host.kill('SIGKILL'));
      let [out, err] = ['', ''];
      host.stderr.on('data', (text) => {
        err += text;
      });
      const ids = Array.from({ length: 20 }, (_, index) => index + 2);
      const lists = ids.map((id) => toolCall(id, 'list_inventory', { limit: 1000 }));
      host.stdin.end([initialize, ...lists].map(lineOf).join(''));
      await expect.poll(() => served.sandbox.requests.length).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 300));
      host.stdout.on('data', (text) => {
        out += text;
      });
      const [code] = await once(host, 'close');
      expect([code, err, answersIn(out).map(({ id }) => id)]).toEqual([0, '', [1, ...ids]]);
    });

    test('with an error that says what failed when SIGTERM comes while they wait', async () => {
      const { host, say, answerTo, kinds } = await startApplying();
      served.sandbox.faults.add({ fail: 'stall' });
      say(toolCall(4, 'list_inventory', {}));
      say(toolCall(5, 'plan_updates', { updates: [{ petId: 1, quantity: 3 }] }));
      await expect.poll(() => served.sandbox.requests.filter(({ method }) => method === 'GET').length).toBeGreaterThan(3);
      host.kill('SIGTERM');
      const [code] = await once(host, 'close');
      const ended = 'the server ends (terminated); try again once it is started again';
      expect([code, answerTo(4), answerTo(5)]).toEqual([143, `Cannot list the inventory: ${ended}`, `Cannot plan the updates: ${ended}`]);
      expect([JSON.parse(answerTo(3)), await kinds()]).toEqual([expect.objectContaining({ updated: 3, pending: 0 }), WHOLE_JOB]);
    });

    test('before it ends, even if a write to stdout takes long', async () => {
      const log: string[] = [];
      const terminal = new FakeTerminal({ stdin: [initialize, { id: 2, method: 'tools/list', params: {} }].map(lineOf).join('') });
      const stdout = new Writable({
        write(chunk, _encoding, done) {
          setTimeout(() => {
            for (const { id } of answersIn(String(chunk))) log.push(`answer ${id} is written`);
            done();
          }, 50);
        },
      });
      await runCli(['mcp', '--sandbox'], Object.defineProperty(terminal, 'stdout', { value: stdout }));
      log.push('mcp ends');
      expect(log).toEqual(['answer 1 is written', 'answer 2 is written', 'mcp ends']);
    });

    test('at a signal for as long as the host reads, or five seconds', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const terminal = new FakeTerminal({ stdin: lineOf(initialize) });
      const write = vi.fn();
      const stdout = new Writable({ write });
      const running = runCli(['mcp', '--sandbox'], Object.defineProperty(terminal, 'stdout', { value: stdout }));
      await expect.poll(() => write).toHaveBeenCalled();
      terminal.interrupt('SIGTERM');
      await vi.advanceTimersByTimeAsync(5_000);
      expect([await running, terminal.exited]).toEqual([143, undefined]);
    });

    test('for a minute and five seconds if the host does not read, and drops what stdout holds after five more', async () => {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      onTestFinished(() => void vi.useRealTimers());
      const terminal = new FakeTerminal({ stdin: lineOf(initialize) });
      const write = vi.fn();
      const running = runCli(['mcp', '--sandbox'], Object.defineProperty(terminal, 'stdout', { value: new Writable({ write }) }));
      await expect.poll(() => write).toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(60_000);
      await vi.advanceTimersByTimeAsync(5_000);
      expect([await running, terminal.exited]).toEqual([0, undefined]);
      await vi.advanceTimersByTimeAsync(5_000);
      expect(terminal.exited).toBe(0);
    });

    test('for a minute at most', async () => {
      vi.stubEnv('PETSTORE_BASE_URL', served.url);
      vi.stubEnv('PETSTORE_API_KEY', served.keys.pro);
      onTestFinished(() => {
        vi.unstubAllEnvs();
        vi.useRealTimers();
      });
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      served.sandbox.faults.add({ fail: 'stall' });
      const terminal = new FakeTerminal({ stdin: [initialize, toolCall(2, 'list_inventory')].map(lineOf).join('') });
      const running = runCli(['mcp', '--no-state', '--timeout', '10m'], terminal);
      await expect.poll(() => served.sandbox.requests).toHaveLength(1);
      await vi.advanceTimersByTimeAsync(60_000);
      expect(await running).toBe(0);
      const text = 'Cannot list the inventory: the server ends (stdin ended a minute ago); try again once it is started again';
      expect(answersIn(terminal.out).at(-1)).toEqual({ id: 2, result: { content: [{ type: 'text', text }], isError: true } });
    });
  });

  test('names the journal by its whole path, since a user who undoes the plan is in another folder', async () => {
    const folder = join(cli.folder, 'my journals');
    const { call } = await startAgent(['--allow-updates', '--journals', relative(process.cwd(), folder)]);
    const { planId } = await call('plan_updates', { updates: [{ petId: 1, quantity: 3 }] });
    const { journal, undo } = await call('apply_plan', { planId });
    expect(dirname(journal)).toBe(folder);
    expect(undo).toBe(`petstore undo '${journal}'`);
  });

  test('keeps its journals in a folder of the user by default', async () => {
    const home = join(cli.folder, 'home');
    const { call } = await startAgent(['--allow-updates'], { HOME: home, XDG_STATE_HOME: home });
    const { planId } = await call('plan_updates', { updates: [{ petId: 1, quantity: 3 }] });
    await call('apply_plan', { planId });
    expect(await readdir(join(home, 'petstore/journals'))).toEqual([
      expect.stringMatching(new RegExp(`^mcp-\\d{4}-\\d\\d-\\d\\d-${planId}\\.journal$`)),
    ]);
  });
});

test('No other command loads the Model Context Protocol', async () => {
  const { metafile } = await build({
    entryPoints: [new URL('../../src/cli/main.ts', import.meta.url).pathname],
    outdir: 'dist',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    write: false,
    metafile: true,
    external: ['ioredis', 'redis'],
  });
  const holding = Object.entries(metafile.outputs).filter(([, { inputs }]) =>
    Object.keys(inputs).some((path) => path.includes('@modelcontextprotocol')),
  );
  const importing = Object.values(metafile.outputs).flatMap(({ imports }) =>
    imports.filter(({ path }) => holding.some(([held]) => held === path)),
  );
  expect(holding).toHaveLength(1);
  expect(importing.map(({ kind }) => kind)).toEqual(['dynamic-import']);
});
