import type { Journal } from '../../../src/sync/index.ts';

/** A journal as a file is one: a text that a kill may tear in the middle of a write. */
export class TornJournal implements Journal {
  #text = '';
  #step = async (): Promise<void> => {};
  #torn = 0;
  #last: Promise<void> = Promise.resolve();

  /** `step` never resolves in the write that is killed; `torn` tells how much of that write is kept, from 0 to 1. */
  begin(step: () => Promise<void>, torn: number): void {
    this.#step = step;
    this.#torn = torn;
    this.#last = Promise.resolve();
  }

  /** The journal as another process opens it. */
  opened(): Journal {
    return { read: () => this.read(), append: (lines) => this.append(lines) };
  }

  async *read(): AsyncGenerator<string> {
    const lines = this.#text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    yield* lines;
  }

  append(lines: readonly string[]): Promise<void> {
    this.#last = this.#last.then(() => this.#write(lines));
    return this.#last;
  }

  async #write(lines: readonly string[]): Promise<void> {
    const before = this.#text;
    const written = `${before === '' || before.endsWith('\n') ? '' : '\n'}${lines.join('\n')}\n`;
    this.#text = before + written.slice(0, Math.floor(written.length * this.#torn));
    await this.#step();
    this.#text = before + written;
    await this.#step();
  }
}
