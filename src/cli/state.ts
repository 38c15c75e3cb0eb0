import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type FileQuotaStore, fileQuotaStore } from '../node/file-quota-store.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';

/** Opens what the runs of one user share: the quota of the key. Where that is impossible the command goes on alone, and says so. */
export function openState(terminal: Terminal): FileQuotaStore | undefined {
  const folder = stateFolder(terminal.env, process.platform);
  if (folder === undefined) return undefined;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return fileQuotaStore(join(folder, 'quota.db'));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    tell(terminal, `petstore: other runs are not known to this one: ${why} (--no-state goes without)`);
    return undefined;
  }
}

/** Where programs of this system keep what is neither settings nor cache; undefined for a user without a home. */
export function stateFolder(env: Terminal['env'], platform: NodeJS.Platform): string | undefined {
  const { HOME, XDG_STATE_HOME, LOCALAPPDATA } = env;
  if (platform === 'win32') return LOCALAPPDATA ? join(LOCALAPPDATA, 'petstore') : undefined;
  if (platform === 'darwin') return HOME ? join(HOME, 'Library', 'Application Support', 'petstore') : undefined;
  if (XDG_STATE_HOME) return join(XDG_STATE_HOME, 'petstore');
  return HOME ? join(HOME, '.local', 'state', 'petstore') : undefined;
}
