import { ConfigurationError } from '../errors.ts';
import { messageOf } from '../thrown.ts';

/** The part of Node's `fs` that reads a key, in every runtime that has files. */
interface Files {
  readFileSync(path: string, encoding: 'utf8'): string;
  statSync(path: string): { mtimeMs: number; ino: number; isFile(): boolean };
}

declare const process: { getBuiltinModule?: (name: 'fs') => Files | undefined } | undefined;

/** One source for each file, so that the clients of one file share a gate. */
const sources = new Map<string, () => string>();

/**
 * Returns a function that gives the key from a file, without the white space around it. The file is read now, and again after it was
 * replaced; while it then cannot be read or is empty, the function gives the key that was read before.
 * @throws ConfigurationError if the file cannot be read now
 */
export function keyFileSource(path: string): () => string {
  const source = sources.get(path) ?? readingSource(path);
  sources.set(path, source);
  return source;
}

function readingSource(path: string): () => string {
  // Node, Bun, Deno and workerd have it; unlike an import of `node:fs`, it does not break a bundle for a browser.
  const files = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('fs');
  if (!files) throw unreadable(path, 'this runtime has no files');
  // Taken before the file is read, so that a file that is replaced meanwhile is read again.
  let version = versionOf(files, path);
  let key = read(files, path);
  return () => {
    const current = versionOf(files, path);
    if (current === undefined || current === version) return key;
    try {
      key = read(files, path);
      version = current;
    } catch {
      // It cannot be read or is empty, as it is for a moment while it is written: it is read again for the next request.
    }
    return key;
  };
}

function read(files: Files, path: string): string {
  try {
    const key = files.readFileSync(path, 'utf8').trim();
    if (key) return key;
  } catch (cause) {
    throw unreadable(path, messageOf(cause), cause);
  }
  throw unreadable(path, 'it is empty');
}

/** A text that changes with the file; undefined if there is no file, or for a pipe such as a shell's <(…), which can be read only once. */
function versionOf(files: Files, path: string): string | undefined {
  try {
    const found = files.statSync(path);
    return found.isFile() ? `${found.ino} ${found.mtimeMs}` : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(path: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`Cannot read the key from ${path}, which PETSTORE_API_KEY_FILE names: ${why}`, { option: 'apiKey', cause });
}
