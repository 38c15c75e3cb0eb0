import { existsSync, lstatSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Makes a folder for compiled code, beside the user's other temporary files. Node runs what it finds there, whatever the files of the
 * program say, so the result is undefined if another user may have written to it, and also if the user wants no cache, or chose its folder.
 */
export function cacheFolder(): string | undefined {
  if (process.env.NODE_DISABLE_COMPILE_CACHE || process.env.NODE_COMPILE_CACHE) return undefined;
  const user = process.geteuid?.();
  // On Windows, the folder for temporary files is the user's own.
  if (user === undefined) return join(tmpdir(), 'petstore');
  const path = join(tmpdir(), `petstore-${user}`);
  try {
    if (!existsSync(path)) mkdirSync(path, { mode: 0o700 });
    const found = lstatSync(path);
    return found.isDirectory() && found.uid === user && (found.mode & 0o022) === 0 ? path : undefined;
  } catch {
    return undefined;
  }
}
