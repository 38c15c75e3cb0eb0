import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const CLEAR_LINE = '\r\u001b[2K';
const ROWS = 'petId,quantity\n1,5\n';
const PET = { petId: 1, quantity: 5, status: 'available' };

let keys = 0;

beforeEach(() => {
  vi.stubEnv('PETSTORE_BASE_URL', 'https://pets.test/v1');
  keys += 1;
  // What is known of the quota of a key outlives a client.
  vi.stubEnv('PETSTORE_API_KEY', `key-${keys}`);
  vi.useFakeTimers({ now: new Date(2026, 10, 21, 12, 0, 0), toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
  return () => {
    vi.useRealTimers();
    vi.unstubAllEnvs();
  };
});
afterEach(() => {
  vi.unstubAllGlobals();
});

/** The service refuses the first request, with a wait of a minute, and answers the next ones. */
function refuseOnce(status: number): void {
  const answers = [new Response(null, { status, headers: { 'retry-after': '60' } })];
  vi.stubGlobal(
    'fetch',
    async (_url: string, { method }: RequestInit) => answers.shift() ?? Response.json(method === 'PATCH' ? PET : [PET]),
  );
}

/** What was on stderr while the command waited, and in the end. */
async function runWaiting(words: string[], terminal: FakeTerminal): Promise<{ code: number; waiting: string; err: string }> {
  const running = runCli(words, terminal);
  await vi.advanceTimersByTimeAsync(1_000);
  const waiting = terminal.err;
  await vi.advanceTimersByTimeAsync(120_000);
  return { code: await running, waiting, err: terminal.err };
}

test('the announced end of an endpoint is reported on stderr', async () => {
  const headers = { sunset: 'Wed, 30 Jun 2027 00:00:00 GMT' };
  vi.stubGlobal('fetch', async () => Response.json([PET], { headers }));
  const terminal = new FakeTerminal({ stdin: ROWS });
  await runWaiting(['sync', '-', '--dry-run'], terminal);
  expect(terminal.err).toBe('petstore: the service says: GET /inventory deprecated, to stop at 2027-06-30T00:00:00.000Z\n');
});

describe('a wait', () => {
  test.each([
    ['set', ['set', '1', '5'], ''],
    ['list', ['list'], '1 pet\n'],
    ['quota', ['quota', '--max-wait', '2m'], ''],
    ['sync --dry-run', ['sync', '-', '--dry-run'], ''],
  ])('of %s is shown in the last line of a terminal, which is empty afterwards', async (_name, words, last) => {
    refuseOnce(429);
    const { code, waiting, err } = await runWaiting(words, new FakeTerminal({ isTTY: true, stdin: ROWS }));
    expect(waiting).toBe(`${CLEAR_LINE}waiting until 12:01:00, as the service asked`);
    expect({ code, err }).toEqual({ code: 0, err: `${waiting}${CLEAR_LINE}${last}` });
  });

  test('for the list of a sync is shown with its progress, and the bar is back afterwards', async () => {
    refuseOnce(429);
    const { code, waiting, err } = await runWaiting(['sync', '-'], new FakeTerminal({ isTTY: true, stdin: ROWS }));
    const listing = `${CLEAR_LINE}${'░'.repeat(24)} reading the list: 0 pets`;
    expect(waiting).toBe(`${listing}${CLEAR_LINE}waiting until 12:01:00, as the service asked; reading the list: 0 pets`);
    expect({ code, err }).toEqual({ code: 0, err: `${waiting}${listing}${CLEAR_LINE}` });
  });

  test('for quota that is used up names the quota', async () => {
    const headers = { 'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(Date.now() / 1000 + 60) };
    vi.stubGlobal('fetch', async (_url: string, { method }: RequestInit) =>
      Response.json(method === 'PATCH' ? { ...PET, quantity: 7 } : [PET], { headers }),
    );
    const terminal = new FakeTerminal({ isTTY: true, stdin: 'petId,quantity\n1,7\n' });
    const { code, waiting } = await runWaiting(['sync', '-'], terminal);
    expect(waiting).toMatch(/waiting for quota until 12:01:0[01]; 0\/1, 1 request, \d+ s left$/);
    expect(code).toBe(0);
  });

  test('for quota shows the requests that were sent, and not those that wait', async () => {
    const pets = [1, 2, 3, 4].map((petId) => ({ ...PET, petId }));
    vi.stubGlobal('fetch', async (url: string, { method }: RequestInit) =>
      Response.json(method === 'PATCH' ? { ...PET, petId: Number(url.at(-1)), quantity: 7 } : pets),
    );
    const terminal = new FakeTerminal({ isTTY: true, stdin: 'petId,quantity\n1,7\n2,7\n3,7\n4,7\n' });
    const { code, waiting } = await runWaiting(['sync', '-', '--plan', '3/1000'], terminal);
    expect(waiting).toMatch(/waiting for quota until 12:01:0[01]; 2\/4, 3 requests, \d+ s left$/);
    expect(code).toBe(0);
  });

  test('for a service that is down names the service, in the last line', async () => {
    vi.stubGlobal('fetch', async () => Promise.reject(new TypeError('fetch failed')));
    const terminal = new FakeTerminal({ isTTY: true });
    const running = runCli(['list'], terminal);
    await vi.advanceTimersByTimeAsync(5_000);
    expect(terminal.err).toMatch(/ again\n(?:.*)waiting for the service until 12:00:\d\d$/s);
    terminal.interrupt();
    expect(await running).toBe(130);
    expect(terminal.err.endsWith(`${CLEAR_LINE}petstore: interrupted\n`)).toBe(true);
  });

  test('that is interrupted while it is drawn draws nothing later', async () => {
    refuseOnce(429);
    const terminal = new FakeTerminal({ isTTY: true });
    const running = runCli(['list'], terminal);
    await vi.advanceTimersByTimeAsync(0);
    expect(terminal.err).toBe(`${CLEAR_LINE}waiting until 12:01:00, as the service asked`);
    terminal.interrupt();
    expect(await running).toBe(130);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(terminal.err.endsWith(`service asked${CLEAR_LINE}petstore: interrupted\n`)).toBe(true);
  });

  test.each([
    ['where stderr is no terminal', new FakeTerminal()],
    ['at a terminal that cannot draw', new FakeTerminal({ isTTY: true, env: { TERM: 'dumb' } })],
  ])('%s is reported in its own line', async (_where, terminal) => {
    refuseOnce(429);
    const { code, err } = await runWaiting(['set', '1', '5'], terminal);
    expect(code).toBe(0);
    expect(err).toMatch(/^petstore: waiting 6[01] s \(rate-limit\)\n$/);
  });

  test('is reported, and so is a failure, although the clock was set back after the last one', async () => {
    const refusals = () => [new Response(null, { status: 503 }), new Response(null, { status: 429, headers: { 'retry-after': '20' } })];
    const [ofList, ofUpdate] = [refusals(), refusals()];
    const list = () => {
      vi.setSystemTime(Date.now() - 3_600_000);
      return Response.json([PET]);
    };
    vi.stubGlobal('fetch', async (_url: string, { method }: RequestInit) =>
      method === 'PATCH' ? (ofUpdate.shift() ?? Response.json({ ...PET, quantity: 7 })) : (ofList.shift() ?? list()),
    );
    const terminal = new FakeTerminal({ stdin: 'petId,quantity\n1,7\n' });
    expect((await runWaiting(['sync', '-'], terminal)).code).toBe(0);
    expect(terminal.err.replaceAll(/2[01] s/g, '20 s').split('\n')).toEqual([
      expect.stringContaining('the service answered 503'),
      'petstore: waiting 20 s (rate-limit)',
      expect.stringContaining('the service answered 503'),
      'petstore: waiting 20 s (rate-limit)',
      '',
    ]);
  });
});
