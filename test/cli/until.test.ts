import { beforeEach, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const NOON = new Date(2026, 10, 21, 12, 0, 0);

let keys = 0;
let sent: { what: string; atMs: number }[];

/** A service of three pets that takes its time for each update. */
function serve(updateMs: number, refusal?: Response): void {
  sent = [];
  vi.stubGlobal('fetch', async (url: string, { method = 'GET', body }: RequestInit) => {
    sent.push({ what: `${method} ${String(url).split('/').at(-1)}`, atMs: Date.now() - NOON.getTime() });
    if (method === 'GET') return refusal?.clone() ?? Response.json([1, 2, 3].map((petId) => ({ petId, quantity: 5, status: 'available' })));
    await new Promise((resolve) => setTimeout(resolve, updateMs));
    return Response.json({ petId: Number(String(url).split('/').at(-1)), ...JSON.parse(String(body)), status: 'available' });
  });
}

beforeEach(() => {
  vi.stubEnv('PETSTORE_BASE_URL', 'https://pets.test/v1');
  keys += 1;
  // What is known of the quota of a key outlives a client.
  vi.stubEnv('PETSTORE_API_KEY', `until-${keys}`);
  vi.stubEnv('PETSTORE_PLAN', 'unlimited');
  vi.useFakeTimers({ now: NOON, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  return () => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.unstubAllEnvs();
  };
});

/** Runs a sync of three pets, and gives also when it ended, in milliseconds from its start. */
async function syncUntil(until: string, words: string[] = []) {
  const terminal = new FakeTerminal({ stdin: 'petId,adjust\n1,1\n2,1\n3,1\n' });
  const running = runCli(['sync', '-', '--no-state', '--concurrency', '1', '--until', until, ...words], terminal).then((code) => ({
    code,
    endedMs: Date.now() - NOON.getTime(),
  }));
  for (let step = 0; step < 40; step++) await vi.advanceTimersByTimeAsync(5_000);
  return { ...(await running), out: terminal.out, err: terminal.err };
}

describe('--until', () => {
  test('sends nothing after its time, and lets the request under way finish', async () => {
    serve(25_000);
    const { code, endedMs, out, err } = await syncUntil('12:00:40');
    expect(sent.map(({ what }) => what)).toEqual(['GET inventory', 'PATCH 1', 'PATCH 2']);
    expect(sent.every(({ atMs }) => atMs < 40_000)).toBe(true);
    expect(endedMs).toBeLessThanOrEqual(51_000);
    expect({ code, out }).toEqual({ code: 5, out: '2 updated, 0 unchanged, 0 missing, 0 failed, 1 pending\n' });
    expect(err).toContain('petstore: the time is up (--until 12:00:40): 2 pets updated, 1 pet left; run it again for the rest');
  });

  test('does not cut the plan of a dry run whose reader pauses beyond its time', async () => {
    serve(0);
    const terminal = new FakeTerminal({ stdin: 'petId,adjust\n1,1\n2,1\n3,1\n' });
    const write = terminal.stdout.write.bind(terminal.stdout);
    terminal.stdout.write = (text, done) => {
      setTimeout(() => write(text, typeof done === 'function' ? done : undefined), 20_000);
      return false;
    };
    const running = runCli(['sync', '-', '--no-state', '--dry-run', '--until', '30s'], terminal);
    for (let step = 0; step < 40; step++) await vi.advanceTimersByTimeAsync(5_000);
    expect({ code: await running, lines: terminal.out.split('\n').length }).toEqual({ code: 0, lines: 10 });
    expect(terminal.out).toContain('3 changes, 0 unchanged, 0 missing: 4 requests');
  });

  test('ends a wait', async () => {
    serve(0, new Response(null, { status: 429, headers: { 'retry-after': '100' } }));
    const { code, endedMs, err } = await syncUntil('30s');
    expect({ code, endedMs }).toEqual({ code: 5, endedMs: 30_000 });
    expect(err).toContain('petstore: the time is up (--until 30s): 0 pets updated, 3 pets left');
  });

  test('ends a dry run, and lists what is pending with --json --lists', async () => {
    serve(0, new Response(null, { status: 429, headers: { 'retry-after': '100' } }));
    const dry = await syncUntil('30s', ['--dry-run']);
    expect(dry).toMatchObject({ code: 5, out: '', err: expect.stringMatching(/the time is up \(--until 30s\); run it again\n$/) });
    const { out } = await syncUntil('30s', ['--json', '--lists']);
    expect(JSON.parse(out)).toMatchObject({ missing: [], pending: [1, 2, 3].map((petId) => ({ petId, adjust: 1 })), stopped: 'abort' });
  });

  test('that is in time changes nothing', async () => {
    serve(10);
    expect(await syncUntil('1h')).toMatchObject({ code: 0, err: '' });
  });

  test('that cannot be used is refused before anything is sent', async () => {
    serve(0);
    expect(await syncUntil('25:00')).toMatchObject({ code: 2, err: expect.stringContaining('Cannot use --until 25:00') });
    expect(sent).toEqual([]);
  });
});
