import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openState, stateFolder } from '../../src/cli/state.ts';
import { QuotaFile } from '../../src/node/quota-file.ts';
import { rejectionOf } from '../support/outcome.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-state-'));
  return () => rmSync(home, { recursive: true });
});

test.each([
  ['linux', { HOME: '/h', XDG_STATE_HOME: '/x', LOCALAPPDATA: '/l' }, '/x/petstore'],
  ['linux', { HOME: '/h', XDG_STATE_HOME: 'x' }, '/h/.local/state/petstore'],
  ['linux', { HOME: '/h' }, '/h/.local/state/petstore'],
  ['darwin', { HOME: '/h', XDG_STATE_HOME: '/x' }, '/h/Library/Application Support/petstore'],
  ['win32', { HOME: '/h', LOCALAPPDATA: '/l' }, '/l/petstore'],
  ['linux', { HOME: 'h' }, undefined],
  ['linux', {}, undefined],
  ['darwin', { HOME: 'h' }, undefined],
  ['darwin', {}, undefined],
  ['win32', { HOME: '/h' }, undefined],
] as const)('stateFolder of %s with %o is %s', (platform, env, folder) => {
  expect(stateFolder(new FakeTerminal({ env }), platform)).toBe(folder);
});

test.skipIf(process.platform !== 'linux')('openState makes a folder that only its user can read', async () => {
  (await openState({}, new FakeTerminal({ env: { XDG_STATE_HOME: home } })))?.close();
  expect(statSync(join(home, 'petstore')).mode & 0o777).toBe(0o700);
});

test.skipIf(process.platform !== 'linux')('openState says why a run does not share the quota', async () => {
  const terminal = new FakeTerminal({ env: { XDG_STATE_HOME: '/dev/null' } });
  expect(await openState({}, terminal)).toBeUndefined();
  expect(terminal.err).toMatch(/^petstore: this run does not share the quota with others: .*ENOTDIR.* \(--no-state turns sharing off\)\n$/);
});

test.skipIf(process.platform !== 'linux')('openState advises only what helps with the file of this user', async () => {
  const terminal = new FakeTerminal({ env: { XDG_STATE_HOME: home } });
  const path = join(home, 'petstore', 'quota.db');
  mkdirSync(join(home, 'petstore'));
  writeFileSync(path, 'petId,quantity\n'.repeat(100));
  const why = `"${path}": it is not an SQLite database; delete it, or name a place with --quota-store`;
  await expect(openState({ needsState: '--reset' }, terminal)).rejects.toThrow(
    new Error(`Cannot use --reset without the state that runs share: ${why}`),
  );
  expect(await openState({}, terminal)).toBeUndefined();
  expect(terminal.err).toBe(`petstore: this run does not share the quota with others: ${why} (--no-state turns sharing off)\n`);
  rmSync(path);
  mkdirSync(path);
  await expect(openState({ needsState: '--lock' }, terminal)).rejects.toThrow('it is a folder; delete it, or name a place');
});

test('openState fails with the error of the connection as its cause if Redis does not answer', async () => {
  const error = await rejectionOf(openState({ quotaStore: 'redis://127.0.0.1:1' }, new FakeTerminal()));
  expect(error).toMatchObject({
    message: expect.stringMatching(/^Cannot use redis:\/\/127\.0\.0\.1:1 as --quota-store: .*ECONNREFUSED/),
    cause: expect.objectContaining({ code: 'ECONNREFUSED' }),
  });
});

test('openState keeps nothing for a user without a home, and says nothing', async () => {
  const terminal = new FakeTerminal();
  expect(await openState({}, terminal)).toBeUndefined();
  expect(terminal.err).toBe('');
});

