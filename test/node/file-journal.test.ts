import {
  appendFile,
  type FileHandle,
  mkdir,
  mkdtemp,
  open,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { type PetId, reply } from 'petstore-inventory';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { fileJournal } from '../../src/node/file-journal.ts';
import { type Journal, JournalError, syncInventory } from '../../src/sync/index.ts';
import { deferred } from '../support/deferred.ts';
import { rejectionOf, thrownBy } from '../support/outcome.ts';
import { FakeStore, pets } from '../sync/support/fake-store.ts';

vi.mock('node:fs/promises', async (importActual) => {
  const actual = await importActual<typeof import('node:fs/promises')>();
  return { ...actual, open: vi.fn(actual.open), stat: vi.fn(actual.stat) };
});

let folder: string;
let path: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'petstore-journal-'));
  path = join(folder, 'job.journal');
});

afterEach(() => rm(folder, { recursive: true }));

async function linesOf(file: string): Promise<string[]> {
  const journal = fileJournal(file);
  try {
    return await readAll(journal);
  } finally {
    await journal.close?.();
  }
}

async function readAll(journal: Journal): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of journal.read()) lines.push(line);
  return lines;
}

function diskError(): Error {
  return Object.assign(new Error('EIO: i/o error'), { code: 'EIO' });
}

/** What all file handles have in common; Node does not export their class. */
let handles: FileHandle;

beforeAll(async () => {
  const handle = await open('/dev/null');
  handles = Object.getPrototypeOf(handle);
  await handle.close();
});

afterEach(() => vi.restoreAllMocks());

/** Notes what is written and flushed and when that is done; the first flush of a file lasts until `flush` is called. */
function recordFlushes(): { log: string[]; flush: () => void } {
  const log: string[] = [];
  const { promise, resolve: flush } = deferred<void>();
  const { appendFile, datasync, sync } = handles;
  vi.spyOn(handles, 'appendFile').mockImplementation(async function (this: FileHandle, text) {
    await appendFile.call(this, text);
    log.push(`wrote ${text}`);
  });
  vi.spyOn(handles, 'datasync').mockImplementation(async function (this: FileHandle) {
    log.push('flushes');
    await promise;
    await datasync.call(this);
    log.push('flushed');
  });
  vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    await sync.call(this);
    log.push('flushed the folder');
  });
  return { log, flush };
}

/** The files that were opened and are not closed. */
async function openFiles(): Promise<FileHandle[]> {
  const opened = await Promise.allSettled(vi.mocked(open).mock.results.map(({ value }) => value));
  return opened.flatMap((each) => (each.status === 'fulfilled' && each.value.fd !== -1 ? [each.value] : []));
}

test('fileJournal refuses a path that names no file', () => {
  const error = { name: 'ConfigurationError', option: 'path', message: 'Cannot use "" as `path`: it must be the path of a file' };
  expect(thrownBy(() => fileJournal(''))).toMatchObject(error);
  const noText = { ...error, message: 'Cannot use 3 as `path`: it must be the path of a file' };
  expect(thrownBy(() => Reflect.apply(fileJournal, undefined, [3]))).toMatchObject(noText);
});

