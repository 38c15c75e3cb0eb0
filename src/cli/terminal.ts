/** A stream to which a command writes. */
export type TextStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** Everything that a command uses of its process, so that tests can replace it. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
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

/** Writes a text to stdout, and resolves when it is written. @throws ReaderGoneError, or an Error for a full disk and the like */
export function writeText(stream: TextStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(cannotWrite(error)) : resolve()));
  });
}

/** Writes the result of a job; a closed pipe is not an error here, since the job is done. @throws an Error for a full disk and the like */
export function writeResult(stream: TextStream, text: string): Promise<void> {
  return writeResults(stream, [text]);
}

/** Writes a result in parts, like `writeResult`, and stops once the pipe is closed. @throws an Error for a full disk and the like */
export async function writeResults(stream: TextStream, texts: Iterable<string>): Promise<void> {
  try {
    for (const text of texts) await writeText(stream, text);
  } catch (error) {
    if (!(error instanceof ReaderGoneError)) throw error;
  }
}

function cannotWrite(error: Error): Error {
  const isGone = 'code' in error && READER_GONE_CODES.includes(error.code);
  if (isGone) return new ReaderGoneError(error.message, { cause: error });
  return new Error(`Cannot write to stdout: ${error.message}`, { cause: error });
}
