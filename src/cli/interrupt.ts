import { EXIT } from './exit-code.ts';
import { type Terminal, tell } from './terminal.ts';

/** The signal of a command: the first interrupt aborts it, a second one ends the process at once. */
export function interruptSignal(terminal: Terminal, notice?: string): { signal: AbortSignal; stopListening: () => void } {
  const controller = new AbortController();
  const stopListening = terminal.onInterrupt(() => {
    if (controller.signal.aborted) return terminal.exit(EXIT.interrupted);
    if (notice !== undefined) tell(terminal, notice);
    controller.abort(new DOMException('Interrupted', 'AbortError'));
  });
  return { signal: controller.signal, stopListening };
}
