import { EXIT } from './exit-code.ts';
import { StatusLine } from './status-line.ts';
import { tell } from './tell.ts';
import type { Terminal } from './terminal.ts';

/** The signal of a command: the first interrupt aborts it, a second one ends the process at once. */
export function interruptSignal(terminal: Terminal, notice?: string): { signal: AbortSignal; stopListening: () => void } {
  const controller = new AbortController();
  const stopListening = terminal.onInterrupt(() => {
    if (controller.signal.aborted) {
      StatusLine.of(terminal).clear();
      return terminal.exit(EXIT.interrupted);
    }
    if (notice !== undefined) tell(terminal, notice);
    controller.abort(new DOMException('Interrupted', 'AbortError'));
  });
  return { signal: controller.signal, stopListening };
}
