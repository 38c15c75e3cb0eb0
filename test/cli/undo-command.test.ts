import { readFile, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { FakeTerminal } from './support/fake-terminal.ts';
import { type JobFolder, jobFolder } from './support/job-folder.ts';

let served: JobFolder['served'];
let file: JobFolder['file'];
let run: JobFolder['run'];

beforeEach(async () => {
  ({ served, file, run } = await jobFolder());
});

const quantities = (): (number | undefined)[] => [1, 2, 3, 4].map((petId) => served.sandbox.inventory.get(petId)?.quantity);

/** A job that takes pets 1 and 2 from 5 to 9 and 3, kept in the journal `j`. */
async function restock(): Promise<void> {
  await writeFile(file('in.csv'), 'petId,quantity,adjust\n1,9,\n2,,-2\n3,5,\n');
  await run(['sync', file('in.csv'), '--journal', file('j')]);
  served.sandbox.clear();
}

describe('petstore undo', () => {
  test('sets back what a job set, and closes its journal', async () => {
    await restock();
    const out = '2 updated, 0 unchanged, 0 missing, 0 failed, 0 pending\n';
    expect(await run(['undo', file('j')])).toEqual({ code: 0, out, err: '' });
    expect(quantities()).toEqual([5, 5, 5, 5]);
    expect(await run(['sync', file('in.csv'), '--journal', file('j')])).toEqual({
      code: 2,
      out: '',
      err: expect.stringMatching(
        /^petstore: Cannot continue with journal j: an undo of its job began at 20\S+Z; a new job needs a new journal\n$/,
      ),
    });
    expect(quantities()).toEqual([5, 5, 5, 5]);
  });

  test('that is repeated sends nothing, and can itself be undone by its own journal', async () => {
    await restock();
    await run(['undo', file('j')]);
    served.sandbox.clear();
    expect((await run(['undo', file('j')])).err).toMatch(
      /^petstore: nothing sent: this job was finished at 20\S+Z; petstore undo j\.undo reverses it\n$/,
    );
    expect(served.sandbox.requests).toEqual([]);
    expect((await run(['undo', file('j.undo')])).code).toBe(0);
    expect(quantities()).toEqual([9, 3, 5, 5]);
  });

  test('that is repeated names a command that a shell takes, even if the path of its journal has a space', async () => {
    await restock();
    const words = ['undo', file('j'), '--journal', file('my undo')];
    await run(words);
    const terminal = new FakeTerminal();
    await run(words, terminal);
    expect(terminal.err).toContain(`; petstore undo '${file('my undo')}' reverses it`);
  });

  test('says that it has to be run again if the job may still apply updates, each time that it is run', async () => {
    await restock();
    const lines = (await readFile(file('j'), 'utf8')).split('\n');
    await writeFile(file('j'), lines.filter((line) => !/"end"|"done","petId":1\b/.test(line)).join('\n'));
    const err = 'petstore: the job left 1 update in doubt, which may still be applied; run the same command again later to set it back\n';
    expect(await run(['undo', file('j')])).toMatchObject({ code: 0, err });
    served.sandbox.inventory.set(1, { quantity: 9 });
    expect(await run(['undo', file('j'), '--json'])).toMatchObject({ out: expect.stringContaining('"inDoubt":1'), err });
    expect(quantities()).toEqual([5, 5, 5, 5]);
  });

  test('keeps its journal where --journal says', async () => {
    await restock();
    await run(['undo', file('j'), '--journal', file('back')]);
    expect(await readFile(file('back'), 'utf8')).toContain('{"type":"done","petId":1}');
    expect(await run(['undo', file('j'), '--journal', file('j')])).toMatchObject({
      code: 2,
      err: 'petstore: Cannot use j as --journal: it is the journal of the job already\n',
    });
  });

  test('reports a pet that was changed since the job, and ends with 4', async () => {
    await restock();
    served.sandbox.inventory.set(1, { quantity: 7 });
    const { code, out } = await run(['undo', file('j')]);
    expect(code).toBe(4);
    expect(out).toBe(
      '1 updated, 0 unchanged, 0 missing, 1 failed, 0 pending\n' +
        'failed: pet 1 (quantity 5): Cannot update pet 1: conflict: its quantity is 7, neither 9, which the job set, nor 5, as before the job\n',
    );
    expect(quantities()).toEqual([7, 5, 5, 5]);
  });

  test('shows with --dry-run what it would set, and writes nothing', async () => {
    await restock();
    const held = await readFile(file('j'), 'utf8');
    const { code, out } = await run(['undo', file('j'), '--dry-run']);
    expect(code).toBe(0);
    expect(out).toContain('--- the stock now\n+++ j\n- 1  9\n+ 1  5\n- 2  3\n+ 2  5\n2 changes');
    expect(await readFile(file('j'), 'utf8')).toBe(held);
    await expect(readFile(file('j.undo'))).rejects.toMatchObject({ code: 'ENOENT' });
    expect(quantities()).toEqual([9, 3, 5, 5]);
  });

  test('of a job that did nothing does nothing', async () => {
    await writeFile(file('in.csv'), 'petId,quantity\n1,5\n');
    await run(['sync', file('in.csv'), '--journal', file('j')]);
    served.sandbox.clear();
    expect(await run(['undo', file('j')])).toMatchObject({ code: 0, err: '' });
    expect(served.sandbox.requests).toEqual([]);
  });

  test.each([
    ['a journal that is not there', undefined, 'Cannot undo j: there is no such file'],
    [
      'a file that is no journal',
      'petId,quantity\n',
      'Cannot read journal j: line 1 is not a record of a journal, so this is another file, or it was damaged',
    ],
    ['a journal of a newer version', '{"type":"job","version":9}\n', 'a newer version of petstore-inventory wrote it (format 9'],
  ])('refuses %s', async (_name, text, reason) => {
    if (text !== undefined) await writeFile(file('j'), text);
    expect(await run(['undo', file('j')])).toMatchObject({ code: 2, out: '', err: expect.stringContaining(reason) });
    expect(served.sandbox.requests).toEqual([]);
  });

  test.each([[[]], [['--dry-run']], [['--journal', 'back']]])('refuses --sandbox, and names what was typed: %j', async (words) => {
    await restock();
    expect(await run(['undo', file('j'), '--sandbox', ...words])).toEqual({
      code: 2,
      out: '',
      err: 'petstore: Cannot undo j with --sandbox: that sandbox is new, so no job has changed it\n',
    });
  });

  test('refuses a journal of another service', async () => {
    await restock();
    const { code, err } = await run(['undo', file('j'), '--environment', 'staging', '--base-url', served.stagingUrl]);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(`it belongs to a job for ${served.url}`) });
    expect(served.sandbox.requests).toEqual([]);
  });

  test('that is interrupted continues when it is started again', async () => {
    await restock();
    const terminal = new FakeTerminal();
    const interruptSoon = ({ method }: { method: string }): boolean => {
      if (method === 'PATCH') setTimeout(() => terminal.interrupt('SIGTERM'), 10);
      return method === 'PATCH';
    };
    served.sandbox.faults.add({ delayMs: 60, when: interruptSoon });
    const words = ['undo', file('j'), '--concurrency', '1'];
    expect(await run(words, terminal)).toMatchObject({
      code: 143,
      out: '1 updated, 0 unchanged, 0 missing, 0 failed, 1 pending\n',
      err: expect.stringContaining('petstore: terminated: 1 pet updated, 1 pet left; run the same command again to continue'),
    });
    served.sandbox.faults.clear();
    expect(await run(words)).toMatchObject({ code: 0, out: '2 updated, 0 unchanged, 0 missing, 0 failed, 0 pending\n' });
    expect(quantities()).toEqual([5, 5, 5, 5]);
  });
});
