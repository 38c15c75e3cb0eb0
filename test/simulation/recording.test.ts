import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { figuresOf } from './compare.ts';
import { readIncident, recordIncident, statusesOf } from './record-incident.ts';
import { replay } from './replay.ts';

/** 150 updates at once under a plan that the key does not have; no header tells what is left. */
const burst = () =>
  recordIncident({
    service: { limitHeaders: { omit: ['limit', 'remaining', 'reset'] } },
    client: { plan: 'business', concurrency: 64, maxWaitMs: 600_000 },
    work: (client) =>
      Promise.allSettled(Array.from({ length: 150 }, (_, index) => client.updateInventory(index + 1, { quantity: 900_000 + index }))),
  });

describe('a replay', () => {
  test('of a burst that met 429s sends as many requests with the same plan, and meets fewer with the right plan', async () => {
    const then = readIncident(await burst());
    const same = figuresOf((await replay(then)).now);
    const right = figuresOf((await replay(then, { plan: 'free' })).now);
    expect(figuresOf(then).refused).toBeGreaterThan(3);
    expect({ requests: same.requests, refused: same.refused, succeeded: same.succeeded }).toEqual({
      requests: figuresOf(then).requests,
      refused: figuresOf(then).refused,
      succeeded: 150,
    });
    expect([right.refused, right.succeeded]).toEqual([0, 150]);
  });

  test('is the same, line by line, when it is played again', async () => {
    const then = readIncident(await burst());
    expect((await replay(then)).text).toBe((await replay(then)).text);
  });

  test('finds how the service counts, and what others sent', async () => {
    const own = await recordIncident({
      service: { policy: 'sliding-log' },
      client: { plan: 'free' },
      work: async (client) => {
        for (let call = 0; call < 90; call++) await client.listInventory();
      },
    });
    const { service } = await replay(readIncident(own));
    expect(service).toEqual({ plan: { requestsPerMinute: 60 }, policy: 'sliding-log', others: [], failures: new Set() });
  });

  test('keeps sequential calls sequential, and shows what a smaller share costs', async () => {
    const then = readIncident(
      await recordIncident({
        client: { plan: 'free' },
        work: async (client) => {
          for (let call = 0; call < 40; call++) await client.listInventory();
        },
      }),
    );
    const half = figuresOf((await replay(then, { share: 0.5 })).now);
    expect(figuresOf((await replay(then)).now)).toEqual(figuresOf(then));
    expect([half.requests, half.succeeded, half.tookMs > figuresOf(then).tookMs + 30_000]).toEqual([40, 40, true]);
  });

  test('meets an outage at its recorded time, and a missing pet in the same call', async () => {
    const then = readIncident(
      await recordIncident({
        service: { faults: [{ at: [3, 4, 5, 6], status: 503 }] },
        client: { plan: 'free' },
        work: async (client, { time }) => {
          await client.listInventory();
          await client.updateInventory(4_711, { quantity: 5 }).catch(() => {});
          await time.wait(1_000);
          await client.listInventory();
        },
      }),
    );
    const { now } = await replay(then);
    expect(statusesOf(then)).toEqual([[200], [404], [503, 503, 503, 503, 200]]);
    expect(statusesOf(now).slice(0, 2)).toEqual([[200], [404]]);
    expect(new Set(statusesOf(now)[2])).toEqual(new Set([503, 200]));
  });
});

describe('readRecording()', () => {
  const first = '{"format":"petstore-recording/1","version":"1.0.0","plan":"learned","atMs":1000}\n';
  const started = '{"atMs":1000,"event":"started","call":1,"operation":"listInventory"}\n';

  test('ignores a torn last line', () => {
    expect(readIncident(`${first}${started}{"atMs":1001,"event":"requ`).calls).toHaveLength(1);
  });

  test('accepts a byte order mark, and blank lines at the end', () => {
    expect(readIncident(`\uFEFF${first}${started}\n\r\n`).calls).toHaveLength(1);
  });

  test('ignores calls whose beginning is not recorded', () => {
    expect(readIncident(`${first}{"atMs":1000,"event":"request","call":7,"attempt":1}\n`).requests).toEqual([]);
  });

  test.each([
    ['', 'its first line must say "format":"petstore-recording/1", and is empty'],
    ['petId,quantity\n1,5\n', 'its first line must say "format":"petstore-recording/1", and is "petId,quantity"'],
    [first.replace('/1', '/2'), 'its first line must say "format":"petstore-recording/1", and is "{\\"format\\":\\"petstore-recording/2'],
    [`${first}{"atMs":1}\n${started}`, 'line 2 is none of a recording: "{\\"atMs\\":1}"'],
    [`${first}${started}${started.replace('1000', '999')}`, 'line 3 is earlier than the line before it: "{\\"atMs\\":999,'],
  ])('refuses %j', (text, why) => {
    expect(() => readIncident(text)).toThrow(`Cannot replay incident.jsonl: ${why}`);
  });
});

describe('figuresOf()', () => {
  test('counts a request that is in flight at the end of a recording as unanswered, not as failed', async () => {
    const text = await recordIncident({ client: { plan: 'free' }, work: (client) => client.listInventory() });
    const { unanswered, failed } = figuresOf(readIncident(text.slice(0, text.indexOf('{', text.indexOf('"request"')))));
    expect({ unanswered, failed }).toEqual({ unanswered: 1, failed: 0 });
  });
});

describe('npm run simulate -- --recording', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'recording-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  const simulate = (...given: string[]) =>
    promisify(execFile)(process.execPath, [new URL('run.ts', import.meta.url).pathname, '--recording', ...given]);

  test('shows what was sent then next to what is sent now, as docs/testing.md does', async () => {
    const path = join(folder, 'incident.jsonl');
    await writeFile(path, await burst());
    const { stdout } = await simulate(path, '--plan', 'free');
    const page = await readFile(new URL('../../docs/testing.md', import.meta.url), 'utf8');
    const [, shown = 'nothing'] = /^ {4}the service, as far as it shows(.*?)^(?! {4}|$)/ms.exec(page) ?? [];
    expect(stdout).toMatch(/^150 calls, recorded by version \S+; plan then: business, now: free$/m);
    expect(stdout).toContain(shown.replace(/^ {4}/gm, '').trimEnd());
  });

  test('says in one line what is wrong with a file that is not a recording', async () => {
    const path = join(folder, 'stock.csv');
    await writeFile(path, 'petId,quantity\n');
    const { code, stderr } = await simulate(path).catch((error) => error);
    expect([code, stderr]).toEqual([
      2,
      `Cannot replay ${path}: its first line must say "format":"petstore-recording/1", and is "petId,quantity"\n`,
    ]);
  });
});
