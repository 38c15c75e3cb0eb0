import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** The longest that a test waits for a line or an end. */
const PATIENCE_MS = 30_000;

/** A program that was started and not yet ended. */
export class RunningProgram implements AsyncDisposable {
  /** What it wrote so far, on stdout and stderr. */
  told = '';
  readonly #child: ChildProcess;
  readonly #exit: Promise<unknown>;

  constructor(program: string, args: readonly string[], { cwd, env }: { cwd: string; env: Record<string, string> }) {
    this.#child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exit = once(this.#child, 'close');
    const hear = (chunk: Buffer) => {
      this.told += chunk.toString();
    };
    this.#child.stdout?.on('data', hear);
    this.#child.stderr?.on('data', hear);
  }

  /** Waits until it has written what matches, and gives the match. */
  async tells(pattern: RegExp): Promise<RegExpExecArray> {
    const untilMs = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = pattern.exec(this.told);
      if (found) return found;
      if (Date.now() > untilMs || this.#child.exitCode !== null) throw new Error(`it did not tell ${pattern}, but: ${this.told}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** Sends a signal and gives the exit code: null where the signal ended it. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    const late = setTimeout(() => this.#child.kill('SIGKILL'), PATIENCE_MS);
    this.#child.kill(signal);
    await this.#exit;
    clearTimeout(late);
    return this.#child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await this.end('SIGKILL');
  }
}
