import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { cacheFolder } from '../../src/cli/cache-folder.ts';

// Windows has neither the numbers of users nor modes.
describe.skipIf(process.platform === 'win32')('The folder for compiled code', () => {
  let temporary: string;
  let folder: string;

  beforeEach(() => {
    temporary = mkdtempSync(join(tmpdir(), 'petstore-cache-'));
    folder = join(temporary, `petstore-${process.geteuid?.()}`);
    vi.stubEnv('TMPDIR', temporary);
    vi.stubEnv('NODE_DISABLE_COMPILE_CACHE', '');
    vi.stubEnv('NODE_COMPILE_CACHE', '');
  });

  afterEach(() => {
    vi.unstubAllEnvs();
    rmSync(temporary, { recursive: true });
  });

  test('is one that only its user can read and write, made once', () => {
    expect([cacheFolder(), cacheFolder()]).toEqual([folder, folder]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  test.each([
    ['NODE_DISABLE_COMPILE_CACHE', 'no cache'],
    ['NODE_COMPILE_CACHE', 'it elsewhere'],
  ])('is none, and is not made, if the user wants, by %s, %s', (variable) => {
    vi.stubEnv(variable, '1');
    expect(cacheFolder()).toBeUndefined();
    expect(existsSync(folder)).toBe(false);
  });

  test.each([
    ['one that others can write to', () => chmodSync(mkdirAt(folder), 0o777)],
    ['a link', () => symlinkSync(mkdirAt(join(temporary, 'other')), folder)],
    ['a link to nothing', () => symlinkSync(join(temporary, 'other'), folder)],
    ['a file', () => writeFileSync(folder, '')],
    ['one in a folder that is not there', () => rmSync(temporary, { recursive: true })],
  ])('is none instead of %s', (_name, make) => {
    make();
    expect(cacheFolder()).toBeUndefined();
    mkdirSync(temporary, { recursive: true });
  });

  test.each([
    [
      'below LOCALAPPDATA, not among the temporary files, which services share',
      'C:/Users/me/AppData/Local',
      'C:/Users/me/AppData/Local/petstore/compiled',
    ],
    ['none without LOCALAPPDATA', '', undefined],
  ])('is, where users have no number, as on Windows, %s', (_which, local, expected) => {
    vi.stubEnv('LOCALAPPDATA', local);
    const { geteuid } = process;
    Object.assign(process, { geteuid: undefined });
    onTestFinished(() => void Object.assign(process, { geteuid }));
    expect(cacheFolder()).toBe(expected);
  });

  test("is none instead of another user's", () => {
    vi.spyOn(process, 'geteuid').mockReturnValue((process.geteuid?.() ?? 0) + 1);
    mkdirAt(join(temporary, `petstore-${process.geteuid?.()}`));
    expect(cacheFolder()).toBeUndefined();
    vi.restoreAllMocks();
  });
});

function mkdirAt(path: string): string {
  mkdirSync(path, { mode: 0o700 });
  return path;
}
