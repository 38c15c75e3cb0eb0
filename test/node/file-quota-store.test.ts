import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PetStoreClient } from 'petstore-inventory';
import { serveSandbox } from 'petstore-inventory/node';
import { createSandbox } from 'petstore-inventory/sandbox';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { ConfigurationError } from '../../src/errors.ts';
import { fileQuotaStore } from '../../src/node/file-quota-store.ts';
import type { LeaseRequest } from '../../src/quota-store.ts';
import { leaseRequestOf } from '../support/lease-request.ts';
import { importAnew } from '../support/other-process.ts';

vi.mock('node:fs', async (importActual) => {
  const actual = await importActual<typeof import('node:fs')>();
  return { ...actual, openSync: vi.fn(actual.openSync) };
});

const KEY = { address: 'https://inventory.test/v1', apiKey: 'psk_live_secret' };
const NOW_MS = Date.UTC(2026, 10, 21);

let folder: string;
let path: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-'));
  path = join(folder, 'quota.db');
});

afterEach(() => rmSync(folder, { recursive: true }));

const REQUEST = leaseRequestOf({ wanted: 1 });

describe('fileQuotaStore', () => {
  test('shares what one process observed with the process that opens the file next', () => {
    const exchange = (more: Partial<LeaseRequest>) =>
      fileQuotaStore(path)
        .join(KEY, () => {})
        .exchange({ ...REQUEST, ...more });
    expect(exchange({})).toMatchObject({ granted: 1, reason: 'probe' });
    expect(exchange({ member: 'b' })).toMatchObject({ granted: 0, reason: 'probe' });
    exchange({ wanted: 0, closedForMs: 60_000 });
    expect(exchange({ member: 'b' })).toMatchObject({ granted: 0, reason: 'closed' });
  });

  test.each([
    ['key', { ...KEY, apiKey: 'another' }],
    ['address', { ...KEY, address: 'https://another.test/v1' }],
  ])('keeps the quota of another %s apart', (_what, other) => {
    const store = fileQuotaStore(path);
    const exchange = (key: typeof KEY) => store.join(key, () => {}).exchange(REQUEST);
    expect(exchange(KEY)).toMatchObject({ granted: 1 });
    expect(exchange(other)).toMatchObject({ granted: 1 });
    store.close();
  });

  test('counts a process in the window after its last one, and then no longer', async () => {
    vi.useFakeTimers({ now: NOW_MS, toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    using store = fileQuotaStore(path);
    const { exchange } = store.join(KEY, () => {});
    const answers = [60_000, 120_000, 180_000].map((endsInMs) => {
      exchange(REQUEST);
      const minute = { limit: 20, remaining: 19, resetAtMs: NOW_MS + endsInMs, endsInMs: 60_000, ageMs: 0 };
      exchange({ ...REQUEST, wanted: 0, isProbeAnswered: true, minute });
      if (endsInMs === 60_000) exchange({ ...REQUEST, member: 'b' });
      const answer = exchange(REQUEST);
      vi.setSystemTime(NOW_MS + endsInMs);
      return answer;
    });
    expect(await Promise.all(answers)).toMatchObject([{ members: 2 }, { members: 2 }, { members: 1 }]);
  });

  test('lets a new process with a plan wait for the Reset, not for a rolling minute', async () => {
    vi.useFakeTimers({ now: NOW_MS, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { baseUrl, fetch, keys } = createSandbox({ latency: 20 });
    await vi.advanceTimersByTimeAsync(21_000);
    using store = fileQuotaStore(path);
    const options = { apiKey: keys.free, baseUrl, fetch, plan: 'free', quotaStore: store } as const;
    const first = new PetStoreClient(options);
    const all = Promise.all(Array.from({ length: 60 }, () => first.listInventory()));
    await vi.advanceTimersByTimeAsync(2_000);
    await all;
    const next = new (await importAnew()).PetStoreClient(options);
    const waits: number[] = [];
    next.on('queue', ({ ms }) => waits.push(Math.round(ms / 1_000)));
    const done = next.listInventory().then(() => Date.now() - NOW_MS);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(await done).toBeLessThan(62_000);
    expect(waits).toEqual([37]);
  });

  test('is cheap, and is closed by `using`', () => {
    const store = fileQuotaStore(path);
    expect(store.isCheap).toBe(true);
    store[Symbol.dispose]();
    expect(() => store.join(KEY, () => {})).toThrow('it was closed');
  });

  test.each([
    ['minute', { minute: { limit: 60, remaining: 0, resetAtMs: 60_000, endsInMs: 60_000, ageMs: 0 } }],
    ['day', { day: { limit: 600, remaining: 0, resetAtMs: 10_800_000, endsInMs: 10_800_000, ageMs: 0 } }],
  ])('forgets a used-up %s if the clock was set back by more than a day', (_what, heard) => {
    using store = fileQuotaStore(path);
    const clock = vi.spyOn(Date, 'now').mockReturnValue(NOW_MS);
    const lease = store.join(KEY, () => {});
    lease.exchange({ ...REQUEST, ...heard, isProbeAnswered: true });
    expect(lease.exchange(REQUEST)).toMatchObject({ granted: 0 });
    clock.mockReturnValue(NOW_MS - 26 * 3_600_000);
    expect(lease.exchange(REQUEST)).toMatchObject({ granted: 1, reason: 'probe' });
    clock.mockRestore();
  });

  test('keeps neither key nor address, in files that only their owner can read', () => {
    fileQuotaStore(path)
      .join(KEY, () => {})
      .exchange(REQUEST);
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(folder, name), 'latin1')).not.toMatch(/psk_live_secret|inventory\.test/);
    }
  });

  test('narrows the rights of a file that was readable to others', () => {
    fileQuotaStore(path);
    chmodSync(path, 0o644);
    fileQuotaStore(path);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  const newer = () => {
    fileQuotaStore(path);
    new DatabaseSync(path).exec('PRAGMA user_version = 2');
  };

  test.each([
    ['in a folder that does not exist', () => rmSync(folder, { recursive: true }), /make the folder .* first/],
    ['that is a folder', () => mkdirSync(path), /name a file in it/],
    ['that is no database', () => writeFileSync(path, 'petId,quantity\n'.repeat(100)), /not an SQLite database; name another file/],
    ['of another program', () => new DatabaseSync(path).exec('CREATE TABLE notes (text)'), /belongs to another program/],
    ['of a newer version', newer, /a newer version of petstore-inventory made it/],
  ])('refuses a file %s', (_, prepare, message) => {
    prepare();
    expect(() => fileQuotaStore(path)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', message: expect.stringMatching(message) }),
    );
    mkdirSync(folder, { recursive: true });
  });

  test.each([':memory:', 'file:quota.db?mode=memory'])('shares the file with the name %s, which SQLite would not open', (name) => {
    const cwd = vi.spyOn(process, 'cwd').mockReturnValue(folder);
    onTestFinished(() => cwd.mockRestore());
    using one = fileQuotaStore(name);
    using other = fileQuotaStore(name);
    const exchange = (store: typeof one, member: string) => store.join(KEY, () => {}).exchange({ ...REQUEST, member });
    expect([exchange(one, 'a'), exchange(other, 'b')]).toMatchObject([{ granted: 1 }, { granted: 0 }]);
    expect(readdirSync(folder)).toContain(name);
  });

  test("does not take a file for another program's while another process creates it", () => {
    const other = new DatabaseSync(path, { timeout: 0 });
    onTestFinished(() => other.close());
    const { prepare } = DatabaseSync.prototype;
    const prepared = vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, sql) {
      // The other process has to wait while this one looks at the file, so its table is never seen without the number that marks the file.
      if (sql.includes('sqlite_schema')) expect(() => other.exec('CREATE TABLE quotas (name TEXT)')).toThrow('locked');
      return prepare.call(this, sql);
    });
    onTestFinished(() => prepared.mockRestore());
    fileQuotaStore(path).close();
    expect(prepared).toHaveBeenCalledWith(expect.stringContaining('sqlite_schema'));
  });

  test('waits for another process that is creating the file', () => {
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE; PRAGMA user_version = 0;');
    const end = () => {
      other.exec('COMMIT');
      other.close();
      return 'timed-out' as const;
    };
    const waited = vi.spyOn(Atomics, 'wait').mockReturnValueOnce('timed-out').mockImplementationOnce(end);
    onTestFinished(() => waited.mockRestore());
    fileQuotaStore(path).close();
    expect(waited).toHaveBeenCalledTimes(2);
  });

  test.skipIf(process.platform !== 'linux')('leaves no file open that it refuses', () => {
    writeFileSync(path, 'petId,quantity\n'.repeat(100));
    expect(() => fileQuotaStore(path)).toThrow('name another file');
    const links = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        // The descriptor with which the folder was read.
        return '';
      }
    });
    expect(links.filter((link) => link.startsWith(folder))).toEqual([]);
  });

  test.each([
    ['EACCES', /: it cannot be written; check the permissions of the file and its folder$/],
    ['EPERM', /: it cannot be written; check the permissions of the file and its folder$/],
    ['EROFS', /: EROFS: refused$/],
    ['EMFILE', /: EMFILE: refused$/],
  ])('says what to check if the file system refuses to write with %s', (code, message) => {
    vi.mocked(openSync).mockImplementationOnce(() => {
      throw Object.assign(new Error(`${code}: refused`), { code });
    });
    expect(() => fileQuotaStore(path)).toThrow(message);
  });

  test('says what to check if SQLite cannot open a file beside it, as with too many open files', () => {
    mkdirSync(`${path}-journal`);
    expect(() => fileQuotaStore(path)).toThrow(/: check the permissions of its folder, and the limit of open files$/);
  });

  test('closes its file with the last store that has it open, and ignores a second close', () => {
    const stores = [fileQuotaStore(path), fileQuotaStore(path)];
    stores[0]?.close();
    expect(readdirSync(folder)).toEqual(['quota.db', 'quota.db-shm', 'quota.db-wal']);
    stores[1]?.[Symbol.dispose]();
    stores[1]?.close();
    expect(readdirSync(folder)).toEqual(['quota.db']);
  });

  test('leaves no lock on the file after a failure', () => {
    const shared = fileQuotaStore(path).join(KEY, () => {});
    shared.exchange(REQUEST);
    const other = new DatabaseSync(path);
    other.exec("CREATE TRIGGER full BEFORE INSERT ON quotas BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
    expect(() => shared.exchange(REQUEST)).toThrow('the disk is full');
    other.exec('DROP TRIGGER full; DELETE FROM quotas');
    expect(shared.exchange(REQUEST)).toMatchObject({ granted: 1 });
    other.close();
  });

  test('throws an error that says that it was closed when it is joined or used later', () => {
    const store = fileQuotaStore(path);
    const shared = store.join(KEY, () => {});
    store.close();
    const why = `Cannot use ${JSON.stringify(path)} as the file of a quota store: it was closed; make another store with fileQuotaStore()`;
    expect(() => store.join(KEY, () => {})).toThrow(new ConfigurationError(why, { option: 'quotaStore' }));
    expect(() => shared.exchange(REQUEST)).toThrow(why);
  });

  test('that is closed refuses a new client, and a client that uses it continues on its own', async () => {
    await using served = await serveSandbox({ pets: 2 });
    const quotaStore = fileQuotaStore(path);
    const used = new PetStoreClient({ apiKey: served.keys.pro, baseUrl: served.url, quotaStore });
    await used.listInventory();
    const reasons: unknown[] = [];
    used.on('quotaStore', ({ reason }) => reasons.push(reason));
    quotaStore.close();
    expect(await used.listInventory()).toHaveLength(2);
    expect(reasons).toEqual([expect.stringContaining('it was closed')]);
    expect(() => new PetStoreClient({ apiKey: served.keys.free, baseUrl: served.url, quotaStore })).toThrow('it was closed');
  });

  const NOON = Date.parse('2026-11-22T12:00:00Z');
  const TWO_HOURS_MS = 2 * 3_600_000;
  /** The response to a script that opens the file while the machine's clock shows this instant. */
  const requestAt = (nowMs: number, more: Partial<LeaseRequest> = {}) => {
    vi.useFakeTimers({ now: nowMs, toFake: ['Date'] });
    onTestFinished(() => void vi.useRealTimers());
    using store = fileQuotaStore(path);
    return store.join(KEY, () => {}).exchange({ ...REQUEST, ...more });
  };
  const windowAt = (nowMs: number, endsInMs: number) => ({ limit: 60, remaining: 0, resetAtMs: nowMs + endsInMs, endsInMs, ageMs: 0 });

  test.each([
    ['a used minute', (nowMs: number) => ({ minute: windowAt(nowMs, 60_000), isProbeAnswered: true })],
    ['a used day', (nowMs: number) => ({ day: windowAt(nowMs, 80_000_000), isProbeAnswered: true })],
    ['a closed gate', () => ({ closedForMs: 60_000 })],
    ['a used plan', () => ({ plan: { requestsPerMinute: 1 } })],
  ])('forgets %s that was written while the clock was two hours ahead', (_what, tell) => {
    requestAt(NOON + TWO_HOURS_MS, tell(NOON + TWO_HOURS_MS));
    requestAt(NOON + TWO_HOURS_MS, { wanted: 0, ...tell(NOON + TWO_HOURS_MS) });
    expect(requestAt(NOON, { member: 'b', plan: { requestsPerMinute: 1 } })).toMatchObject({ granted: 1, reason: 'probe' });
    expect(requestAt(NOON + 1, { member: 'c', plan: { requestsPerMinute: 1 } })).toMatchObject({ granted: 0, reason: 'probe' });
  });

  test('keeps a closed gate when the clock is set back by seconds', () => {
    requestAt(NOON, { closedForMs: 3_600_000 });
    expect(requestAt(NOON - 5_000, { member: 'b' })).toMatchObject({ granted: 0, reason: 'closed', waitMs: 3_605_000 });
  });

  test('keeps a closed gate for as long as it is closed, even if other keys are used meanwhile', () => {
    const WEEK_MS = 7 * 86_400_000;
    requestAt(NOON, { closedForMs: WEEK_MS });
    using other = fileQuotaStore(path);
    for (const day of [2, 4, 6]) {
      vi.setSystemTime(NOON + day * 86_400_000);
      other.join({ ...KEY, apiKey: `key of day ${day}` }, () => {}).exchange(REQUEST);
    }
    expect(requestAt(NOON + WEEK_MS - 1, { member: 'b' })).toMatchObject({ granted: 0, reason: 'closed', waitMs: 1 });
  });

  test('deletes the records of other keys that nothing has used for a day', () => {
    const clock = vi.spyOn(Date, 'now');
    onTestFinished(() => clock.mockRestore());
    using store = fileQuotaStore(path);
    const recordsAfter = (apiKey: string, hours: number) => {
      clock.mockReturnValue(NOON + hours * 3_600_000);
      store.join({ ...KEY, apiKey }, () => {}).exchange(REQUEST);
      using file = new DatabaseSync(path);
      return file.prepare('SELECT name FROM quotas').all().length;
    };
    expect([recordsAfter('first', 0), recordsAfter('second', 20), recordsAfter('third', 26)]).toEqual([1, 2, 2]);
  });

  test.each([
    ['is no JSON', "'{'"],
    ['has a limit that is no number', "json_set(book, '$.minute', json('{\"limit\":null}'))"],
  ])('replaces a record that %s', (_what, damaged) => {
    requestAt(NOON);
    const file = new DatabaseSync(path);
    file.exec(`UPDATE quotas SET book = ${damaged}`);
    file.close();
    expect(requestAt(NOON, { member: 'b' })).toMatchObject({ granted: 1, reason: 'probe' });
    expect(requestAt(NOON, { member: 'c' })).toMatchObject({ granted: 0, reason: 'probe' });
  });

  test('shares the quota of a plan without limits, even if headers name no Limit', async () => {
    vi.useFakeTimers({ now: NOW_MS, toFake: ['setTimeout', 'clearTimeout', 'Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    using store = fileQuotaStore(path);
    const answer = () => new Response('[]', { headers: { 'x-ratelimit-remaining': '9000', 'x-ratelimit-reset': '60' } });
    const { address: baseUrl, apiKey } = KEY;
    const client = new PetStoreClient({ apiKey, baseUrl, fetch: async () => answer(), plan: 'unlimited', quotaStore: store });
    const failures: unknown[] = [];
    client.on('quotaStore', ({ reason }) => failures.push(reason));
    for (let n = 0; n < 5; n++) {
      await client.listInventory();
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(failures).toEqual([]);
  });

  test('reads a file of the version before, which does not say when it was written', () => {
    requestAt(NOON, { closedForMs: 60_000 });
    const file = new DatabaseSync(path);
    file.exec("UPDATE quotas SET book = json_remove(book, '$.writtenAtMs')");
    file.close();
    expect(requestAt(NOON, { member: 'b' })).toMatchObject({ reason: 'closed' });
  });

  test('reads a file of the version before, whose fields had other names', () => {
    requestAt(NOON);
    requestAt(NOON, { wanted: 0, minute: { ...windowAt(NOON, 60_000), remaining: 50 }, isProbeAnswered: true });
    const file = new DatabaseSync(path);
    file.exec("UPDATE quotas SET book = json_remove(book, '$.minute.firstRemaining', '$.members.a.requestedAtMs')");
    file.close();
    expect(requestAt(NOON, { member: 'b' })).toMatchObject({ granted: 1, reason: 'quota', members: 2 });
  });

  test('reads a file of the version before, whose day has more fields', () => {
    requestAt(NOON, { wanted: 0, day: windowAt(NOON, 80_000_000) });
    const file = new DatabaseSync(path);
    file.exec("UPDATE quotas SET book = json_set(book, '$.day.limit', 60, '$.day.told', 0)");
    file.close();
    expect(requestAt(NOON, { member: 'b' })).toMatchObject({ granted: 0, reason: 'quota', waitMs: 80_000_000 });
  });

  test('refuses a value that is not a path', () => {
    expect(() => Reflect.apply(fileQuotaStore, undefined, [42])).toThrow(/`path`/);
  });
});
