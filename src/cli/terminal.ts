import { messageOf, textOf } from '../thrown.ts';

/** A stream to which a command writes. */
export type TextStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Everything that a command uses of its process, so that tests can replace it. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The user's home folder, if there is one. Not from `env` alone: supervisors such as systemd start programs without HOME. */
  readonly home: string | undefined;
  /** Calls `listener` at every SIGINT (Ctrl-C), SIGTERM and SIGHUP. Returns a function that stops this. */
  onInterrupt(listener: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Milliseconds since 1970. */
  now(): number;
}

/** The reader closed the pipe, as in `petstore list | head`: it needs no more output. */
export class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
}

/** The error codes of a write to a pipe without a reader; EOF is the one on Windows. */
const READER_GONE_CODES: readonly unknown[] = ['EPIPE', 'EOF'];

/** The error code of a write to a terminal that was closed. Of a file, it is that of a broken disk. */
const TERMINAL_GONE_CODE = 'EIO';

/** A reader that takes nothing for this long after the command was told to end is not waited for. */
export const PATIENCE_MS = 5_000;

interface Ending {
  /** Tells the command to end. */
  signal?: AbortSignal | undefined;
}

/**
 * Writes a text to stdout, and resolves when it is written.
 *
 * @throws ReaderGoneError, an Error for a full disk and the like, or the reason of an abort if nobody reads the text after it
 */
export async function writeText(stream: TextStream, text: string, { signal }: Ending = {}): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const hurry = (): void => {
    timer = setTimeout(() => reject(signal?.reason), PATIENCE_MS);
  };
  if (signal?.aborted) hurry();
  else signal?.addEventListener('abort', hurry, { once: true });
  stream.write(text, (error) => (error ? reject(cannotWrite(stream, error)) : resolve()));
  try {
    await promise;
  } finally {
    signal?.removeEventListener('abort', hurry);
    clearTimeout(timer);
  }
}

interface Result extends Ending {
  /** What the command has changed, which nobody can read in a text that is not written. */
  outcome?: string | undefined;
}

/**
 * Writes the result of a job. A closed pipe is no error here, since the job is done; nor is a reader who takes nothing after an abort.
 *
 * @throws an Error for a full disk and the like, which says the outcome
 */
export async function writeResult(stream: TextStream, text: string, { signal, outcome }: Result = {}): Promise<void> {
  try {
    await writeResults(stream, [text], { signal });
  } catch (error) {
    if (signal?.aborted && error === signal.reason) return;
    throw outcome === undefined ? error : new Error(`${messageOf(error)}; ${outcome}`, { cause: error });
  }
}

/**
 * Writes a result in parts, for as long as the pipe is open.
 *
 * @throws an Error for a full disk and the like, or the reason of an abort if nobody reads the rest after it
 */
export async function writeResults(stream: TextStream, texts: Iterable<string>, ending?: Ending): Promise<void> {
  try {
    for (const text of texts) await writeText(stream, text, ending);
  } catch (error) {
    if (!(error instanceof ReaderGoneError)) throw error;
  }
}

function cannotWrite({ isTTY }: TextStream, error: Error): Error {
  const code = textOf(error, 'code');
  const isGone = READER_GONE_CODES.includes(code) || (isTTY === true && code === TERMINAL_GONE_CODE);
  if (isGone) return new ReaderGoneError(error.message, { cause: error });
  return new Error(`Cannot write to stdout: ${error.message}`, { cause: error });
}
