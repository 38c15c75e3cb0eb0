import { execFileSync } from 'node:child_process';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { chmod, chown, mkdir, open, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, test, vi } from 'vitest';
import { openState } from '../../src/cli/state.ts';
import { FakeTerminal } from './support/fake-terminal.ts';
import { type JobFolder, jobFolder } from './support/job-folder.ts';

const INSTANT = expect.stringMatching(/^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
/** One change, one that is refused, one missing pet and one bad row. */
const ROWS = 'petId,quantity\n1,9\n2,9\n3,5\n99,1\nx,1\n';

/** Runs a job of all kinds of outcomes, and gives its report as text. */
async function reportOf({ served, sync, file }: JobFolder, name: string, words: string[] = []): Promise<string> {
  served.sandbox.faults.add({ status: 400, when: ({ path }) => path === '/inventory/2' });
  await sync(ROWS, ['--max-bad-rows', '1', '--report', file(name), ...words]);
  return readFile(file(name), 'utf8');
}

describe('--report', () => {
  test('writes JSON of every change, failure and reject, the requests and the quota', async () => {
    const job = await jobFolder();
    const report = JSON.parse(await reportOf(job, 'r.json', ['--journal', job.file('j')]));
    expect(report).toMatchObject({
      title: expect.stringMatching(/^sync .*in\.csv$/),
      service: job.served.url,
      journal: job.file('j'),
      dryRun: false,
      from: INSTANT,
      to: INSTANT,
      exitCode: 4,
      counts: { updated: 1, unchanged: 1, missing: 1, failed: 1, pending: 0, rejected: 1 },
      requests: { sent: 3, lists: 1, updates: 2, retries: 0, refused: 0 },
      quota: {
        atStart: { limit: 1_000, remaining: 999, at: INSTANT },
        atEnd: { limit: 1_000, remaining: 997 },
        day: { limit: expect.any(Number) },
      },
      changes: [
        { petId: 1, from: 5, to: 9, result: 'updated', at: INSTANT },
        { petId: 2, from: 5, to: 9, result: 'failed' },
      ],
      failed: [{ petId: 2, quantity: 9, error: { kind: 'bad-request', status: 400 } }],
      missing: [99],
      pending: [],
      rejects: [{ row: 6, reason: 'petId must be an integer, not "x"', text: 'x,1' }],
      waits: [],
    });
  });

  test('counts what was updated before an error ended the run', async () => {
    const { served, sync, file } = await jobFolder();
    const takeJournal = ({ path }: { path: string }): boolean => {
      if (path === '/inventory/2') appendFileSync(file('j'), 'of another process\n');
      return false;
    };
    served.sandbox.faults.add({ status: 400, when: takeJournal });
    const words = ['--journal', file('j'), '--concurrency', '1', '--report', file('r.json')];
    expect(await sync('petId,quantity\n1,9\n2,9\n3,9\n', words)).toMatchObject({ code: 1 });
    expect(JSON.parse(await readFile(file('r.json'), 'utf8')).counts).toMatchObject({ updated: 2, pending: 1 });
  });

  test('does not count an update whose answer has another quantity before an error ended the run', async () => {
    const { served, sync, file } = await jobFolder();
    const body = JSON.stringify({ petId: 1, quantity: 6, status: 'available' });
    served.sandbox.faults.add({ status: 200, body, when: ({ path }) => path === '/inventory/1' });
    const takeJournal = ({ path }: { path: string }): boolean => {
      if (path === '/inventory/2') appendFileSync(file('j'), 'of another process\n');
      return false;
    };
    served.sandbox.faults.add({ status: 400, when: takeJournal });
    const words = ['--journal', file('j'), '--concurrency', '1', '--report', file('r.json')];
    const { err } = await sync('petId,quantity\n1,9\n2,9\n3,9\n', words);
    expect(err).toMatch(/^petstore: 1 pet updated before the run failed\n/);
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({
      counts: { updated: 1, pending: 2 },
      changes: [
        { petId: 1, result: 'pending' },
        { petId: 2, result: 'updated' },
        { petId: 3, result: 'pending' },
      ],
    });
  });

  test('writes CSV with a line for each change, failure and reject', async () => {
    const lines = (await reportOf(await jobFolder(), 'r.csv')).split('\n');
    expect(lines[0]).toBe('what,petId,from,to,row,at,until,detail');
    expect(lines[1]).toMatch(/^run,,,,,20\S+Z,20\S+Z,"Exit code 4: 1 updated, .*; 3 requests sent: 1 list, 2 updates; /);
    expect(lines[2]).toMatch(/^updated,1,5,9,,20\S+Z,,$/);
    expect(lines[3]).toMatch(/^failed,2,5,9,,,,Cannot update pet 2: .*400/);
    expect(lines.slice(4)).toEqual(['missing,99,,,,,,', 'rejected,,,,6,,,"petId must be an integer, not ""x"": x,1"', '']);
  });

  test('reports an update whose answer has another quantity as failed', async () => {
    const { served, sync, file } = await jobFolder();
    const body = JSON.stringify({ petId: 1, quantity: 6, status: 'available' });
    served.sandbox.faults.add({ status: 200, body, when: ({ path }) => path === '/inventory/1' });
    expect((await sync('petId,quantity\n1,9\n', ['--report', file('r.csv')])).code).toBe(4);
    expect((await readFile(file('r.csv'), 'utf8')).split('\n')[2]).toMatch(/^failed,1,5,9,.*with the quantity 6, not 9"?$/);
  });

  test('writes text that can be mailed', async () => {
    const job = await jobFolder();
    const text = (await reportOf(job, 'r.txt')).replaceAll(/20\d\d-\S+Z/g, 'INSTANT').replace(job.file('in.csv'), 'in.csv');
    expect(text.split('\n')).toEqual([
      'petstore sync in.csv',
      'Exit code 4: 1 updated, 1 unchanged, 1 missing, 1 failed, 0 pending, 1 rejected',
      '3 requests sent: 1 list, 2 updates; 0 of them retries, 0 refused (429)',
      'Left at the end: 997 of 1000 (from the last answer); of the day: unknown',
      '',
      `Service   ${job.served.url}`,
      'Journal   none',
      'From      INSTANT',
      expect.stringMatching(/^To {8}INSTANT \(\d+ m?s\)$/),
      '',
      'Changes (2)',
      '           1         5 -> 9         updated INSTANT',
      '           2         5 -> 9         failed',
      '',
      'Failed (1)',
      expect.stringMatching(/^ {2}pet 2 \(quantity 9\): Cannot update pet 2: /),
      '',
      "Missing in the service's list (1)",
      '  pet 99',
      '',
      'Bad rows (1)',
      '  row 6: petId must be an integer, not "x": x,1',
      '',
    ]);
  });

  test('of many changes names a hundred as text, and all as CSV', async () => {
    const pets = Array.from({ length: 150 }, (_, index) => ({ petId: index + 1, quantity: 5 }));
    const { sync, file } = await jobFolder({ pets });
    const rows = `petId,quantity\n${pets.map(({ petId }) => `${petId},6`).join('\n')}\n`;
    await sync(rows, ['--dry-run', '--report', file('r.txt')]);
    expect(await readFile(file('r.txt'), 'utf8')).toContain('\n  and 50 more: a report in .json or .csv names them\n');
    await sync(rows, ['--report', file('r.csv')]);
    expect((await readFile(file('r.csv'), 'utf8')).match(/^updated,/gm)).toHaveLength(150);
  });

  test('reports the wait until then, and what is pending, of a run that is ended', async () => {
    const { served, sync, file } = await jobFolder();
    const terminal = new FakeTerminal();
    served.sandbox.faults.add({ status: 429, headers: { 'retry-after': '60' }, when: ({ path }) => path === '/inventory/1' });
    const running = sync('petId,quantity\n1,9\n', ['--report', file('r.json')], terminal);
    await expect.poll(() => terminal.err).toMatch(/waiting 6\d s/);
    terminal.interrupt('SIGTERM');
    expect((await running).code).toBe(143);
    const report = JSON.parse(await readFile(file('r.json'), 'utf8'));
    expect(report).toMatchObject({
      exitCode: 143,
      ending: 'terminated: 0 pets updated, 1 pet left; run it again for the rest; with adjustments, only with a --journal',
      requests: { sent: 2, refused: 1 },
      changes: [{ petId: 1, from: 5, to: 9, result: 'pending' }],
      pending: [{ petId: 1, quantity: 9 }],
      waits: [{ reason: 'rate-limit', from: INSTANT, until: report.to }],
    });
  });

  test('is written of a run that is refused or fails, too', async () => {
    const { served, sync, file } = await jobFolder();
    await sync('petId,quantity\n1,9\n2,9\n', ['--max-changes', '1', '--report', file('r.json')]);
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({
      exitCode: 2,
      ending: 'Cannot start: 2 of the 4 pets in the list would change, and --max-changes allows at most 1',
      counts: { updated: 0 },
    });
    served.sandbox.faults.add({ status: 501 });
    await sync('petId,quantity\n1,9\n', ['--report', file('r.json')]);
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({ exitCode: 1, ending: expect.stringContaining('501') });
  });

  test('is written of a run whose lock is held', async () => {
    const { sync, file } = await jobFolder();
    const place = `file:${file('q.db')}`;
    const state = await openState({ quotaStore: place }, new FakeTerminal());
    await state?.lock('restock')({ id: 'other', text: '{}', heldMs: 60_000 });
    state?.close();
    await sync('petId,quantity\n1,9\n', ['--lock', 'restock', '--quota-store', place, '--report', file('r.json')]);
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({
      exitCode: 1,
      ending: expect.stringContaining('is held by'),
    });
  });

  test.each(['r.json', 'earlier.json'])('to %s leaves the folder as it is until the run has ended', async (name) => {
    const { served, sync, file } = await jobFolder();
    await writeFile(file('earlier.json'), 'held');
    served.sandbox.faults.add({ fail: 'stall' });
    const terminal = new FakeTerminal();
    const running = sync('petId,quantity\n1,9\n', ['--report', file(name)], terminal);
    await expect.poll(() => served.sandbox.requests).toHaveLength(1);
    expect((await readdir(file(''))).sort()).toEqual(['earlier.json', 'in.csv']);
    expect(await readFile(file('earlier.json'), 'utf8')).toBe('held');
    terminal.interrupt();
    await running;
    expect(JSON.parse(await readFile(file(name), 'utf8')).exitCode).toBe(130);
  });

  test('takes the place of an earlier one in one step, with its permissions, also where a link leads to it', async () => {
    const { sync, file } = await jobFolder();
    await writeFile(file('2026-11-21.json'), 'held');
    await chmod(file('2026-11-21.json'), 0o600);
    await symlink('2026-11-21.json', file('latest.json'));
    await using earlier = await open(file('2026-11-21.json'));
    await sync('petId,quantity\n1,9\n', ['--report', file('latest.json')]);
    expect(await earlier.readFile('utf8')).toBe('held');
    expect(JSON.parse(await readFile(file('2026-11-21.json'), 'utf8')).exitCode).toBe(0);
    expect((await stat(file('2026-11-21.json'))).mode & 0o777).toBe(0o600);
    expect((await readdir(file(''))).sort()).toEqual(['2026-11-21.json', 'in.csv', 'latest.json']);
  });

  test('is written where a link leads, although there is no file yet', async () => {
    const { sync, file } = await jobFolder();
    await mkdir(file('reports'));
    await symlink('reports', file('recent'));
    await symlink('../reports/today.json', file('recent/link.json'));
    await symlink('recent/link.json', file('latest.json'));
    expect((await sync('petId,quantity\n1,9\n', ['--report', file('latest.json')])).code).toBe(0);
    expect(JSON.parse(await readFile(file('reports/today.json'), 'utf8')).exitCode).toBe(0);
    expect(await readlink(file('latest.json'))).toBe('recent/link.json');
    expect((await readdir(file('reports'))).sort()).toEqual(['link.json', 'today.json']);
  });

  test('refuses a link into a folder that does not exist before anything is sent', async () => {
    const { served, sync, file } = await jobFolder();
    await symlink('no/r.json', file('latest.json'));
    expect(await sync('petId,quantity\n1,9\n', ['--report', file('latest.json')])).toMatchObject({ code: 2, out: '' });
    expect(served.sandbox.requests).toEqual([]);
  });

  test.skipIf(process.platform === 'win32')('keeps the owner of an earlier one, and rights that new files do not get', async () => {
    const { sync, file } = await jobFolder();
    const [uid = 0, gid = 0] = process.geteuid?.() === 0 ? [65_534, 65_534] : [process.geteuid?.(), process.getegid?.()];
    await writeFile(file('r.json'), 'held');
    await chown(file('r.json'), uid, gid);
    await chmod(file('r.json'), 0o666);
    expect((await sync('petId,quantity\n1,9\n', ['--report', file('r.json')])).code).toBe(0);
    expect(await stat(file('r.json'))).toMatchObject({ uid, gid, mode: 0o100_666 });
  });

  test.each([
    [[], {}, 0],
    [['--dry-run'], {}, 0],
    [[], { stdoutError: 'ENOSPC' }, 1],
  ])(
    'is written before the result, whose reader may pause, so that a later run replaces it: %j, stdout %j',
    async (words, stdout, exitCode) => {
      const { sync, file } = await jobFolder();
      const all = ['--report', file('r.json'), ...words];
      const terminal = new FakeTerminal(stdout);
      const reader = terminal.pauseReader();
      const running = sync('petId,quantity\n1,7\n', all, terminal);
      await expect.poll(reader.isWaitedFor).toBe(true);
      expect(JSON.parse(await readFile(file('r.json'), 'utf8')).changes).toMatchObject([{ petId: 1, to: 7 }]);
      await sync('petId,quantity\n2,8\n', all);
      reader.read();
      expect((await running).code).toBe(exitCode);
      expect(JSON.parse(await readFile(file('r.json'), 'utf8')).changes).toMatchObject([{ petId: 2, to: 8 }]);
    },
  );

  test('of a finished job keeps the report that it holds, and is written if it holds none', async () => {
    const { served, sync, file } = await jobFolder();
    const rows = 'petId,quantity\n1,9\n';
    await sync(rows, ['--journal', file('j'), '--report', file('r.json')]);
    const held = await readFile(file('r.json'), 'utf8');
    served.sandbox.clear();
    const again = await sync(rows, ['--journal', file('j'), '--report', file('r.json')]);
    expect(again).toEqual({
      code: 0,
      out: '1 updated, 0 unchanged, 0 missing, 0 failed, 0 pending\n',
      err: expect.stringMatching(
        /^petstore: nothing sent: this job was finished at 20\S+Z; a new job needs a new --journal\npetstore: --report r\.json keeps its report of the earlier run\n$/,
      ),
    });
    expect(await readFile(file('r.json'), 'utf8')).toBe(held);
    await sync(rows, ['--journal', file('j'), '--report', file('new.json')]);
    expect(JSON.parse(await readFile(file('new.json'), 'utf8'))).toMatchObject({
      ending: expect.stringMatching(/^nothing sent: .* a new job needs a new --journal$/),
      counts: { updated: 1 },
      requests: { sent: 0 },
    });
    expect(served.sandbox.requests).toEqual([]);
  });

  test('of an undo names what was set back', async () => {
    const { sync, run, file } = await jobFolder();
    await sync('petId,quantity\n1,9\n', ['--journal', file('j')]);
    await run(['undo', file('j'), '--report', file('r.csv')]);
    expect(await readFile(file('r.csv'), 'utf8')).toMatch(/^updated,1,9,5,,20\S+Z,,$/m);
  });

  test.each([
    ['r.pdf', 'its name must end in .json, .csv or .txt, which sets its format'],
    ['no/r.txt', 'its folder no does not exist\n'],
    ['in.csv/r.txt', 'ENOTDIR: not a directory'],
  ])('to %s is refused before anything is sent', async (name, reason) => {
    const { served, sync, file } = await jobFolder();
    expect(await sync('petId,quantity\n1,9\n', ['--report', file(name)])).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining(`Cannot use --report ${name}: ${reason}`),
    });
    expect(served.sandbox.requests).toEqual([]);
  });

  test('with the path of the journal or the rejects is refused, and leaves these files unchanged', async () => {
    const { sync, file } = await jobFolder();
    await writeFile(file('j.csv'), 'held');
    const { code, err } = await sync('petId,quantity\n1,9\n', ['--rejects', file('j.csv'), '--report', file('j.csv')]);
    expect({ code, err }).toEqual({ code: 2, err: 'petstore: Cannot use j.csv as --report: it is --rejects already\n' });
    expect(await readFile(file('j.csv'), 'utf8')).toBe('held');
  });

  test.skipIf(process.platform === 'win32')('refuses a pipe, whose reader would read nothing, before anything is sent', async () => {
    const { served, sync, file } = await jobFolder();
    execFileSync('mkfifo', [file('r.txt')]);
    const { code, err } = await sync('petId,quantity\n1,9\n', ['--report', file('r.txt')]);
    expect({ code, err }).toEqual({ code: 2, err: 'petstore: Cannot use --report r.txt: it is a pipe; name a file\n' });
    expect(served.sandbox.requests).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')('that the disk has no room for ends with 1 when the job is done', async () => {
    const { served, sync, file } = await jobFolder();
    await symlink('/dev/full', file('r.txt'));
    const { code, err } = await sync('petId,quantity\n1,9\n', ['--report', file('r.txt'), '--verbose']);
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('Cannot write --report r.txt: ') });
    expect(err).toMatch(/^caused by Error: E/m);
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(9);
  });

  test.skipIf(process.platform !== 'linux')('that the disk has no room for is told beside the error that ended the run', async () => {
    const { sync, file } = await jobFolder();
    await symlink('/dev/full', file('r.txt'));
    const { code, err } = await sync('petId,quantity\n1,-9\n', ['--report', file('r.txt')]);
    expect(code).toBe(2);
    expect(err).toMatch(
      /^petstore: Cannot write --report r\.txt: E.*\npetstore: Cannot use in\.csv: it would take pet 1 from 5 to -9;.*\n$/,
    );
  });

  test.skipIf(process.platform === 'win32')('whose folder became a file is told beside the result, also of a finished job', async () => {
    const { served, sync, run, file } = await jobFolder();
    const rows = 'petId,quantity\n1,9\n';
    const words = ['--report', file('d/r.json'), '--journal', file('j')];
    await mkdir(file('d'));
    const replaceFolder = () => {
      rmSync(file('d'), { recursive: true });
      writeFileSync(file('d'), '');
    };
    served.sandbox.faults.add({ delayMs: 0, when: ({ method }) => method === 'PATCH' && replaceFolder() === undefined });
    const why = 'petstore: Cannot write --report d/r.json: ENOTDIR: .*';
    const unread = await sync(rows, words, new FakeTerminal({ stdoutError: 'ENOSPC' }));
    expect(unread).toEqual({
      code: 1,
      out: '',
      err: expect.stringMatching(`^${why}\npetstore: Cannot write .*; the result: 1 updated, .*\n$`),
    });
    await rm(file('d'));
    await mkdir(file('d'));
    const terminal = new FakeTerminal();
    vi.spyOn(terminal, 'stdin', 'get').mockImplementation(async function* () {
      replaceFolder();
      yield new TextEncoder().encode(rows);
    });
    const finished = await run(['sync', '-', ...words], terminal);
    expect(finished).toMatchObject({ code: 1, out: expect.stringMatching(/^1 updated, /), err: expect.stringMatching(`\n${why}\n$`) });
  });

  test('tells all results of a run whose result could not be written to stdout', async () => {
    const { served, sync, file } = await jobFolder();
    served.sandbox.faults.add({ status: 400, when: ({ path }) => path === '/inventory/2' });
    const { code } = await sync(
      'petId,quantity\n1,9\n2,9\n3,5\n',
      ['--report', file('r.json')],
      new FakeTerminal({ stdoutError: 'ENOSPC' }),
    );
    expect(code).toBe(1);
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({
      exitCode: 1,
      ending: expect.stringMatching(/^Cannot write to stdout: ENOSPC: write; the result: 1 updated,/),
      counts: { updated: 1, unchanged: 1, failed: 1, pending: 0 },
      failed: [{ petId: 2, error: { kind: 'bad-request' } }],
    });
  });

  test.each([
    ['that could not be written to stdout', [], 1, 'Cannot write to stdout: ENOSPC: write'],
    ['that the run would refuse', ['--max-changes', '1'], 2, expect.stringContaining('--max-changes allows at most 1')],
  ])('tells all results of a dry run %s', async (_what, words, exitCode, ending) => {
    const { sync, file } = await jobFolder();
    const terminal = new FakeTerminal(exitCode === 1 ? { stdoutError: 'ENOSPC' } : {});
    const rows = 'petId,quantity\n1,9\n2,9\n3,5\n99,1\n';
    expect((await sync(rows, ['--dry-run', '--report', file('r.json'), ...words], terminal)).code).toBe(exitCode);
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({
      exitCode,
      ending,
      counts: { updated: 0, unchanged: 1, missing: 1, pending: 2 },
      missing: [99],
    });
  });
});
