import type { SyncProgress } from '../sync/index.ts';
import { counted, duration } from './duration.ts';
import type { Terminal, TextStream } from './terminal.ts';

/** Clears the cursor's line. */
const CLEAR_LINE = '\r\u001b[2K';
const REDRAW_MS = 100;
const USUAL_COLUMNS = 80;

interface Status {
  bar: string;
  /** The progress in words. */
  progress: string;
  /** What the command waits for; empty if nothing. */
  wait: string;
}

const NOTHING: Status = { bar: '', progress: '', wait: '' };

/**
 * The last line of stderr, which shows a command's progress and waits. It changes in place, if stderr is a terminal that can do so. It
 * sets no terminal mode, so there is nothing to restore, however the process ends.
 */
export class StatusLine {
  static readonly #lines = new WeakMap<TextStream, StatusLine>();

  readonly canDraw: boolean;
  readonly #stream: TextStream;
  readonly #shown: Status = { ...NOTHING };
  #drawn = '';
  /** Runs for a while after each drawing. Changes during the pause are drawn at its end. */
  #pause: NodeJS.Timeout | undefined;

  private constructor({ stderr, env }: Terminal) {
    this.#stream = stderr;
    this.canDraw = stderr.isTTY === true && env.TERM !== 'dumb';
  }

  /** The status line of a terminal, the same at each call. */
  static of(terminal: Terminal): StatusLine {
    const known = StatusLine.#lines.get(terminal.stderr);
    const line = known ?? new StatusLine(terminal);
    if (!known) StatusLine.#lines.set(terminal.stderr, line);
    return line;
  }

  show(status: Partial<Status>): void {
    Object.assign(this.#shown, status);
    if (this.canDraw && this.#pause === undefined) this.#draw();
  }

  clear(): void {
    clearTimeout(this.#pause);
    this.#pause = undefined;
    Object.assign(this.#shown, NOTHING);
    if (this.#drawn !== '') this.#write(CLEAR_LINE);
    this.#drawn = '';
  }

  /** Writes a line above the status line. */
  tell(line: string): void {
    this.#write(this.#drawn === '' ? `${line}\n` : `${CLEAR_LINE}${line}\n${this.#drawn}`);
  }

  #draw(): void {
    // A line that reaches the edge may wrap, and only its last row could be cleared.
    const line = textOf(this.#shown).slice(0, (this.#stream.columns || USUAL_COLUMNS) - 1);
    if (line === this.#drawn) return;
    this.#write(`${CLEAR_LINE}${line}`);
    this.#drawn = line;
    this.#pause = setTimeout(() => {
      this.#pause = undefined;
      this.#draw();
    }, REDRAW_MS);
  }

  /** Ignores failed writes: then stderr is closed, and there is nowhere to report them. */
  #write(text: string): void {
    this.#stream.write(text, () => {});
  }
}

/** A wait replaces the bar, which does not move meanwhile: a narrow terminal has no room for both. */
function textOf({ bar, progress, wait }: Status): string {
  if (wait === '') return `${bar} ${progress}`.trim();
  return progress === '' ? wait : `${wait}; ${progress}`;
}

const BAR_WIDTH = 24;

/** How much of a synchronisation is done. */
export function progressBar({ changes, updated, failed }: SyncProgress): string {
  const complete = Math.round((BAR_WIDTH * (updated + failed)) / Math.max(1, changes));
  return `${'█'.repeat(complete)}${'░'.repeat(BAR_WIDTH - complete)}`;
}

/** The progress of a synchronisation in words. */
export function progressText({ listed, changes, updated, failed, requests, etaMs }: SyncProgress): string {
  if (etaMs === undefined) return `reading the list: ${counted(listed, 'pet')}`;
  const failures = failed > 0 ? `, ${failed} failed` : '';
  return `${updated + failed}/${changes}${failures}, ${counted(requests, 'request')}, ${duration(etaMs)} left`;
}
