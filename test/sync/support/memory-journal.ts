import type { Journal } from '../../../src/sync/index.ts';

/** A journal in an array; `step` is called before and after lines become safe. */
export class MemoryJournal implements Journal {
  readonly name = 'memory';
  readonly lines: string[] = [];
  /** How many lines came at once. */
  readonly portions: number[] = [];
  step: (() => Promise<void>) | undefined;
  appendError: unknown;
  closeError: unknown;
  closed = 0;

  async *read(): AsyncGenerator<string> {
    yield* [...this.lines];
  }

  async append(lines: readonly string[]): Promise<void> {
    await this.step?.();
    if (this.appendError !== undefined) throw this.appendError;
    this.lines.push(...lines);
    this.portions.push(lines.length);
    await this.step?.();
  }

  async close(): Promise<void> {
    this.closed += 1;
    if (this.closeError !== undefined) throw this.closeError;
  }

  /** The types of the records, in order. */
  get story(): string[] {
    return this.lines.map((line) => {
      const { type, petId } = JSON.parse(line);
      return petId === undefined ? type : `${type} ${petId}`;
    });
  }
}