describe('the lock in a file', () => {
  const AT_MS = Date.parse('2026-11-25T12:00:00Z');

  /** The lock, taken by a process whose clock was ahead by this time (behind, if negative) and was set right since. */
  async function takenAhead(aheadMs: number) {
    vi.useFakeTimers({ now: AT_MS + aheadMs, toFake: ['Date'] });
    const state = await openState({ quotaStore: `file:${join(home, 'q.db')}` }, new FakeTerminal());
    onTestFinished(() => {
      vi.useRealTimers();
      state?.close();
    });
    const lock = state?.lock('restock');
    await lock?.({ id: 'one', text: '{"pid":1}', heldMs: 30_000 });
    vi.setSystemTime(AT_MS);
    return lock;
  }

  test.each([
    ['more than a minute in the future', 60_001, 90_001],
    ['30 s ago', -30_000, 0],
  ])('is void if its holder took it %s, and free for a run that has waited', async (_when, aheadMs, leftMs) => {
    const lock = await takenAhead(aheadMs);
    const held = { text: '{"pid":1}', leftMs, isVoid: true };
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000 })).toEqual(held);
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000 })).toEqual(held);
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000, takesVoid: true })).toBeUndefined();
    expect(await lock?.({ id: 'one', text: '{}', heldMs: 30_000, takesVoid: true })).toEqual({ text: '{}', leftMs: 30_000, isVoid: false });
  });

  test('stays with its holder if the clock was set back by a minute', async () => {
    const lock = await takenAhead(60_000);
    const held = { text: '{"pid":1}', leftMs: 90_000, isVoid: false };
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000, takesVoid: true })).toEqual(held);
  });

  test('stays with a holder that renews it after the clock was set', async () => {
    const lock = await takenAhead(3_600_000);
    await lock?.({ id: 'one', text: '{"pid":1}', heldMs: 30_000 });
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000, takesVoid: true })).toMatchObject({ isVoid: false });
  });

  test('is not taken by a late renewal of a holder after another one has released it, or if it is not there', async () => {
    const lock = await takenAhead(-30_000);
    const late = { id: 'one', text: '{"pid":1}', heldMs: 30_000, isLate: true };
    expect(await lock?.(late)).toBeUndefined();
    vi.setSystemTime(AT_MS + 60_000);
    await lock?.({ id: 'other', text: '{}', heldMs: 30_000, takesVoid: true });
    await lock?.({ id: 'other', text: '{}', heldMs: 0 });
    expect(await lock?.(late)).toEqual({ text: '{}', leftMs: 0 });
    expect(await lock?.({ ...late, id: 'third', isLate: false })).toBeUndefined();
    const state = await openState({ quotaStore: `file:${join(home, 'q.db')}` }, new FakeTerminal());
    expect(await state?.lock('another')(late)).toEqual({ text: '', leftMs: 0 });
    state?.close();
  });

  test.each([
    ['is cut', '{"id":"one","te'],
    ['is no record', '5'],
    ['lacks its holder', '{"text":"{}","untilMs":1}'],
    ["is another program's", '{"id":1,"text":{},"untilMs":"now"}'],
  ])('is void if its record %s, so that its holder ends, and a run that has waited takes it', async (_how, record) => {
    const lock = await takenAhead(0);
    const file = new QuotaFile(join(home, 'q.db'));
    file.change('lock:restock', Date.now, () => ({ record, response: undefined }));
    file.close();
    const held = { text: '', leftMs: 0, isVoid: true };
    expect(await lock?.({ id: 'one', text: '{"pid":1}', heldMs: 30_000 })).toEqual(held);
    expect(await lock?.({ id: 'one', text: '{"pid":1}', heldMs: 0 })).toEqual(held);
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000 })).toEqual(held);
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000, takesVoid: true })).toBeUndefined();
    expect(await lock?.({ id: 'one', text: '{}', heldMs: 30_000 })).toMatchObject({ isVoid: false });
  });

  test('is kept for a holder that was suspended for a day, and forgotten a day after its release', async () => {
    const lock = await takenAhead(-26 * 3_600_000);
    const file = `file:${join(home, 'q.db')}`;
    const takeAnother = async (name: string) => {
      const state = await openState({ quotaStore: file }, new FakeTerminal());
      await state?.lock(name)({ id: 'other', text: '{}', heldMs: 30_000 });
      await state?.lock(name)({ id: 'other', text: '{}', heldMs: 0 });
      state?.close();
    };
    await takeAnother('nightly');
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000 })).toMatchObject({ text: '{"pid":1}', isVoid: true });
    await lock?.({ id: 'one', text: '{"pid":1}', heldMs: 0 });
    vi.setSystemTime(AT_MS + 26 * 3_600_000);
    await takeAnother('weekly');
    const database = new DatabaseSync(join(home, 'q.db'));
    expect(database.prepare('SELECT name FROM quotas').all()).toEqual([{ name: 'lock:weekly' }]);
    database.close();
  });

  test('is free at once after its release', async () => {
    const lock = await takenAhead(0);
    await lock?.({ id: 'one', text: '{}', heldMs: 0 });
    expect(await lock?.({ id: 'other', text: '{}', heldMs: 30_000 })).toBeUndefined();
  });
});
