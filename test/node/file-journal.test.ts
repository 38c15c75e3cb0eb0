import { appendFile, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { fileJournal } from '../../src/node/file-journal.ts';
import { JournalError, syncInventory } from '../../src/sync/index.ts';
import { FakeStore, pets } from '../sync/support/fake-store.ts';

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petstore-journal-'));
  path = join(folder, 'job.journal');
});

afterEach(() => rm(folder, { recursive: true }));

async function linesOf(file: string): Promise<string[]> {
  const journal = fileJournal(file);
  const lines: string[] = [];
  try {
    for await (const line of journal.read()) lines.push(line);
  } finally {
    await journal.close?.();
  }
  return lines;
}

describe('fileJournal', () => {
  test('keeps lines in order, and knows its path', async () => {
    const journal = fileJournal(path);
    await Promise.all([journal.append(['a', 'b']), journal.append(['c']), journal.append(['d'])]);
    await journal.close?.();
    expect(await readFile(path, 'utf8')).toBe('a\nb\nc\nd\n');
    expect(await linesOf(path)).toEqual(['a', 'b', 'c', 'd']);
    expect(journal.name).toBe(path);
  });

  test('is on the disk when append resolves', async () => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    expect(await readFile(path, 'utf8')).toBe('a\n');
    await journal.close?.();
  });

  test('can be used again after close', async () => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    await journal.close?.();
    await journal.append(['b']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a', 'b']);
  });

  test('makes its file with the first line, and not by being read', async () => {
    expect(await linesOf(path)).toEqual([]);
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('that found no file takes what is in it later as foreign', async () => {
    const journal = fileJournal(path);
    for await (const _line of journal.read()) break;
    await writeFile(path, 'foreign\n');
    await expect(journal.append(['a'])).rejects.toMatchObject({ code: 'journal_busy' });
    await journal.close?.();
  });

  test('gives a torn last line, and begins a new one after it', async () => {
    await writeFile(path, 'a\ntor');
    const journal = fileJournal(path);
    await journal.append(['b']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a', 'tor', 'b']);
  });

  test('reads lines that span chunks, and characters of several bytes', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => `${index} ${'ü€'.repeat(20)}`);
    await writeFile(path, `${lines.join('\n')}\n`);
    expect(await linesOf(path)).toEqual(lines);
  });

  test('refuses a line of 10 MB, and keeps it', async () => {
    await writeFile(path, `a\n${'x'.repeat(10_000_000)}`);
    await expect(linesOf(path)).rejects.toThrow(`Cannot resume from journal ${path}: line 2 is longer than 1 MiB, so it is no record`);
    expect((await readFile(path)).length).toBe(10_000_002);
  });

  test('stops when another process writes to the same file', async () => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    await appendFile(path, 'foreign\n');
    await expect(journal.append(['b'])).rejects.toMatchObject({ code: 'journal_busy' });
    await expect(journal.append(['c'])).rejects.toMatchObject({ code: 'journal_busy' });
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a', 'foreign', 'b']);
  });

  test.each([
    ['a folder', () => folder, 'EISDIR'],
    ['a folder that is not there', () => join(folder, 'no', 'j'), 'ENOENT'],
  ])('cannot be %s', async (_name, where, code) => {
    const journal = fileJournal(where());
    await expect(linesOf(where())).rejects.toBeInstanceOf(JournalError);
    await expect(journal.append(['a'])).rejects.toMatchObject({
      kind: 'journal',
      code,
      message: expect.stringContaining('Cannot open journal'),
    });
    await journal.close?.();
  });

  test('tells of a full disk, and of a device that keeps nothing', async () => {
    const [full, none] = [fileJournal('/dev/full'), fileJournal('/dev/null')];
    await expect(full.append(['a'])).rejects.toMatchObject({ code: 'ENOSPC' });
    await expect(none.append(['a'])).rejects.toMatchObject({ code: 'journal_no_file' });
    await Promise.all([full.close?.(), none.close?.()]);
    expect(await linesOf('/dev/full')).toEqual([]);
  });

  test('follows a link', async () => {
    await writeFile(path, 'a\n');
    await symlink(path, join(folder, 'link'));
    expect(await linesOf(join(folder, 'link'))).toEqual(['a']);
  });
});

describe('syncInventory with a fileJournal', () => {
  test('has every promise on the disk before its request', async () => {
    const unpromised: unknown[] = [];
    const wanted = pets(40, 6).map(([petId, quantity]) => ({ petId, quantity }));
    const store = new FakeStore(pets(40, 5));
    const update = store.updateInventory.bind(store);
    store.updateInventory = async (petId, change, options) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(`{"type":"intent","petId":${petId},`)) unpromised.push(petId);
      return update(petId, change, options);
    };
    expect(await syncInventory(store, wanted, { journal: fileJournal(path) })).toMatchObject({ updated: 40 });
    expect(unpromised).toEqual([]);
  });

  test('refuses to go on from a damaged file, and leaves every byte of it', async () => {
    const wanted = [{ petId: 1, quantity: 6 }];
    await syncInventory(new FakeStore(pets(1, 5)), wanted, { journal: fileJournal(path) });
    const damaged = (await readFile(path, 'utf8')).replace('"intent"', '"\0\0\0\0"');
    await writeFile(path, damaged);
    await expect(syncInventory(new FakeStore(pets(1, 5)), wanted, { journal: fileJournal(path) })).rejects.toThrow(
      'line 3 is not a record',
    );
    expect(await readFile(path, 'utf8')).toBe(damaged);
  });
});
