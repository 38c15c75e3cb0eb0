import { ConfigurationError } from '../errors.ts';
import { textOf } from '../thrown.ts';

/** The part of Node's `fs` that reads a key, in every runtime that has files. */
interface Files {
  readFileSync(path: string, encoding: 'utf8'): string;
  statSync(path: string): { mtimeMs: number; ino: number; isFile(): boolean };
}

declare const process: { getBuiltinModule?: (name: 'fs') => Files | undefined } | undefined;

/** One source for each file, so that the clients of one file share a gate. */
const sources = new Map<string, () => string>();

/**
 * Gives what reads the key from a file, without the white space around it: once, and again when the file was replaced.
 * @throws ConfigurationError where it cannot be read
 */
export function keyFileSource(path: string): () => string {
  const source = sources.get(path) ?? readingSource(path);
  sources.set(path, source);
  return source;
}

function readingSource(path: string): () => string {
  const files = builtinFiles();
  if (!files) throw unreadable(path, 'this runtime has no files');
  // Before it is read, so that one that is replaced meanwhile is read again.
  let version = versionOf(files, path);
  let key = read(files, path);
  return () => {
    const current = versionOf(files, path);
    if (current === undefined || current === version) return key;
    key = read(files, path);
    version = current;
    return key;
  };
}

function read(files: Files, path: string): string {
  const key = readText(files, path).trim();
  if (key === '') throw unreadable(path, 'it is empty');
  return key;
}

function readText(files: Files, path: string): string {
  try {
    return files.readFileSync(path, 'utf8');
  } catch (error) {
    throw unreadable(path, textOf(error, 'code') ?? 'it cannot be read');
  }
}

/** Changes when the file does; undefined while there is none, and of a pipe, as a shell's <(…), which can be read only once. */
function versionOf(files: Files, path: string): string | undefined {
  try {
    const found = files.statSync(path);
    return found.isFile() ? `${found.ino} ${found.mtimeMs}` : undefined;
  } catch {
    return undefined;
  }
}

/** Node, Bun, Deno and workerd have it; no bundler and no browser has to know. */
function builtinFiles(): Files | undefined {
  return typeof process === 'undefined' ? undefined : process.getBuiltinModule?.('fs');
}

function unreadable(path: string, why: string): ConfigurationError {
  return new ConfigurationError(`Cannot read the key from ${path}, which PETSTORE_API_KEY_FILE names: ${why}`, { option: 'apiKey' });
}
