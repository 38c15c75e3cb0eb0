import { ConfigurationError } from '../errors.ts';
import { messageOf } from '../thrown.ts';

/** The part of Node's `fs` that reads a key, in every runtime that has files. */
interface Files {
  readFileSync(path: string, encoding: 'utf8'): string;
  statSync(path: string): { isFile(): boolean };
}

declare const process: { getBuiltinModule?: (name: 'fs') => Files | undefined } | undefined;

/** One source for each file, so that the clients of one file share a gate. */
const sources = new Map<string, () => string>();

/**
 * Returns a function that gives the key from a file, without the white space around it. The file is read now, and for each
 * request, since it may be replaced; while it then cannot be read or is empty, the function gives the key that was read before.
 * @throws ConfigurationError if the file cannot be read now
 */
export function keyFileSource(path: string): () => string {
  const source = sources.get(path) ?? readingSource(path);
  sources.set(path, source);
  return source;
}

/** Where the keys of a function come from, for messages. */
export function originOf(source: () => unknown): string {
  return new Set<unknown>(sources.values()).has(source) ? 'the file of PETSTORE_API_KEY_FILE' : 'the `apiKey` function';
}

function readingSource(path: string): () => string {
  // Node, Bun, Deno and workerd have it; unlike an import of `node:fs`, it does not break a bundle for a browser.
  const files = typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('fs');
  if (!files) throw unreadable(path, 'this runtime has no files');
  let key = read(files, path);
  return () => {
    try {
      // A pipe, such as a shell's <(…), can be read only once.
      if (files.statSync(path).isFile()) key = read(files, path);
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

function unreadable(path: string, why: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(`Cannot read the key from ${path}, which PETSTORE_API_KEY_FILE names: ${why}`, { option: 'apiKey', cause });
}
