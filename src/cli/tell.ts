import { StatusLine } from './status-line.ts';
import type { Terminal } from './terminal.ts';

/** Writes one line for the human. */
export function tell(terminal: Terminal, line: string): void {
  StatusLine.of(terminal).tell(line);
}
