import { link, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, test } from 'vitest';
import { refuseSameFile } from '../../src/cli/contradictions.ts';
import { FakeTerminal } from './support/fake-terminal.ts';
import { jobFolder } from './support/job-folder.ts';

const OPTIONS = ['--journal', '--rejects', '--report', '--record', '--quota-store'];
const PAIRS = OPTIONS.flatMap((first, index) => OPTIONS.slice(index + 1).map((second) => [first, second] as const));

/** The words that give an option a path. */
const given = (option: string, path: string): string[] => [option, option === '--quota-store' ? `file:${path}` : path];

describe('petstore sync', () => {
  test.each(PAIRS)('refuses one file as %s and as %s, and makes and sends nothing', async (first, second) => {
    const { served, file, sync } = await jobFolder();
    const { code, err } = await sync('petId,quantity\n1,9\n', [...given(first, file('x.csv')), ...given(second, file('x.csv'))]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^petstore: Cannot use x\.csv as --\S+: it is --\S+ already\n$/) });
    expect([err.includes(first), err.includes(second)]).toEqual([true, true]);
    expect([await readdir(dirname(file('x'))), served.sandbox.requests]).toEqual([['in.csv'], []]);
  });

  test.each(OPTIONS)('refuses its input, and the file of the key, as %s', async (option) => {
    const { served, file, sync } = await jobFolder();
    await writeFile(file('key.csv'), served.keys.pro);
    const terminal = () => new FakeTerminal({ env: { PETSTORE_API_KEY_FILE: file('key.csv') } });
    const input = await sync('petId,quantity\n1,9\n', given(option, file('in.csv')), terminal());
    const key = await sync('petId,quantity\n1,9\n', given(option, file('key.csv')), terminal());
    expect([input.code, input.err]).toEqual([2, expect.stringMatching(/^petstore: Cannot use in\.csv as .+: it is .+ already\n$/)]);
    expect([key.code, key.err]).toEqual([2, expect.stringMatching(/^petstore: Cannot use key\.csv as .+: it is .+ already\n$/)]);
    expect(served.sandbox.requests).toEqual([]);
  });

  test('refuses the file that runs share', async () => {
    const { file, sync } = await jobFolder();
    const terminal = new FakeTerminal({ env: { XDG_STATE_HOME: dirname(file('x')) } });
    const words = ['--rejects', file('petstore/quota.db')];
    const err = 'petstore: Cannot use petstore/quota.db as --rejects: it is the file that runs share already\n';
    expect(await sync('petId,quantity\n1,9\n', words, terminal)).toEqual({ code: 2, out: '', err });
  });

  test('takes the file that runs share as --quota-store', async () => {
    const { file, sync } = await jobFolder();
    const terminal = new FakeTerminal({ env: { XDG_STATE_HOME: dirname(file('x')) } });
    await mkdir(file('petstore'));
    const words = given('--quota-store', file('petstore/quota.db'));
    expect(await sync('petId,quantity\n1,9\n', words, terminal)).toMatchObject({ code: 0, err: '' });
  });
});

describe('refuseSameFile', () => {
  test.skipIf(process.platform === 'win32').each([
    ['dangling.csv', 'target.csv'],
    ['linked/new.csv', 'folder/new.csv'],
    ['linked/../new.csv', 'new.csv'],
    ['folder/../new.csv', './new.csv'],
    ['hard.csv', 'in.csv'],
    ['chain.csv', 'in.csv'],
  ])('knows that %s is %s', async (first, second) => {
    const { file } = await jobFolder();
    await writeFile(file('in.csv'), 'petId,quantity\n');
    await mkdir(file('folder'));
    await symlink('folder', file('linked'));
    await symlink('target.csv', file('dangling.csv'));
    await symlink('link.csv', file('chain.csv'));
    await symlink('in.csv', file('link.csv'));
    await link(file('in.csv'), file('hard.csv'));
    const [known, other] = [first, second].map((name) => `${dirname(file('x'))}/${name}`);
    expect(() => refuseSameFile({ '--report': known, '--rejects': other })).toThrow(
      `Cannot use ${other} as --rejects: it is --report already`,
    );
  });

  test('takes different files, paths that lead nowhere, and options that are not given', async () => {
    const { file } = await jobFolder();
    await symlink('loop.csv', file('loop.csv'));
    const paths = { '--report': file('a.csv'), '--rejects': file('b.csv'), '--journal': file('no/a.csv'), '--record': file('loop.csv') };
    expect(() => refuseSameFile({ ...paths, '--quota-store': undefined, PETSTORE_API_KEY_FILE: '' })).not.toThrow();
  });
});