describe('fileJournal', () => {
  test('keeps lines in order, and knows its path', async () => {
    const journal = fileJournal(path);
    await Promise.all([journal.append(['a', 'b']), journal.append(['c']), journal.append(['d'])]);
    await journal.close?.();
    expect(await readFile(path, 'utf8')).toBe('a\nb\nc\nd\n');
    expect(await linesOf(path)).toEqual(['a', 'b', 'c', 'd']);
    expect(journal.name).toBe(path);
  });

  test('has its lines on the disk when append resolves, and the name of a new file', async () => {
    const { log, flush } = recordFlushes();
    const journal = fileJournal(path);
    const appended = journal.append(['a']).then(() => log.push('resolved'));
    await expect.poll(() => log).toContain('flushes');
    expect(await readFile(path, 'utf8')).toBe('a\n');
    flush();
    await appended;
    expect(log).toEqual(['flushed the folder', 'wrote a\n', 'flushes', 'flushed', 'resolved']);
    await journal.close?.();
  });

  test('flushes once for all appends that come while the disk is busy, and resolves none earlier', async () => {
    const { log, flush } = recordFlushes();
    const journal = fileJournal(path);
    const appended = ['a', 'b', 'c'].map((line) => journal.append([line]).then(() => log.push(`resolved ${line}`)));
    await expect.poll(() => log).toContain('flushes');
    appended.push(...['d', 'e'].map((line) => journal.append([line]).then(() => log.push(`resolved ${line}`))));
    flush();
    await Promise.all(appended);
    expect(log.slice(1)).toEqual([
      ...['wrote a\nb\nc\n', 'flushes', 'flushed', 'resolved a', 'resolved b', 'resolved c'],
      ...['wrote d\ne\n', 'flushes', 'flushed', 'resolved d', 'resolved e'],
    ]);
    await journal.close?.();
  });

  test.each<[string, 'read' | 'appendFile' | 'datasync', (journal: Journal) => Promise<unknown>]>([
    ['read', 'read', readAll],
    ['write', 'appendFile', (journal) => journal.append(['b'])],
    ['write', 'datasync', (journal) => journal.append(['b'])],
  ])('throws a JournalError that it cannot %s if %s fails', async (what, method, use) => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    vi.spyOn(handles, method).mockRejectedValueOnce(diskError());
    const error = await rejectionOf(use(journal));
    await journal.close?.();
    expect(error).toMatchObject({ name: 'JournalError', code: 'EIO', message: `Cannot ${what} journal ${path}: EIO: i/o error` });
  });

  test('throws a JournalError that it cannot be closed, and can be used again', async () => {
    const { open: openReally } = await vi.importActual<typeof import('node:fs/promises')>('node:fs/promises');
    vi.mocked(open).mockImplementationOnce(async (...asked) => {
      const handle = await openReally(...asked);
      const close = handle.close.bind(handle);
      return Object.assign(handle, { close: () => close().then(() => Promise.reject(diskError())) });
    });
    const journal = fileJournal(path);
    await journal.append(['a']);
    const error = await rejectionOf(Promise.resolve(journal.close?.()));
    expect(error).toMatchObject({ name: 'JournalError', code: 'EIO', message: `Cannot close journal ${path}: EIO: i/o error` });
    await journal.append(['b']);
    await journal.close?.();
    expect(await readFile(path, 'utf8')).toBe('a\nb\n');
  });

  test('can be used again after close', async () => {
    const journal = fileJournal(path);
    for await (const line of journal.read()) expect.unreachable(line);
    await journal.append(['a']);
    await journal.close?.();
    await journal.append(['b']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a', 'b']);
  });

  test.skipIf(process.platform !== 'linux')(
    'can be used again after close if a flush had failed, even with lines that waited for the flush',
    async () => {
      await symlink('/dev/full', path);
      const journal = fileJournal(path);
      for await (const line of journal.read()) expect.unreachable(line);
      await expect(journal.append(['a'])).rejects.toMatchObject({ code: 'ENOSPC' });
      await expect(journal.append(['b'])).rejects.toMatchObject({ code: 'ENOSPC' });
      await journal.close?.();
      await rm(path);
      await journal.append(['c']);
      await journal.close?.();
      expect(await readFile(path, 'utf8')).toBe('c\n');
    },
  );

  test('closes after the waiting lines are written, and leaves no file open', async () => {
    const before = await openFiles();
    const journal = fileJournal(path);
    const appended = [journal.append(['a']), journal.close?.(), journal.append(['b']), journal.close?.()];
    await Promise.all(appended);
    expect(await readFile(path, 'utf8')).toBe('a\nb\n');
    expect(await openFiles()).toEqual(before);
  });

  test('creates its file with the first line, and not when it is read', async () => {
    expect(await linesOf(path)).toEqual([]);
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('that found no file takes a file that appears later for a foreign one', async () => {
    const journal = fileJournal(path);
    for await (const _line of journal.read()) break;
    await writeFile(path, 'foreign\n');
    await expect(journal.append(['a'])).rejects.toMatchObject({ code: 'journal_busy' });
    await journal.close?.();
  });

  test('gives a torn last line, and writes the next line on a new one', async () => {
    await writeFile(path, 'a\ntor');
    const journal = fileJournal(path);
    await journal.append(['b']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a', 'tor', 'b']);
  });

  test('gives a last line without a line break', async () => {
    await writeFile(path, 'a\ntor');
    expect(await linesOf(path)).toEqual(['a', 'tor']);
  });

  test.each(['tor', 't'])('begins only one new line after the torn line "%s"', async (torn) => {
    await writeFile(path, torn);
    const journal = fileJournal(path);
    await journal.append(['a']);
    await journal.append(['b']);
    await journal.close?.();
    expect(await readFile(path, 'utf8')).toBe(`${torn}\na\nb\n`);
  });

  test('recognizes its own lines, even with characters of several bytes', async () => {
    const journal = fileJournal(path);
    await journal.append(['ü€']);
    await journal.append(['Żółw']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['ü€', 'Żółw']);
  });

  test('creates a file that only its owner can read', async () => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    await journal.close?.();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('leaves no file open whose state it cannot read', async () => {
    await writeFile(path, 'a\n');
    const before = await openFiles();
    vi.spyOn(handles, 'stat').mockRejectedValueOnce(diskError());
    await expect(fileJournal(path).append(['b'])).rejects.toMatchObject({ code: 'EIO' });
    expect(await openFiles()).toEqual(before);
  });

  test('reads lines that span chunks, and characters of several bytes', async () => {
    const lines = Array.from({ length: 3_000 }, (_, index) => `${index} ${'ü€'.repeat(20)}`);
    await writeFile(path, `${lines.join('\n')}\n`);
    expect(await linesOf(path)).toEqual(lines);
  });

  test('refuses a file with a line of 10 MB, and leaves the file unchanged', async () => {
    await writeFile(path, `a\n${'x'.repeat(10_000_000)}`);
    await expect(linesOf(path)).rejects.toThrow(`Cannot read journal ${path}: line 2 is longer than 1 MiB, so it is not a record`);
    expect((await readFile(path)).length).toBe(10_000_002);
  });

  test('stops when another process writes to the same file, and writes nothing below its lines', async () => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    await appendFile(path, 'foreign\n');
    await expect(journal.append(['b'])).rejects.toMatchObject({ code: 'journal_busy' });
    await expect(journal.append(['c'])).rejects.toMatchObject({ code: 'journal_busy' });
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a', 'foreign']);
  });

  test.skipIf(process.platform === 'win32')('finds its file by a path that leaves the folder to which a link points', async () => {
    await mkdir(join(folder, 'releases/42'), { recursive: true });
    await symlink('releases/42', join(folder, 'current'));
    const journal = fileJournal(`${folder}/current/../shared.journal`);
    await journal.append(['a']);
    await journal.append(['b']);
    await journal.close?.();
    expect(await linesOf(join(folder, 'releases/shared.journal'))).toEqual(['a', 'b']);
  });

  const gone = (what: string) =>
    `Cannot continue with journal ${path}: its file was ${what}: without what it held, a new run applies its adjustments again`;

  test.each([
    ['removed', 'removed or moved', () => rm(path)],
    ['renamed', 'removed or moved', () => rename(path, `${path}.old`)],
    ['replaced by an empty one', 'cut', () => writeFile(`${path}.new`, '').then(() => rename(`${path}.new`, path))],
  ])('stops when its file was %s: nobody would find the lines', async (_how, what, happen) => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    await happen();
    await expect(journal.append(['b'])).rejects.toMatchObject({ code: 'journal_removed', message: gone(what) });
    await journal.close?.();
    await journal.append(['c']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['c']);
  });

  test('stops when its file was cut, as by a program that rotates logs, and does not advise to start again', async () => {
    const journal = fileJournal(path);
    await journal.append(['a']);
    await truncate(path);
    await expect(journal.append(['b'])).rejects.toMatchObject({ code: 'journal_removed', message: gone('cut') });
    await journal.close?.();
    expect(await linesOf(path)).toEqual([]);
  });

  test('rejects lines that were written at the same moment as those of another process', async () => {
    const write = handles.appendFile;
    vi.spyOn(handles, 'appendFile').mockImplementationOnce(async function (this: FileHandle, text) {
      await appendFile(path, 'foreign\n');
      await write.call(this, text);
    });
    const journal = fileJournal(path);
    await expect(journal.append(['a'])).rejects.toMatchObject({ code: 'journal_busy' });
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['foreign', 'a']);
  });

  test.each([
    ['a folder', () => folder, 'EISDIR', 'it is a folder; name a file in it'],
    ['a file in a folder that is not there', () => join(folder, 'no', 'j'), 'ENOENT', 'make its folder first'],
  ])('cannot be %s', async (_name, where, code, advice) => {
    const journal = fileJournal(where());
    await expect(linesOf(where())).rejects.toBeInstanceOf(JournalError);
    await expect(journal.append(['a'])).rejects.toMatchObject({
      kind: 'journal',
      code,
      message: `Cannot open journal ${where()}: ${advice}`,
    });
    await journal.close?.();
  });

  test('recognizes errors of another realm, as in Jest', async () => {
    const missing = runInNewContext("Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })");
    const journal = fileJournal(path);
    vi.mocked(stat).mockRejectedValueOnce(missing);
    expect(await readAll(journal)).toEqual([]);
    vi.mocked(open).mockRejectedValueOnce(missing);
    expect(await rejectionOf(journal.append(['a']))).toMatchObject({
      code: 'ENOENT',
      message: `Cannot open journal ${path}: make its folder first`,
    });
    await journal.close?.();
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test.skipIf(process.platform !== 'linux')('reports a full disk, and a device that stores nothing', async () => {
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
  test('has every promise on the disk before the request is sent', async () => {
    const unpromised: unknown[] = [];
    const wanted = pets(40, 6).map(([petId, quantity]) => ({ petId, quantity }));
    const store = new FakeStore(pets(40, 5));
    const update = store.updateInventory.bind(store);
    const check = async (petId: PetId) => {
      const text = await readFile(path, 'utf8');
      if (!text.includes(`{"type":"intent","petId":${petId},`)) unpromised.push(petId);
    };
    store.updateInventory = (petId, ...asked) => reply(check(petId).then(() => update(petId, ...asked)));
    expect(await syncInventory(store, wanted, { journal: fileJournal(path) })).toMatchObject({ updated: 40 });
    expect(unpromised).toEqual([]);
  });

  test('refuses a second job of this process that has a journal of its own for the file, and lets the first run', async () => {
    const [store, wanted] = [new FakeStore(pets(3, 5)), pets(3, 6).map(([petId]) => ({ petId, adjust: 1 }))];
    const jobs = ['job.journal', './job.journal'].map((name) =>
      syncInventory(store, wanted, { journal: fileJournal(`${folder}/${name}`) }),
    );
    const [first, second] = (await Promise.allSettled(jobs)).toSorted((one, other) => one.status.localeCompare(other.status));
    expect(first).toMatchObject({ value: { updated: 3 } });
    const message = expect.stringMatching(/^Cannot use journal .*: a job of this process is using it; wait for its end, /);
    expect(second).toMatchObject({ reason: { name: 'JournalError', code: 'journal_busy', message } });
    expect([...store.stock.values()]).toEqual([6, 6, 6]);
    expect(await syncInventory(store, wanted, { journal: fileJournal(path) })).toMatchObject({ updated: 3, finishedAt: expect.any(Date) });
  });

  test('refuses to continue from a damaged file, and changes no byte of it', async () => {
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

describe('fileJournal of a file that may only be read', () => {
  const refuseToWrite = () =>
    vi.mocked(open).mockImplementation(async (place, flags, ...rest) => {
      if (place === path && flags !== 'r') throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
      const actual = await vi.importActual<typeof import('node:fs/promises')>('node:fs/promises');
      return actual.open(place, flags, ...rest);
    });

  test('returns the report of a finished job, and sends nothing', async () => {
    const store = new FakeStore(pets(2, 5));
    const wanted = [{ petId: 1, adjust: 3 }];
    await syncInventory(store, wanted, { journal: fileJournal(path) });
    refuseToWrite();
    expect(await syncInventory(store, wanted, { journal: fileJournal(path) })).toMatchObject({ updated: 1 });
    expect(store.requests).toHaveLength(2);
  });

  test('fails before it sends an update of a job that is not finished', async () => {
    const store = new FakeStore(pets(2, 5));
    await writeFile(path, '');
    refuseToWrite();
    const error = await rejectionOf(syncInventory(store, [{ petId: 1, adjust: 3 }], { journal: fileJournal(path) }));
    expect(error).toMatchObject({ code: 'EACCES', message: `Cannot open journal ${path}: EACCES: permission denied` });
    expect(store.stock.get(1)).toBe(5);
  });

  test('fails if the file may not be read either', async () => {
    vi.mocked(open).mockRejectedValue(Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' }));
    await writeFile(path, 'a\n');
    expect(await rejectionOf(linesOf(path))).toMatchObject({ code: 'EACCES' });
  });
});

describe('fileJournal in a folder that cannot be flushed', () => {
  const failToOpenFolder = (code: string) =>
    vi.mocked(open).mockImplementation(async (place, ...rest) => {
      if (place === folder) throw Object.assign(new Error(`${code}: no`), { code });
      const actual = await vi.importActual<typeof import('node:fs/promises')>('node:fs/promises');
      return actual.open(place, ...rest);
    });

  test('keeps its lines if the folder may be written but not read', async () => {
    failToOpenFolder('EACCES');
    const journal = fileJournal(path);
    await journal.append(['a']);
    await journal.close?.();
    expect(await linesOf(path)).toEqual(['a']);
  });

  test('fails if the disk does', async () => {
    failToOpenFolder('EIO');
    expect(await rejectionOf(fileJournal(path).append(['a']))).toMatchObject({ code: 'EIO' });
  });
});
