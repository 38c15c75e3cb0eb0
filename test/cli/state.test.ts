import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { openState, stateFolder } from '../../src/cli/state.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

let home: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'petstore-state-'));
  return () => rmSync(home, { recursive: true });
});

test.each([
  ['linux', { HOME: '/h', XDG_STATE_HOME: '/x', LOCALAPPDATA: '/l' }, '/x/petstore'],
  ['linux', { HOME: '/h' }, '/h/.local/state/petstore'],
  ['darwin', { HOME: '/h', XDG_STATE_HOME: '/x' }, '/h/Library/Application Support/petstore'],
  ['win32', { HOME: '/h', LOCALAPPDATA: '/l' }, '/l/petstore'],
  ['linux', {}, undefined],
  ['darwin', {}, undefined],
  ['win32', { HOME: '/h' }, undefined],
] as const)('stateFolder of %s with %o is %s', (platform, env, folder) => {
  expect(stateFolder(env, platform)).toBe(folder);
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

test('openState keeps nothing for a user without a home, and says nothing', async () => {
  const terminal = new FakeTerminal();
  expect(await openState({}, terminal)).toBeUndefined();
  expect(terminal.err).toBe('');
});
