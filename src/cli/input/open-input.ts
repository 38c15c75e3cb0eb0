import { constants, statSync } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { textOf } from '../../thrown.ts';
import { isStorageFailure } from '../storage-failure.ts';
import type { Terminal } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'there is no permission to read it',
  EISDIR: 'it is a directory',
};

/** Why a file cannot be read, from the system's code. */
export function unreadable(code: string): string {
  return REASONS[code] ?? `it cannot be read (${code})`;
}

/** Where an input is read from, and the signal that ends the reading. */
export interface InputSource {
  terminal: Terminal;
  signal?: AbortSignal | undefined;
}

/** Reads the text of a file, or of stdin for `-`, in chunks. @throws UsageError if it cannot be read or is not UTF-8 text */
export async function* inputText(path: string, { terminal, signal }: InputSource): AsyncGenerator<string> {
  const name = inputName(path);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for await (const bytes of path === '-' ? stdinBytes(terminal) : fileBytes(path, signal)) {
    const text = decode(decoder, bytes, name);
    if (text !== '') yield text;
  }
  decode(decoder, undefined, name);
}

/** Reads the beginning of a text until `isEnough` accepts it. Returns it as `head`, and the `whole` text, which still includes it. */
export async function peek(
  text: AsyncIterable<string>,
  isEnough: (head: string) => boolean,
): Promise<{ head: string; whole: AsyncIterable<string> }> {
  const chunks = text[Symbol.asyncIterator]();
  let head = '';
  while (!isEnough(head)) {
    const { value, done } = await chunks.next();
    if (done) break;
    head += value;
  }
  return { head, whole: concat(head, chunks) };
}

async function* concat(head: string, rest: AsyncIterator<string>): AsyncGenerator<string> {
  try {
    yield head;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    // If the reader stops early, the source has to be closed here.
    await rest.return?.();
  }
}

/** How messages name an input. */
export function inputName(path: string): string {
  return path === '-' ? 'stdin' : path || '""';
}

/** The bytes of stdin. If they cannot be read, no argument is wrong, whatever the code of the error. */
export async function* stdinBytes({ stdin }: Terminal): AsyncGenerator<Uint8Array> {
  try {
    // Node finds nothing in a folder. Windows has neither this path nor folders as stdin.
    if (statSync('/dev/stdin', { throwIfNoEntry: false })?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
    yield* stdin;
  } catch (error) {
    throw new Error(cannotRead('-', error).message, { cause: error });
  }
}

async function* fileBytes(path: string, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
  signal?.throwIfAborted();
  let isReading = true;
  const wake = async (): Promise<void> => {
    while (isReading && !(await wakeReader(path))) await setTimeout(WAKE_AGAIN_MS);
  };
  signal?.addEventListener('abort', wake, { once: true });
  try {
    const handle = await open(path).catch((error) => {
      throw cannotRead(path, error);
    });
    try {
      yield* chunksOf(handle, { path, signal });
    } finally {
      await handle.close();
    }
  } finally {
    isReading = false;
    signal?.removeEventListener('abort', wake);
  }
}

/** The time in which a pipe that is being opened gets its reader. */
const WAKE_AGAIN_MS = 50;
const CHUNK = 65_536;

/** Reads without a stream, which would already wait for the next chunk. Each chunk is valid until the next. */
async function* chunksOf(
  handle: FileHandle,
  { path, signal }: { path: string; signal: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(CHUNK);
  for (;;) {
    const { bytesRead } = await handle.read(buffer).catch((error) => {
      throw cannotRead(path, error);
    });
    signal?.throwIfAborted();
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

/**
 * Writes a line break into a named pipe, of which this process waits for the writer or its next bytes: Node cannot cancel such a wait, and
 * does not end before it is over. Returns false if the pipe has no reader yet.
 */
async function wakeReader(path: string): Promise<boolean> {
  try {
    // Looked at before it is opened, since opening a device may have effects.
    if (!(await stat(path)).isFIFO()) return true;
    await using pipe = await open(path, constants.O_WRONLY | constants.O_NONBLOCK);
    if ((await pipe.stat()).isFIFO()) await pipe.write('\n');
    return true;
  } catch (error) {
    // Otherwise it has been removed, or is full, so that nothing waits for it.
    return textOf(error, 'code') !== 'ENXIO';
  }
}

/** The error for an input that the system cannot open or read. */
export function cannotRead(path: string, error: unknown): Error {
  const message = `Cannot use ${inputName(path)}: ${unreadable(textOf(error, 'code') ?? '')}`;
  return isStorageFailure(error) ? new Error(message, { cause: error }) : new UsageError(message);
}

function decode(decoder: TextDecoder, bytes: Uint8Array | undefined, name: string): string {
  try {
    const text = bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode();
    if (!text.includes('\0')) return text;
  } catch {
    // Reported below, since the decoder's message names neither the file nor the reason.
  }
  throw new UsageError(`Cannot use ${name}: it is not UTF-8 text; save it as CSV, JSON or NDJSON in UTF-8`);
}
