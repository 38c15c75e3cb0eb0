import { randomUUID } from 'node:crypto';
import { lstatSync, readlinkSync, realpathSync, type Stats } from 'node:fs';
import { chmod, chown, open, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { textOf } from '../thrown.ts';

/** The codes of a file that can be written but not replaced: its folder takes no new files, it is mounted by itself, or it is another user's. */
const CANNOT_REPLACE: readonly unknown[] = ['EACCES', 'EPERM', 'EROFS', 'EBUSY', 'EINVAL'];

/** What is at a path; undefined if there is nothing. @throws the system's error */
export async function found(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (error) {
    if (textOf(error, 'code') === 'ENOENT') return undefined;
    throw error;
  }
}

/** Checks that `replaceFile` can write a file, and leaves it as it is. @throws the system's error, or an Error for a pipe */
export async function checkReplaceable(path: string): Promise<void> {
  const earlier = await found(path);
  // Its reader would take the end of this check for the end of the file; the write at the end of the job would wait for another reader, for ever.
  if (earlier?.isFIFO()) throw new Error('it is a pipe; name a file');
  if (earlier) return (await open(path, 'r+')).close();
  const temporary = beside(linkedFrom(path));
  await (await open(temporary, 'wx')).close();
  await rm(temporary);
}

/**
 * Writes a file whole: until it is complete, and if the process is killed before, an earlier file stays. A device, and a file that cannot
 * be replaced, is written in place.
 *
 * @throws the system's error
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const earlier = await found(path);
  if (!earlier) return writeBeside(linkedFrom(path), text);
  if (!earlier.isFile()) return writeFile(path, text);
  try {
    await writeBeside(await realpath(path), text, earlier);
  } catch (error) {
    if (!CANNOT_REPLACE.includes(textOf(error, 'code'))) throw error;
    await writeFile(path, text);
  }
}

/** Where links lead, although there is no file yet. @throws the system's error if a link leads into no folder */
export function linkedFrom(path: string): string {
  const target = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : undefined;
  return target === undefined ? path : linkedFrom(resolve(realpathSync(dirname(path)), target));
}

/** Writes a file beside the path, and then gives it that name, which is one step for the file system. It gets owner and rights of `earlier`. */
async function writeBeside(path: string, text: string, earlier?: Stats): Promise<void> {
  const temporary = beside(path);
  try {
    await writeFile(temporary, text, { flag: 'wx', mode: earlier?.mode, flush: true });
    if (earlier) {
      await chown(temporary, earlier.uid, earlier.gid);
      // The mode of a new file lacks what the umask denies.
      await chmod(temporary, earlier.mode);
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

function beside(path: string): string {
  return `${path}.${randomUUID().slice(0, 8)}.tmp`;
}
