/** Where a command writes. */
export type TextStream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

/** All that a command touches of its process, so that it can run inside a test. */
export interface Terminal {
  readonly stdin: AsyncIterable<Uint8Array>;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Calls `listener` at every interrupt (Ctrl-C) until the function it gives is called. */
  onInterrupt(listener: () => void): () => void;
  /** Ends the process at once. */
  exit(code: number): void;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Writes, and resolves when the stream can take more. @throws the stream's error, such as EPIPE and ENOSPC */
export function writeText(stream: TextStream, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(text, (error) => (error ? reject(error) : resolve()));
  });
}

/** Writes one line for the human; where that is impossible there is nobody to tell. */
export function tell({ stderr }: Terminal, line: string): void {
  stderr.write(`${line}\n`, () => {});
}
