import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { jobFolder } from './support/job-folder.ts';

describe('--record', () => {
  test('writes what a job sent, without key, ids and quantities', async () => {
    const { served, file, sync } = await jobFolder({ pets: [{ petId: 4_711_000_000_001, quantity: 5 }] });
    const { code } = await sync('petId,quantity\n4711000000001,987654321\n', ['--record', file('incident.jsonl')]);
    const text = await readFile(file('incident.jsonl'), 'utf8');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(code).toBe(0);
    expect(served.sandbox.requests.map(({ method }) => method)).toEqual(['GET', 'PATCH']);
    expect(lines[0]).toMatchObject({ format: 'petstore-recording/1' });
    expect(lines.filter(({ event }) => event === 'response').map(({ status }) => status)).toEqual([200, 200]);
    expect(text).not.toMatch(new RegExp(`4711000000001|987654321|${served.keys.business}|${new URL(served.url).host}`));
  });

  test('refuses a file that holds something already, and leaves it as it is', async () => {
    const { served, file, run } = await jobFolder();
    await run(['list', '--record', file('incident.jsonl')]);
    const before = await readFile(file('incident.jsonl'), 'utf8');
    const sent = served.sandbox.requests.length;
    const { code, err } = await run(['list', '--record', file('incident.jsonl')]);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'petstore: Cannot use --record incident.jsonl: the file is not empty; name a new one, so that nothing in it is lost\n',
    });
    expect([await readFile(file('incident.jsonl'), 'utf8'), served.sandbox.requests.length]).toEqual([before, sent]);
  });

  test('takes an empty file', async () => {
    const { file, run } = await jobFolder();
    await writeFile(file('incident.jsonl'), '');
    expect(await run(['list', '--record', file('incident.jsonl')])).toMatchObject({ code: 0 });
    expect(await readFile(file('incident.jsonl'), 'utf8')).toContain('"format"');
  });

  test.each([
    ['in.csv', ['--record', 'in.csv'], 'the input'],
    ['the.journal', ['--journal', 'the.journal', '--record', 'the.journal'], '--journal'],
    ['linked.csv', ['--record', 'linked.csv'], 'the input'],
    ['linked.csv', ['--rejects', 'linked.csv'], 'the input'],
    ['linked.csv', ['--report', 'linked.csv'], 'the input'],
  ])('refuses %s, which the job uses already (%j)', async (name, words, known) => {
    const { served, file, sync } = await jobFolder();
    await writeFile(file('in.csv'), '');
    await symlink(file('in.csv'), file('linked.csv'));
    const text = 'petId,quantity\n1,6\n';
    const { code, err } = await sync(
      text,
      words.map((word) => (word.startsWith('--') ? word : file(word))),
    );
    expect({ code, err }).toEqual({
      code: 2,
      err: `petstore: Cannot use ${name} as ${words.at(-2)}: it is ${known} already\n`,
    });
    expect([await readFile(file('in.csv'), 'utf8'), served.sandbox.requests]).toEqual([text, []]);
  });

  test('refuses a path that cannot be written, and sends nothing', async () => {
    const { served, file, run } = await jobFolder();
    const { code, err } = await run(['list', '--record', file('none/incident.jsonl')]);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'petstore: Cannot use --record none/incident.jsonl: its folder none does not exist\n',
    });
    expect(served.sandbox.requests).toEqual([]);
  });

  test.skipIf(process.platform === 'win32')('refuses a pipe that nobody reads', async () => {
    const { file, run } = await jobFolder();
    execFileSync('mkfifo', [file('pipe')]);
    const { code, err } = await run(['list', '--record', file('pipe')]);
    expect({ code, err }).toEqual({ code: 2, err: 'petstore: Cannot use --record pipe: it is a pipe that nothing reads\n' });
  });

  test.skipIf(process.platform === 'win32')(
    'ends where the reader of a pipe has paused for a second, and the command goes on',
    async () => {
      const { file, run } = await jobFolder();
      execFileSync('mkfifo', [file('pipe')]);
      const reader = openSync(file('pipe'), constants.O_RDWR | constants.O_NONBLOCK);
      onTestFinished(() => closeSync(reader));
      writeSync(reader, Buffer.alloc(65_500));
      const { code, err } = await run(['list', '--record', file('pipe')]);
      expect({ code, err }).toEqual({
        code: 0,
        err: expect.stringMatching(/^petstore: Cannot write --record pipe, so the recording ends here: EAGAIN[^\n]*\n$/),
      });
    },
  );

  test.skipIf(process.platform === 'win32')('waits for a reader of a pipe that pauses for less than a second', async () => {
    const { file, run } = await jobFolder();
    execFileSync('mkfifo', [file('pipe')]);
    const reader = openSync(file('pipe'), constants.O_RDWR | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    const filler = writeSync(reader, Buffer.alloc(65_500, ' '));
    const bytes = Buffer.alloc(65_536);
    const waiting = vi.spyOn(Atomics, 'wait').mockImplementationOnce(() => {
      readSync(reader, bytes, 0, filler, null);
      return 'timed-out';
    });
    onTestFinished(() => waiting.mockRestore());
    expect(await run(['list', '--record', file('pipe')])).toMatchObject({ code: 0, err: '' });
    const lines = bytes.toString('utf8', 0, readSync(reader, bytes)).trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).event)).toEqual([undefined, 'started', 'request', 'response', 'settled']);
  });

  test.runIf(process.platform === 'linux')('ends where the disk is full, says so once, and the command goes on', async () => {
    const { run } = await jobFolder();
    const { code, err } = await run(['list', '--record', '/dev/full']);
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringMatching(/^petstore: Cannot write --record \/dev\/full, so the recording ends here: ENOSPC[^\n]*\n$/),
    });
  });
});
