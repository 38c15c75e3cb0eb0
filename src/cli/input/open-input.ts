import { type FileHandle, open } from 'node:fs/promises';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be read',
  EISDIR: 'it is a directory',
};

/** The text of a file, or of stdin for `-`, as it comes. @throws UsageError when it cannot be read, is empty, or is no text */
export async function* inputText(path: string, { stdin }: Terminal): AsyncGenerator<string> {
  const name = inputName(path);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let isEmpty = true;
  for await (const bytes of path === '-' ? stdin : fileBytes(path)) {
    const text = decode(decoder, bytes, name);
    isEmpty &&= text.trim() === '';
    if (text !== '') yield text;
  }
  decode(decoder, undefined, name);
  if (isEmpty) throw new UsageError(`Cannot use ${name}: it is empty`);
}

/** What messages call an input. */
export function inputName(path: string): string {
  return path === '-' ? 'stdin' : path;
}

async function* fileBytes(path: string): AsyncGenerator<Uint8Array> {
  const handle = await openFile(path);
  try {
    if ((await handle.stat()).isDirectory()) throw unusable(path, 'it is a directory');
    yield* handle.createReadStream({ autoClose: false });
  } finally {
    await handle.close();
  }
}

async function openFile(path: string): Promise<FileHandle> {
  try {
    return await open(path);
  } catch (error) {
    const code = error instanceof Error ? String(Reflect.get(error, 'code')) : '';
    throw unusable(path, REASONS[code] ?? `it cannot be opened (${code})`);
  }
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined, name: string): string {
  try {
    const text = bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    if (!text.includes('\0')) return text;
  } catch {
    // Told below: the decoder's own words name neither the file nor the reason.
  }
  throw unusable(name, 'it is no UTF-8 text; give a file in CSV, JSON or NDJSON');
}

function unusable(name: string, reason: string): UsageError {
  return new UsageError(`Cannot use ${name}: ${reason}`);
}
