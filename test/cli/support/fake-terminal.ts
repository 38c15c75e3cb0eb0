// What a command loads when it is run, before a test takes over the clock: loading takes turns of the real one.
import '../../../src/cli/commands/sync.ts';
import '../../../src/cli/commands/undo.ts';

import { Writable } from 'node:stream';
import type { Terminal, TextStream } from '../../../src/cli/terminal.ts';

interface FakeTerminalOptions {
  stdin?: string;
  env?: Record<string, string>;
  isTTY?: boolean;
  /** Writing to stdout fails with this code. */
  stdoutError?: string;
}

/** A terminal in memory. */
export class FakeTerminal implements Terminal {
  out = '';
  err = '';
  exited: number | undefined;
  readonly stdout: TextStream;
  readonly stderr: TextStream;
  readonly env: Record<string, string>;
  readonly #stdin: string;
  readonly #listeners = new Set<(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void>();

  constructor({ stdin = '', env = {}, isTTY = false, stdoutError }: FakeTerminalOptions = {}) {
    this.#stdin = stdin;
    this.env = env;
    this.stdout = stream(isTTY, (text) => {
      if (stdoutError !== undefined) throw Object.assign(new Error(`${stdoutError}: write`), { code: stdoutError });
      this.out += text;
    });
    this.stderr = stream(isTTY, (text) => {
      this.err += text;
    });
  }

  get home(): string | undefined {
    return this.env.HOME;
  }

  get stdin(): AsyncIterable<Uint8Array> {
    const bytes = new TextEncoder().encode(this.#stdin);
    return (async function* () {
      // In small pieces, so that rows and characters are cut.
      for (let start = 0; start < bytes.length; start += 7) yield bytes.subarray(start, start + 7);
    })();
  }

  onInterrupt(listener: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP') => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  interrupt(signal: 'SIGINT' | 'SIGTERM' = 'SIGINT'): void {
    for (const listener of this.#listeners) listener(signal);
  }

  /** A reader of stdout that pauses: the first text that is written waits until `read`. */
  pauseReader(): { isWaitedFor: () => boolean; read: () => void } {
    const { stdout } = this;
    const write = stdout.write.bind(stdout);
    let take: (() => void) | undefined;
    stdout.write = (text, done) => {
      take = () => void write(text, typeof done === 'function' ? done : undefined);
      return false;
    };
    const read = () => {
      stdout.write = write;
      take?.();
    };
    return { isWaitedFor: () => take !== undefined, read };
  }

  exit(code: number): void {
    this.exited = code;
  }

  now(): number {
    return Date.now();
  }
}

function stream(isTTY: boolean, take: (text: string) => void): TextStream {
  const writable = new Writable({
    write(chunk, _encoding, done) {
      try {
        take(String(chunk));
        done();
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  });
  writable.on('error', () => {});
  return Object.assign(writable, { isTTY, columns: 80 });
}
