import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A folder for compiled code that only this user can write to. Node runs what it finds there, whatever the files of the program say, so the
 * result is undefined if another user may have written to it, and also if the user wants no cache, or chose its folder.
 */
export function cacheFolder(): string | undefined {
  if (process.env.NODE_DISABLE_COMPILE_CACHE || process.env.NODE_COMPILE_CACHE) return undefined;
  const user = process.geteuid?.();
  // On Windows, LOCALAPPDATA is the user's own, while services share the folder for temporary files.
  if (user === undefined) return process.env.LOCALAPPDATA ? join(process.env.LOCALAPPDATA, 'petstore', 'compiled') : undefined;
  const path = join(tmpdir(), `petstore-${user}`);
  try {
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === user && (found.mode & 0o022) === 0 ? path : undefined;
  } catch {
    return undefined;
  }
}
